#!/usr/bin/env bash
# tokenizers 0.23.3 (PyPI): training a WordPiece vocabulary is not repeatable, also in one process.
# BPE training, which it is built on, is.
#
# Expected: equal vocabularies from equal text.
# Seen: twenty trainings on two lines give several sets of pieces (with "low" or with "lo"),
# not only another order of them.
#
# The script fails if that changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check tokenizers==0.23.3
"$folder/venv/bin/python" - <<'PYTHON'
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

lines = ["low lower lowest newer wider", "new newest widest slow slower"] * 3


def vocabulary(model, trainer):
    tokenizer = Tokenizer(model)
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.train_from_iterator(lines, trainer)
    return frozenset(tokenizer.get_vocab())


options = {"vocab_size": 30, "special_tokens": ["[UNK]"], "show_progress": False}
bpe = {vocabulary(models.BPE(), trainers.BpeTrainer(**options)) for _ in range(20)}
pieces = {vocabulary(models.WordPiece(), trainers.WordPieceTrainer(**options)) for _ in range(20)}
print("BPE vocabularies of 20 trainings:", len(bpe))
print("WordPiece vocabularies of 20 trainings:", len(pieces))
for one in sorted(pieces, key=sorted)[:3]:
    print(sorted(piece for piece in one if len(piece.removeprefix("##")) > 1))
assert len(bpe) == 1
assert len(pieces) > 1
PYTHON
