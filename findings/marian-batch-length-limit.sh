#!/usr/bin/env bash
# Marian 1.12.42 (PyPI's pymarian), `decode`: the length limit of a translation, `--max-length-factor`
# times the source's tokens and </s>, counts the tokens of the longest source of the batch. A sentence
# has another translation beside a longer one.
#
# Expected: the same translation in every batch.
# Seen: alone, "a b" is cut after 3 tokens. In a batch with a sentence of 12 tokens it gets 13.
#
# The script fails if that changes.
source "$(dirname "$0")/marian.sh"
# Targets are far longer than sources, so that the limit cuts every translation.
for i in $(seq 300); do echo "a b"; done > source
for i in $(seq 300); do echo "x x x x x x x x x x x x x x x x x x x x"; done > target
train model.npz source target --after-batches 60
printf 'a b\na b a b a b a b a b a b\n' > input
decode() {
    $marian decode $common --models model.npz --beam-size 2 --max-length-factor 1 --mini-batch "$1" < input | head -n 1
}
alone=$(decode 1)
together=$(decode 2)
echo "alone:    $alone"
echo "together: $together"
[ "$alone" = "x x x" ]
[ "$together" = "x x x x x x x x x x x x x" ]
