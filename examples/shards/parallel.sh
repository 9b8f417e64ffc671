#!/bin/bash
# Translates a text in 8 shards with GNU parallel, on this machine or on several:
#
#   examples/shards/parallel.sh runs/mine/best input.de output.en
#   examples/shards/parallel.sh runs/mine/best input.de output.en --sshlogin node1,node2 --workdir .
#
# What follows the three paths is for parallel. The machines of --sshlogin must see the same folder.
set -eu

shards=8
model=$1 input=$2 output=$3
shift 3

# parallel runs a process for each core, so that one thread each is right. `--retries` starts a shard that failed again, and
# a later start of this script does only what is missing. `-q` keeps paths with spaces whole.
parallel -q --retries 3 "$@" \
    env RAYON_NUM_THREADS=1 burnformer translate --model "$model" --input "$input" --output "$output" --shard "{}/$shards" \
    ::: $(seq "$shards") || { echo "$0: a shard failed (parallel: $?); start the same command again" >&2; exit 1; }

# It joins the parts only if all are there and fit each other.
burnformer gather "$output" --shards "$shards"
