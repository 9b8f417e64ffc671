#!/usr/bin/env bash
# tokenizers 0.23.3 (PyPI): a BPE tokeniser keeps up to 10,000 words in each thread that uses it,
# and these words stay in memory after the tokeniser is deleted. In 0.22.2 they go with it.
#
# Expected: a program that loads, uses and deletes tokenisers needs the memory of one.
# Seen: each of forty deleted tokenisers leaves 5 MB.
#
# The script fails if that changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat > "$folder/words.py" <<'PYTHON'
import random
import string
import sys

import tokenizers
from tokenizers import Tokenizer, models, pre_tokenizers

letters = string.ascii_lowercase
random_words = random.Random(1)
text = " ".join("".join(random_words.choices(letters, k=12)) for _ in range(10_000))


def megabytes():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096 / 1e6


def use_one():
    vocabulary = {letter: number for number, letter in enumerate(letters)}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.encode(text)


for _ in range(5):
    use_one()
before = megabytes()
for _ in range(40):
    use_one()
each = (megabytes() - before) / 40
print(f"tokenizers {tokenizers.__version__}: {each:.2f} MB for each deleted tokeniser")
kept = sys.argv[1] == "kept"
assert each > 3 if kept else each < 0.5
PYTHON
for version in 0.22.2 0.23.3; do
    python3 -m venv "$folder/$version"
    "$folder/$version/bin/pip" install --quiet --disable-pip-version-check "tokenizers==$version"
done
"$folder/0.22.2/bin/python" "$folder/words.py" free
"$folder/0.23.3/bin/python" "$folder/words.py" kept
