#!/usr/bin/env bash
# pysubs2 1.8.1 (PyPI): a SubRip file that is read and written again has lost its words in braces,
# its words in angle brackets and its bold type.
#
# Expected: "{laughs}" and "<sighs>" stay, as they are no tags, and <b> stays beside <i>.
# Seen: braces are taken for ASS override tags, unknown tags are deleted, <b> is never written.
#
# The script fails if that changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check pysubs2==1.8.1
"$folder/venv/bin/python" - <<'PYTHON'
import pysubs2

times = "1\n00:00:01,000 --> 00:00:02,000\n"
seen = {
    "{laughs} Two of {three}.": "Two of .",
    "A <sighs> B": "A  B",
    "<b>Bold</b> and <i>italic</i>": "Bold and <i>italic</i>",
    "I <3 you, 1 < 2": "I <3 you, 1 < 2",
}
for text, expected in seen.items():
    written = pysubs2.SSAFile.from_string(times + text + "\n").to_string("srt")
    line = written.removeprefix(times).rstrip("\n")
    print(text, "->", line)
    assert line == expected, line
PYTHON
