#!/usr/bin/env bash
# Marian 1.12.42 (PyPI's pymarian), `decode`: a line of more than `--max-length` tokens (1,000 by
# default) ends the translation of the whole file without a message, and the exit status is 0.
#
# Expected: a translation, an empty line or an error for the long line, and translations of all others.
# Seen: of five lines with a long third one, only the first two are translated.
#       With `--max-length-crop`, all five are.
#
# The script fails if that changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet pymarian==1.12.42
cd "$folder"
marian=venv/bin/pymarian
for i in $(seq 200); do echo "a b c d e f $((i % 10))"; done > text
$marian vocab < text > vocab.yml 2> log
# A model of one update translates anything into something.
$marian train --quiet --type transformer --dim-emb 16 --transformer-heads 2 --transformer-dim-ffn 16 --enc-depth 1 \
    --dec-depth 1 --after-batches 1 --mini-batch 8 --cpu-threads 1 --workspace 64 --seed 1 --tied-embeddings-all \
    --train-sets text text --vocabs vocab.yml vocab.yml --model model.npz 2> log
{
    echo "a b c"
    echo "b c d"
    for i in $(seq 1001); do printf 'a '; done
    echo
    echo "c d e"
    echo "d e f"
} > input
decode() {
    $marian decode --quiet --models model.npz --vocabs vocab.yml vocab.yml --cpu-threads 1 --workspace 64 \
        --beam-size 2 --max-length-factor 1 "$@" < input
}
$marian --version 2>&1
whole=$(decode | wc -l)
cropped=$(decode --max-length-crop | wc -l)
echo "lines in: $(wc -l < input), lines out: $whole, with --max-length-crop: $cropped"
[ "$whole" = 2 ]
[ "$cropped" = 5 ]
