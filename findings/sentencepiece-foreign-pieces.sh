#!/usr/bin/env bash
# sentencepiece 0.2.3 (PyPI): decoding pieces keeps the sign ▁ of a piece that is not in the
# vocabulary of the model, instead of writing a blank.
#
# Expected: "I xyz love", as ▁ begins a word.
# Seen: "I▁xyz love". Pieces of another model's output are joined so without a word of it.
#
# The script fails if that changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check sentencepiece==0.2.3
"$folder/venv/bin/python" - <<'PYTHON'
import io

import sentencepiece

model = io.BytesIO()
sentencepiece.SentencePieceTrainer.train(
    sentence_iterator=iter(["I love Tom.", "I love you."] * 50),
    model_writer=model,
    vocab_size=30,
    model_type="bpe",
    hard_vocab_limit=False,
    minloglevel=2,
)
processor = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
known = processor.decode_pieces(["▁I", "▁love"])
foreign = processor.decode_pieces(["▁I", "▁xyz", "▁love"])
print("known pieces:", known)
print("with a foreign piece:", foreign)
assert known == "I love"
assert foreign == "I▁xyz love"
PYTHON
