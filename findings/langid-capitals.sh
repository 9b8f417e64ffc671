#!/usr/bin/env bash
# langid 1.1.6 (PyPI): a sentence in capitals is taken for another language; a German one is English
# with the very score of an empty text.
#
# Expected: German, as for the same sentence in small letters.
# Seen: English for German, French and Spanish, Kazakh for Russian.
#
# The script fails if that changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check langid==1.1.6
"$folder/venv/bin/python" - <<'PYTHON'
import langid

nothing = langid.classify("")
print("empty text:", nothing)
sentences = {
    "de": "der hund ist gross und schnell",
    "fr": "bonjour tout le monde",
    "es": "el perro es grande y muy bueno",
}
for language, sentence in sentences.items():
    small = langid.classify(sentence)
    capitals = langid.classify(sentence.upper())
    print(sentence.upper(), small, capitals)
    assert small[0] == language
    assert capitals[0] == "en"
assert langid.classify(sentences["de"].upper()) == nothing
russian = "здравствуйте, как ваши дела"
print(russian.upper(), langid.classify(russian), langid.classify(russian.upper()))
assert langid.classify(russian)[0] == "ru"
assert langid.classify(russian.upper())[0] == "kk"
PYTHON
