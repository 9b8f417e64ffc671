#!/usr/bin/env bash
# sacremoses 0.2.0 (PyPI), as Moses's normalize-punctuation.perl does: a no-break space between two
# digits, which groups thousands, becomes a full stop in English and a comma in German and French.
#
# Expected: a plain space, or the separator of the language ("10,000" in English).
# Seen: "10.000" in English, which reads as ten, and "10,000" in German, which reads as ten.
#
# The script fails if that changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check sacremoses==0.2.0
"$folder/venv/bin/python" - <<'PYTHON'
from sacremoses import MosesPunctNormalizer

expected = {"en": "10.000 people", "de": "10,000 people", "fr": "10,000 people"}
for language, seen in expected.items():
    text = MosesPunctNormalizer(language).normalize("10\u00a0000 people")
    print(language, text)
    assert text == seen
narrow = MosesPunctNormalizer("fr").normalize("10\u202f000")
print("narrow no-break space:", ascii(narrow))
assert narrow == "10\u202f000"
PYTHON
