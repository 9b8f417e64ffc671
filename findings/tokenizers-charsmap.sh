#!/usr/bin/env bash
# tokenizers 0.23.3 (PyPI): the Precompiled normaliser, which holds the character table of a
# SentencePiece model, looks at one grapheme at a time. Where several signs make one grapheme,
# it loses accents or leaves them apart. Models with such a table are T5, XLM-R, NLLB, mBART.
#
# Expected: the same text as SentencePiece 0.2.3 with the same table.
# Seen: a + U+0308 + U+0304 loses its second accent; half-width katakana and the three jamo
# of a Hangul syllable are not joined.
#
# The script fails if that changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
    tokenizers==0.23.3 sentencepiece==0.2.3 protobuf==7.36.2
"$folder/venv/bin/python" - <<'PYTHON'
import io

import sentencepiece
from sentencepiece import sentencepiece_model_pb2
from tokenizers.normalizers import Precompiled

model = io.BytesIO()
sentencepiece.SentencePieceTrainer.train(
    sentence_iterator=iter(["I love Tom.", "I love you."] * 50),
    model_writer=model,
    vocab_size=30,
    hard_vocab_limit=False,
    minloglevel=2,
)
proto = sentencepiece_model_pb2.ModelProto.FromString(model.getvalue())
precompiled = Precompiled(proto.normalizer_spec.precompiled_charsmap)
processor = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
seen = {
    "a\u0308\u0304": ("\u01df", "\u00e4"),
    "e\u0301\u0323": ("\u00e9\u0323", "\u00e9"),
    "\uff8a\uff9e\uff7d": ("\u30d0\u30b9", "\u30cf\u3099\u30b9"),
    "\u1112\u1161\u11ab": ("\ud55c", "\u1112\u1161\u11ab"),
}
for text, (right, joined) in seen.items():
    first = processor.normalize(text).removeprefix("▁")
    second = precompiled.normalize_str(text)
    print(ascii(text), "sentencepiece:", ascii(first), "tokenizers:", ascii(second))
    assert first == right, first
    assert second == joined, second
PYTHON
