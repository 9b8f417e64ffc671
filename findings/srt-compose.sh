#!/usr/bin/env bash
# srt 3.5.3 (PyPI): writing what was just read drops cues: one without a text, one that ends when it
# begins. The numbers after it change.
#
# Expected: compose(parse(file)) has as many cues as the file.
# Seen: two of four. With reindex=False all four stay, with their numbers.
#
# The script fails if that changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check srt==3.5.3
"$folder/venv/bin/python" - <<'PYTHON'
import srt

cues = [
    ("00:00:01,000 --> 00:00:02,000", "One."),
    ("00:00:03,000 --> 00:00:03,000", "At one moment."),
    ("00:00:04,000 --> 00:00:05,000", ""),
    ("00:00:06,000 --> 00:00:07,000", "Last."),
]
text = "".join(f"{i}\n{time}\n{line}\n\n" for i, (time, line) in enumerate(cues, 1))
read = list(srt.parse(text))
written = srt.compose(read)
kept = srt.compose(read, reindex=False)
print("read:", len(read), "written:", written.count("-->"), "without reindex:", kept.count("-->"))
print(written)
assert len(read) == 4
assert written.count("-->") == 2
assert written.count("2\n00:00:06,000") == 1
assert kept.count("-->") == 4
PYTHON
