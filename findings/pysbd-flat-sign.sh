#!/usr/bin/env bash
# pysbd 0.3.4 (PyPI): a sentence with the musical signs ♭ or ♬ is left out of the result, also
# with clean=False, where the segments should join to the text.
#
# Expected: two sentences.
# Seen: one; "Sonata in B♭ major." is missing. pysbd marks signs with such characters inside.
#
# The script fails if that changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check pysbd==0.3.4
"$folder/venv/bin/python" -W ignore - <<'PYTHON'
import pysbd

segmenter = pysbd.Segmenter(language="en", clean=False)
plain = segmenter.segment("Sonata in D major. It is nice.")
flat = segmenter.segment("Sonata in B♭ major. It is nice.")
notes = segmenter.segment("♬ La la la. ♬")
print("in D:", plain)
print("in B flat:", flat)
print("with notes:", notes)
assert plain == ["Sonata in D major. ", "It is nice."]
assert flat == ["It is nice."]
assert notes == []
PYTHON
