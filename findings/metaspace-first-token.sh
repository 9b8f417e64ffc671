#!/usr/bin/env bash
# tokenizers 0.23.3 (PyPI): a tokenizer.json whose Metaspace does not split (`"split": false`)
# decodes a first token of several words without the spaces between them.
#
# Expected, as SentencePiece 0.2.3 does with the same pieces: "I love Tom."
# Seen: "Ilove Tom."
#
# The script fails if that changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet tokenizers==0.23.3 sentencepiece==0.2.3
"$folder/venv/bin/python" - 2>/dev/null <<'PYTHON'
import io
import json

import sentencepiece
from tokenizers import Tokenizer

text = "I love Tom."
lines = ["I love Tom.", "I love you.", "You love Tom."] * 50
model = io.BytesIO()
sentencepiece.SentencePieceTrainer.train(
    sentence_iterator=iter(lines),
    model_writer=model,
    vocab_size=30,
    model_type="bpe",
    split_by_whitespace=False,
    hard_vocab_limit=False,
)
processor = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
pieces = processor.encode(text, out_type=str)
spaces = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": False}
vocabulary = [[processor.id_to_piece(i), processor.get_score(i)] for i in range(processor.get_piece_size())]
tokenizer = Tokenizer.from_str(json.dumps({
    "version": "1.0",
    "truncation": None,
    "padding": None,
    "added_tokens": [],
    "normalizer": None,
    "pre_tokenizer": spaces,
    "post_processor": None,
    "decoder": spaces,
    "model": {"type": "Unigram", "unk_id": 0, "vocab": vocabulary, "byte_fallback": False},
}))
encoded = tokenizer.encode(text)
print("pieces:", pieces)
print("sentencepiece:", processor.decode(pieces))
print("tokenizers:", tokenizer.decode(encoded.ids))
assert encoded.tokens == pieces == ["▁I▁love", "▁Tom", "."]
assert processor.decode(pieces) == "I love Tom."
assert tokenizer.decode(encoded.ids) == "Ilove Tom."
PYTHON
