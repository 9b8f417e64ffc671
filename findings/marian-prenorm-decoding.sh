#!/usr/bin/env bash
# Marian 1.12.42 (PyPI's pymarian): a Transformer with norms before its sub-layers
# (`--transformer-preprocess n --transformer-postprocess da --transformer-postprocess-top n`) and
# self-attention in the decoder is another model in `decode` than in `train` and `score`.
#
# Expected: `decode` gives a translation the log-probability that `score` gives it.
# Seen: other log-probabilities from the second token on. They are the same with norms after the
#       sub-layers, and with a recurrent decoder (SSRU).
#
# The script fails if that changes.
source "$(dirname "$0")/marian.sh"
for i in $(seq 300); do echo "a b $((i % 10)) $((i % 7)) $((i % 3))"; done > source
for i in $(seq 300); do echo "u v w x y z"; done > target
printf 'a b 1 2 3\nb a 4 5 6\n7 5 a b 0\n' > input
# Prints the differences between the log-probabilities of decode and score for the model of the options.
differences() {
    rm -f model.npz*
    train model.npz source target --after-batches 40 "$@"
    $marian decode --models model.npz $common --beam-size 1 --n-best < input > found
    sed 's/.* ||| \(.*\) ||| F0.*/\1/' found > output
    $marian score --model model.npz $common --train-sets input output > scores
    paste -d ' ' <(sed 's/.* ||| //' found) scores | awk '{ d = $1 - $2; if (d < 0) d = -d; if (d > most) most = d } END { print most }'
}
after=$(differences)
before=$(differences --transformer-preprocess n --transformer-postprocess da --transformer-postprocess-top n)
recurrent=$(differences --transformer-preprocess n --transformer-postprocess da --transformer-postprocess-top n \
    --transformer-decoder-autoreg rnn --dec-cell ssru)
echo "largest differences: norms after $after, norms before $before, norms before with SSRU $recurrent"
awk -v after="$after" -v before="$before" -v recurrent="$recurrent" \
    'BEGIN { exit !(after < 0.00005 && recurrent < 0.00005 && before > 0.0005) }'
