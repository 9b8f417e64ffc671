#!/usr/bin/env bash
# Marian 1.12.42 (PyPI's pymarian), `train --type transformer`: three options that Marian accepts and
# writes into the model have no effect.
#
# Expected: learned positions, maps without a bias, norms without scale and bias.
# Seen: with --transformer-train-position-embeddings, --transformer-no-bias or --transformer-no-affine,
#       the model has the same tensors, bit for bit, as without it.
#
# The script fails if that changes.
source "$(dirname "$0")/marian.sh" numpy==2.3.4
for i in $(seq 200); do echo "a b c d e f $((i % 10))"; done > text
train plain.npz text text --after-batches 20
for option in train-position-embeddings no-bias no-affine; do
    train "$option.npz" text text --after-batches 20 "--transformer-$option"
done
train other.npz text text --after-batches 20 --transformer-ffn-activation relu
venv/bin/python - <<'PYTHON'
import numpy

OPTIONS = "special:model.yml"


def same(name):
    plain, other = numpy.load("plain.npz"), numpy.load(f"{name}.npz")
    names = set(plain.files) | set(other.files)
    return set(plain.files) == set(other.files) and all((plain[n] == other[n]).all() for n in names - {OPTIONS})


for option in ["train-position-embeddings", "no-bias", "no-affine"]:
    written = f"transformer-{option}: true" in bytes(numpy.load(f"{option}.npz")[OPTIONS]).decode()
    print(f"--transformer-{option}: in the model's options: {written}, the same tensors: {same(option)}")
    assert written and same(option)
# An option that has an effect is seen.
assert not same("other")
PYTHON
