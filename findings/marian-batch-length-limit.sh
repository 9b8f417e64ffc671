#!/usr/bin/env bash
# Marian 1.12.42 (PyPI's pymarian), `decode`: the length limit of a translation, `--max-length-factor`
# times the source's tokens and </s>, counts the tokens of the longest source of the batch. A sentence
# has another translation beside a longer one.
#
# Expected: the same translation in every batch.
# Seen: alone, "a b" is cut after 3 tokens. In a batch with a sentence of 12 tokens it gets 13.
#
# The script fails if that changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet pymarian==1.12.42
cd "$folder"
marian=venv/bin/pymarian
# Targets are far longer than sources, so that the limit cuts every translation.
for i in $(seq 300); do echo "a b"; done > source
for i in $(seq 300); do echo "x x x x x x x x x x x x x x x x x x x x"; done > target
cat source target | $marian vocab > vocab.yml 2> log
$marian train --quiet --type transformer --dim-emb 16 --transformer-heads 2 --transformer-dim-ffn 16 --enc-depth 1 \
    --dec-depth 1 --after-batches 60 --mini-batch 16 --learn-rate 0.01 --cpu-threads 1 --workspace 64 --seed 1 \
    --tied-embeddings-all --train-sets source target --vocabs vocab.yml vocab.yml --model model.npz 2> log
printf 'a b\na b a b a b a b a b a b\n' > input
decode() {
    $marian decode --quiet --models model.npz --vocabs vocab.yml vocab.yml --cpu-threads 1 --workspace 64 \
        --beam-size 2 --max-length-factor 1 --mini-batch "$1" < input | head -n 1
}
$marian --version 2>&1
alone=$(decode 1)
together=$(decode 2)
echo "alone:    $alone"
echo "together: $together"
[ "$alone" = "x x x" ]
[ "$together" = "x x x x x x x x x x x x x" ]
