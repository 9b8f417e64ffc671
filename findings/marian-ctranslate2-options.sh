#!/usr/bin/env bash
# CTranslate2 4.8.5 (PyPI), converter of Marian's models: it cannot read a model of Marian 1.12.42
# (PyPI's pymarian).
#
# Expected: a converted model.
# Seen: an error of the YAML parser. Marian fills the model's options with zeros to a multiple of 256
#       bytes, and the converter removes one zero. With one zero at the end, it converts the model.
#
# The script fails if that changes.
source "$(dirname "$0")/marian.sh" ctranslate2==4.8.5
for i in $(seq 200); do echo "a b c d e f $((i % 10))"; done > text
train model.npz text text --after-batches 1
venv/bin/python - <<'PYTHON'
import ctranslate2
import numpy
import yaml

NAME = "special:model.yml"
model = dict(numpy.load("model.npz"))
options = bytes(model[NAME])
zeros = len(options) - len(options.rstrip(b"\0"))
print(f"options of {len(options)} bytes, of which {zeros} zeros at the end")
assert len(options) % 256 == 0 and zeros > 1
converter = ctranslate2.converters.MarianConverter("model.npz", ["vocab.yml", "vocab.yml"])
try:
    converter.convert("converted")
    raise SystemExit("the converter reads the model")
except yaml.reader.ReaderError as error:
    print(f"ctranslate2 {ctranslate2.__version__}:", str(error).splitlines()[0])
numpy.savez("model.npz", **{**model, NAME: numpy.frombuffer(options.rstrip(b"\0") + b"\0", numpy.int8)})
converter.convert("converted")
print("with one zero: converted")
PYTHON
