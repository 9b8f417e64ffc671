#!/bin/bash
# Translates a text in 16 shards, one for each task of a Slurm array:
#
#   sbatch examples/shards/slurm.sh runs/mine/best input.de output.en
#
# The number of shards stands in the next line and in `shards` below. With 0-15 instead of 1-16, task 0 would fail.
#SBATCH --array=1-16
#SBATCH --job-name=translate
#SBATCH --cpus-per-task=4
#SBATCH --mem=4G
#SBATCH --time=04:00:00
# A task whose node dies is queued again by itself.
#SBATCH --requeue
# The log of task 3 of job 1234 is translate-1234-3.log.
#SBATCH --output=translate-%A-%a.log
#
# Submit the same line again after a failure: shards that are done end within seconds. Or submit the failed tasks alone,
# with `sbatch --array=3,7 …`: the number of shards stays 16, because it is written here and not taken from the array.
#
# When all tasks have ended well, join the parts (`--dependency=afterok:JOB` waits for that):
#
#   sbatch --dependency=afterok:JOB --wrap 'burnformer gather output.en --shards 16'
set -eu

shards=16
model=$1 input=$2 output=$3

# One thread for each core of the task.
export RAYON_NUM_THREADS="${SLURM_CPUS_PER_TASK:-1}"

# All nodes must see the three paths. `exec` lets the program itself receive Slurm's signals: it removes what is half done.
exec burnformer translate --model "$model" --input "$input" --output "$output" --shard "auto/$shards"
