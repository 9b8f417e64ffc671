#!/usr/bin/env bash
# Moses's tokenizer.perl (in mosestokenizer 1.2.1 of PyPI) and sacremoses 0.2.0, its port: words of
# scripts with marks inside a word are cut at the mark, in different scripts by each of the two.
#
# Expected: a word stays whole, and the port does as the original.
# Seen: Perl cuts Hindi at the virama; sacremoses keeps Hindi and Tamil whole, and cuts Khmer and
# Burmese and Latin letters with an accent of their own, as Perl does.
#
# The script fails if that changes. It needs Perl.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
    mosestokenizer==1.2.1 sacremoses==0.2.0
"$folder/venv/bin/python" - <<'PYTHON'
import mosestokenizer
import sacremoses

words = {
    "hi": ("\u0939\u093f\u0928\u094d\u0926\u0940", 3, 1),
    "ta": ("\u0ba4\u0bae\u0bbf\u0bb4\u0bcd", 2, 1),
    "km": ("\u1797\u17b6\u179f\u17b6\u1781\u17d2\u1798\u17c2\u179a", 3, 3),
    "my": ("\u1019\u103c\u1014\u103a\u1019\u102c", 3, 3),
    "yo": ("o\u0323\u0301ja", 4, 4),
}
for language, (word, by_perl, by_port) in words.items():
    with mosestokenizer.MosesTokenizer(language) as tokenizer:
        original = tokenizer(word)
    port = sacremoses.MosesTokenizer(language).tokenize(word)
    print(language, "Perl:", " ".join(original), "| sacremoses:", " ".join(port))
    assert len(original) == by_perl, len(original)
    assert len(port) == by_port, len(port)
PYTHON
