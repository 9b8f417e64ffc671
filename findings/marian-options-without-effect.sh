#!/usr/bin/env bash
# Marian 1.12.42 (PyPI's pymarian), `train --type transformer`: three options that Marian accepts and
# writes into the model have no effect.
#
# Expected: learned positions, maps without a bias, norms without scale and bias.
# Seen: with --transformer-train-position-embeddings, --transformer-no-bias or --transformer-no-affine,
#       the model has the same tensors, bit for bit, as without it.
#
# The script fails if that changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet pymarian==1.12.42 numpy==2.3.4
cd "$folder"
marian=venv/bin/pymarian
for i in $(seq 200); do echo "a b c d e f $((i % 10))"; done > text
$marian vocab < text > vocab.yml 2> log
train() {
    $marian train --quiet --type transformer --dim-emb 16 --transformer-heads 2 --transformer-dim-ffn 16 --enc-depth 1 \
        --dec-depth 1 --after-batches 20 --mini-batch 8 --cpu-threads 1 --workspace 64 --seed 1 --tied-embeddings-all \
        --train-sets text text --vocabs vocab.yml vocab.yml --model "$1.npz" "${@:2}" 2> log
}
$marian --version 2>&1
train plain
for option in train-position-embeddings no-bias no-affine; do
    train "$option" "--transformer-$option"
done
train other --transformer-ffn-activation relu
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
