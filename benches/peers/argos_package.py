#!/usr/bin/env python3
"""Makes a package for LibreTranslate (Argos Translate) of a model directory, to measure both servers with the same model.

    burnformer export ctranslate2 --model MODEL --out ct2
    python argos_package.py MODEL/tokenizer.json ct2 packages de en
    ARGOS_PACKAGES_DIR=packages ARGOS_INTER_THREADS=2 ARGOS_INTRA_THREADS=1 ARGOS_COMPUTE_TYPE=int8 \\
        libretranslate --port 5060 --load-only de,en --disable-web-ui

LibreTranslate wants both directions, and fetches a model that cuts text into sentences from the internet; where there is
none, let `MiniSBDSentencizer.split_sentences` of argostranslate/sbd.py return [text]: the requests are single sentences.
The pieces are those of the tokeniser, but for its rules where words begin, which SentencePiece does not have.
"""
import json
import pathlib
import shutil
import sys

from sentencepiece import sentencepiece_model_pb2 as proto

tokenizer, model, packages, source, target = sys.argv[1:]
tokenizer = json.load(open(tokenizer, encoding="utf-8"))
ranks = {}
for rank, merge in enumerate(tokenizer["model"]["merges"]):
    ranks.setdefault("".join(merge if isinstance(merge, list) else merge.split(" ")), rank)

spm = proto.ModelProto()
kinds = proto.ModelProto.SentencePiece
for piece, place in sorted(tokenizer["model"]["vocab"].items(), key=lambda item: item[1]):
    new = spm.pieces.add()
    new.piece, new.score, new.type = piece, 0.0, kinds.NORMAL
    if piece == "<unk>":
        new.type = kinds.UNKNOWN
    elif place < 4:
        new.type = kinds.CONTROL
    elif piece.startswith("<0x"):
        new.type = kinds.BYTE
    else:
        new.score = -float(ranks.get(piece, 1_000_000))
trainer = spm.trainer_spec
trainer.model_type, trainer.vocab_size, trainer.byte_fallback = 2, len(spm.pieces), True
trainer.pad_id, trainer.bos_id, trainer.eos_id, trainer.unk_id = 0, 1, 2, 3
rules = spm.normalizer_spec
rules.name, rules.add_dummy_prefix, rules.remove_extra_whitespaces, rules.escape_whitespaces = "identity", True, True, True

folder = pathlib.Path(packages) / f"{source}_{target}-1_0"
(folder / "minisbd").mkdir(parents=True)
shutil.copytree(model, folder / "model")
(folder / "sentencepiece.model").write_bytes(spm.SerializeToString())
names = {"package_version": "1.0", "argos_version": "1.9", "from_code": source, "from_name": source, "to_code": target, "to_name": target}
(folder / "metadata.json").write_text(json.dumps(names))
