#!/usr/bin/env bash
# transformers 5.24.0 (PyPI): NllbTokenizer, read from a folder with `sentencepiece.bpe.model` and without
# `tokenizer.json`, has no languages, and makes a piece of a blank behind a sentence.
#
# Expected, as by 4.57.6: the 202 languages of NLLB have ids of their own behind the pieces, and a
# sentence has the same pieces with and without a blank behind it, as in SentencePiece.
# Seen: the token of the language in front of a source is `<unk>`, without a warning, the vocabulary
# has one token more than the pieces, and the blank is the piece `▁`. A folder that 5.24.0 saves has a
# `tokenizer.json`; there, too, the blank is a piece.
#
# The script fails if that changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
pip="$folder/venv/bin/pip"
"$pip" install --quiet --no-cache-dir transformers==5.24.0 sentencepiece==0.2.3 protobuf==7.36.2
"$pip" install --quiet --no-deps --target "$folder/four" transformers==4.57.6 tokenizers==0.22.2 huggingface_hub==0.36.2
"$pip" install --quiet requests==2.34.2 pyyaml==6.0.4
mkdir "$folder/model"
cat > "$folder/train.py" <<'PYTHON'
import json
import pathlib
import sys

import sentencepiece

folder = pathlib.Path(sys.argv[1])
text = ["a small boat lies at the shore", "the shore is long and the boat is small", "they wait at the boat"] * 20
sentencepiece.SentencePieceTrainer.train(
    sentence_iterator=iter(text), model_prefix=str(folder / "pieces"), vocab_size=60, model_type="bpe", minloglevel=2,
)
(folder / "pieces.model").rename(folder / "sentencepiece.bpe.model")
(folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "NllbTokenizer"}))
PYTHON
cat > "$folder/read.py" <<'PYTHON'
import sys

import transformers
from transformers import NllbTokenizer

transformers.logging.set_verbosity_error()
tokenizer = NllbTokenizer.from_pretrained(sys.argv[1], src_lang="fra_Latn")
language = tokenizer.convert_ids_to_tokens(tokenizer("a boat").input_ids)[0]
blank = tokenizer.tokenize("a boat ") != tokenizer.tokenize("a boat")
print(f"first {language}, blank {'kept' if blank else 'stripped'}, {len(tokenizer)} tokens")
if len(sys.argv) > 2:
    tokenizer.save_pretrained(sys.argv[2])
PYTHON
"$folder/venv/bin/python" "$folder/train.py" "$folder/model"
four=$(PYTHONPATH="$folder/four" "$folder/venv/bin/python" "$folder/read.py" "$folder/model")
five=$("$folder/venv/bin/python" "$folder/read.py" "$folder/model" "$folder/saved")
echo "transformers 4.57.6: $four"
echo "transformers 5.24.0: $five"
[ "$four" = "first fra_Latn, blank stripped, 264 tokens" ]
[ "$five" = "first <unk>, blank kept, 62 tokens" ]
