#!/usr/bin/env bash
# openpyxl 3.1.5 (PyPI): escapes of a cell's text (`_x000D_`, ECMA-376 part 1, 22.9.2.19) are read
# in one place and not in another.
#
# Expected: the texts that XlsxWriter 3.3.1 was given.
# Seen: a carriage return comes back as the letters `_x000D_`; the letters `_x0041_` come back whole
# from shared strings, and as `_x005F_x0041_` from inline strings (`constant_memory`).
#
# The script fails if that changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet openpyxl==3.1.5 XlsxWriter==3.3.1
cd "$folder"
"$folder/venv/bin/python" - <<'PYTHON'
import openpyxl
import xlsxwriter

texts = ["one\rtwo", "_x0041_"]
seen = {}
for is_inline in (False, True):
    name = f"{is_inline}.xlsx"
    book = xlsxwriter.Workbook(name, {"constant_memory": is_inline})
    sheet = book.add_worksheet()
    for row, text in enumerate(texts):
        sheet.write_string(row, 0, text)
    book.close()
    cells = openpyxl.load_workbook(name).active["A"]
    seen[is_inline] = [cell.value for cell in cells]
print("openpyxl", openpyxl.__version__, "XlsxWriter", xlsxwriter.__version__)
print("written:", texts)
print("read from shared strings:", seen[False])
print("read from inline strings:", seen[True])
assert seen[False] == ["one_x000D_two", "_x0041_"]
assert seen[True] == ["one_x000D_two", "_x005F_x0041_"]
PYTHON
