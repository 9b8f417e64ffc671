#!/usr/bin/env bash
# pyonmttok 1.38.1 (PyPI), the tokeniser of OpenNMT: a tab vanishes and joins its two words.
#
# Expected: a tab parts words, as a no-break space does.
# Seen: "tab\there" is the one token "tabhere"; in the mode "space" one token with a tab in it.
#
# The script fails if that changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check pyonmttok==1.38.1
"$folder/venv/bin/python" - <<'PYTHON'
import pyonmttok

seen = {"aggressive": "tabhere", "conservative": "tabhere", "space": "tab\there"}
for mode, token in seen.items():
    tokenizer = pyonmttok.Tokenizer(mode)
    tab, _ = tokenizer.tokenize("tab\there")
    no_break, _ = tokenizer.tokenize("tab\u00a0here")
    print(mode, "tab:", tab, "no-break space:", no_break)
    assert tab == [token]
    assert no_break == ["tab", "here"]
PYTHON
