#!/usr/bin/env bash
# sentencepiece 0.2.3 (PyPI): which pieces a unigram vocabulary has depends on num_threads.
#
# The text is the description of the package itself.
#
# Expected: one vocabulary, whatever the number of threads.
# Seen: 1, 2, 4 and 16 (the default) threads give several vocabularies; each is repeatable.
# A BPE vocabulary does not depend on it.
#
# The script fails if that changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check sentencepiece==0.2.3
"$folder/venv/bin/python" - <<'PYTHON'
import importlib.metadata
import io

import sentencepiece

description = importlib.metadata.metadata("sentencepiece").get_payload()
lines = [line for line in description.splitlines() if line.strip()]


def pieces(model_type, threads):
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines),
        model_writer=model,
        vocab_size=400,
        model_type=model_type,
        num_threads=threads,
        minloglevel=2,
    )
    processor = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
    return frozenset(processor.id_to_piece(i) for i in range(processor.get_piece_size()))


threads = (1, 2, 4, 16)
for model_type in ("unigram", "bpe"):
    found = [pieces(model_type, number) for number in threads]
    for number, one in zip(threads, found):
        print(model_type, "threads:", number, "other pieces than with 16:", sorted(one - found[-1]))
    assert found == [pieces(model_type, number) for number in threads], "not repeatable"
    assert (len(set(found)) > 1) == (model_type == "unigram")
PYTHON
