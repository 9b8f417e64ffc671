#!/usr/bin/env bash
# @huggingface/tokenizers 0.2.0 (npm), which transformers.js tokenises with, and tokenizers 0.23.3
# (PyPI): the same tokenizer.json cuts the word "Sri" of Sinhala in two in JavaScript alone.
#
# Expected: the same tokens, as both read the table of a SentencePiece model (nmt_nfkc).
# Seen: JavaScript writes a blank for the zero-width joiner, Python keeps the joiner.
#
# The script fails if that changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
    tokenizers==0.23.3 sentencepiece==0.2.3 protobuf==7.36.2
cd "$folder"
npm install --silent --no-fund --no-audit @huggingface/tokenizers@0.2.0
"$folder/venv/bin/python" - <<'PYTHON'
import base64
import io
import json

import sentencepiece
from sentencepiece import sentencepiece_model_pb2
from tokenizers import Tokenizer

word = "\u0dc1\u0dca\u200d\u0dbb\u0dd3"
model = io.BytesIO()
sentencepiece.SentencePieceTrainer.train(
    sentence_iterator=iter([word, "I love you."] * 50),
    model_writer=model,
    vocab_size=30,
    model_type="char",
    minloglevel=2,
    hard_vocab_limit=False,
)
proto = sentencepiece_model_pb2.ModelProto.FromString(model.getvalue())
table = base64.b64encode(proto.normalizer_spec.precompiled_charsmap).decode()
pieces = [[piece.piece, piece.score] for piece in proto.pieces]
spaces = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}
content = json.dumps({
    "version": "1.0",
    "added_tokens": [],
    "normalizer": {"type": "Precompiled", "precompiled_charsmap": table},
    "pre_tokenizer": spaces,
    "decoder": spaces,
    "post_processor": None,
    "model": {"type": "Unigram", "unk_id": 0, "vocab": pieces, "byte_fallback": False},
})
with open("tokenizer.json", "w") as file:
    file.write(content)
tokens = Tokenizer.from_str(content).encode(word).tokens
processor = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
print("Python:", ascii(tokens))
assert tokens == processor.encode(word, out_type=str)
assert tokens == ["▁", "\u0dc1", "\u0dca", "\u200d", "\u0dbb", "\u0dd3"]
PYTHON
cat > run.mjs <<'JAVASCRIPT'
import assert from "node:assert";
import fs from "node:fs";
import { Tokenizer } from "@huggingface/tokenizers";

const tokenizer = new Tokenizer(JSON.parse(fs.readFileSync("tokenizer.json")), {});
const { tokens } = tokenizer.encode("\u0dc1\u0dca\u200d\u0dbb\u0dd3");
console.log("JavaScript:", JSON.stringify(tokens));
assert.deepEqual(tokens, ["▁", "\u0dc1", "\u0dca", "▁", "\u0dbb", "\u0dd3"]);
JAVASCRIPT
node run.mjs
