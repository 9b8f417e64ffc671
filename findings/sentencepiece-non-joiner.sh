#!/usr/bin/env bash
# sentencepiece 0.2.3 (PyPI): the default normalisation (nmt_nfkc) makes a blank of the zero-width
# non-joiner, and so two words of one Persian word. It keeps the zero-width joiner.
#
# Expected: both signs kept, or both left out.
# Seen: "mi" + non-joiner + "khaham" (one word: "I want") becomes two words, and decoding does
# not bring the sign back.
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

persian = "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645"
sinhala = "\u0dc1\u0dca\u200d\u0dbb\u0dd3"
model = io.BytesIO()
sentencepiece.SentencePieceTrainer.train(
    sentence_iterator=iter([persian, sinhala] * 50),
    model_writer=model,
    vocab_size=40,
    hard_vocab_limit=False,
    minloglevel=2,
)
processor = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
for text in (persian, sinhala):
    back = processor.decode(processor.encode(text))
    print(ascii(text), "->", ascii(back))
assert processor.decode(processor.encode(persian)) == persian.replace("\u200c", " ")
assert processor.decode(processor.encode(sinhala)) == sinhala
PYTHON
