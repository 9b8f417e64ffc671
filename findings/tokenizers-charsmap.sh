#!/usr/bin/env bash
# tokenizers 0.23.3 (PyPI): the Precompiled normaliser, which holds the character table of a
# SentencePiece model, looks at one grapheme at a time. Where several signs make one grapheme,
# it loses accents or leaves them apart. Models with such a table are T5, XLM-R, NLLB, mBART.
#
# Expected: the same text as SentencePiece 0.2.3 with the same table.
# Seen: a + U+0308 + U+0304 loses its second accent; half-width katakana and the three jamo
# of a Hangul syllable are not joined. Of the 8,368 lines of Django 5.2's messages in eleven
# languages, 1 differs. If they are decomposed (NFD), 453 of 752 Japanese lines differ, and 723 of
# 752 Korean ones.
#
# The script fails if that changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check \
    tokenizers==0.23.3 sentencepiece==0.2.3 protobuf==7.36.2 polib==1.2.0
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check --no-deps --target "$folder/messages" django==5.2
cd "$folder"
"$folder/venv/bin/python" - <<'PYTHON'
import io
import pathlib
import unicodedata

import polib
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


def lines(language):
    """The different lines of Django's messages in a language."""
    found = {}
    for path in sorted(pathlib.Path("messages").glob(f"django/**/{language}/LC_MESSAGES/*.po")):
        for entry in polib.pofile(path):
            for text in [entry.msgstr, *entry.msgstr_plural.values()]:
                found |= dict.fromkeys(line for line in text.split("\n") if line.strip())
    return list(found)


def differs(line):
    first = processor.normalize(line).replace("▁", " ").split()
    second = precompiled.normalize_str(line).split()
    return first != second


counts = []
for language in "ar de fa fr hi ja ko ru th tr zh_Hans".split():
    messages = lines(language)
    decomposed = [unicodedata.normalize("NFD", line) for line in messages]
    count = [len(messages), sum(map(differs, messages)), sum(map(differs, decomposed))]
    print(language, "lines: {}, different: {}, different if decomposed: {}".format(*count))
    counts.append(count)
assert [sum(column) for column in zip(*counts)] == [8368, 1, 1177]
PYTHON
