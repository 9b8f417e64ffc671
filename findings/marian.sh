#!/usr/bin/env bash
# The set-up of the scripts about Marian, which read this file: `source marian.sh [PACKAGE...]`. It installs
# Marian 1.12.42 (PyPI's pymarian) and the packages in a temporary folder, and goes there.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet pymarian==1.12.42 "$@"
cd "$folder"
marian=venv/bin/pymarian
common="--quiet --vocabs vocab.yml vocab.yml --cpu-threads 1 --workspace 64"

# train MODEL SOURCE TARGET [OPTION...] writes vocab.yml of both texts and trains a model of one layer
# on each side, with dimension 16.
train() {
    cat "$2" "$3" | $marian vocab > vocab.yml 2> log
    $marian train $common --type transformer --dim-emb 16 --transformer-heads 2 --transformer-dim-ffn 16 \
        --enc-depth 1 --dec-depth 1 --mini-batch 16 --learn-rate 0.01 --seed 1 --tied-embeddings-all \
        --train-sets "$2" "$3" --model "$1" "${@:4}" 2> log
}

$marian --version 2>&1
