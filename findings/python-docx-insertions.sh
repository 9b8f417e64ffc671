#!/usr/bin/env bash
# python-docx 1.2.0 (PyPI): paragraph.text leaves out words that stand in the document: a tracked
# insertion, a content control, a field and a moved passage. A link's words are there.
#
# Expected: the text that Word shows, without deletions.
# Seen: "Start. Link." of "Start. Inserted. Control. Field. Moved. Link."
#
# The script fails if that changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check python-docx==1.2.0
"$folder/venv/bin/python" - <<'PYTHON'
import io

from docx import Document
from docx.oxml import parse_xml

space = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
marks = 'w:id="1" w:author="a" w:date="2026-01-01T00:00:00Z"'
run = '<w:r><w:t xml:space="preserve">{}</w:t></w:r>'
parts = [
    f"<w:ins {space} {marks}>{run.format('Inserted. ')}</w:ins>",
    f"<w:sdt {space}><w:sdtContent>{run.format('Control. ')}</w:sdtContent></w:sdt>",
    f"<w:fldSimple {space} w:instr='AUTHOR'>{run.format('Field. ')}</w:fldSimple>",
    f"<w:moveTo {space} {marks}>{run.format('Moved. ')}</w:moveTo>",
    f"<w:hyperlink {space} w:anchor='a'>{run.format('Link.')}</w:hyperlink>",
]
document = Document()
paragraph = document.add_paragraph("Start. ")
for part in parts:
    paragraph._p.append(parse_xml(part))
file = io.BytesIO()
document.save(file)
paragraph = Document(file).paragraphs[0]
whole = "".join(text.text for text in paragraph._p.xpath(".//w:t"))
print("in the document:", whole)
print("paragraph.text:", paragraph.text)
assert whole == "Start. Inserted. Control. Field. Moved. Link."
assert paragraph.text == "Start. Link."
PYTHON
