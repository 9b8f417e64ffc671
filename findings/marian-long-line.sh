#!/usr/bin/env bash
# Marian 1.12.42 (PyPI's pymarian), `decode`: a line of more than `--max-length` tokens (1,000 by
# default) ends the translation of the whole file without a message, and the exit status is 0.
#
# Expected: a translation, an empty line or an error for the long line, and translations of all others.
# Seen: of five lines with a long third one, only the first two are translated.
#       With `--max-length-crop`, all five are.
#
# The script fails if that changes.
source "$(dirname "$0")/marian.sh"
for i in $(seq 200); do echo "a b c d e f $((i % 10))"; done > text
# A model of one update translates anything into something.
train model.npz text text --after-batches 1
{
    echo "a b c"
    echo "b c d"
    for i in $(seq 1001); do printf 'a '; done
    echo
    echo "c d e"
    echo "d e f"
} > input
decode() {
    $marian decode $common --models model.npz --beam-size 2 --max-length-factor 1 "$@" < input
}
whole=$(decode | wc -l)
cropped=$(decode --max-length-crop | wc -l)
echo "lines in: $(wc -l < input), lines out: $whole, with --max-length-crop: $cropped"
[ "$whole" = 2 ]
[ "$cropped" = 5 ]
