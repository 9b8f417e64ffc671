#!/usr/bin/env bash
# uroman 1.3.1.1 (PyPI), the romaniser of MMS and of many low-resource corpora: Chinese numerals
# inside words and names become digits.
#
# Expected: letters, "qianye" for the city of Chiba, "yiban" for "in general".
# Seen: "1000ye" and "1ban". A text without a digit has digits after it.
#
# The script fails if that changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check uroman==1.3.1.1
"$folder/venv/bin/python" - <<'PYTHON'
import uroman

seen = {
    "千葉": "1000ye",
    "一般": "1ban",
    "三国演义": "3guoyanyi",
    "十分好": "10fenhao",
    "万里": "wanli",
    "第三章": "di3zhang",
    "東京": "dongjing",
}
romaniser = uroman.Uroman()
for text, expected in seen.items():
    letters = romaniser.romanize_string(text)
    print(text, letters)
    assert letters == expected
PYTHON
