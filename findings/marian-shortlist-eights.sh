#!/usr/bin/env bash
# Marian 1.12.42 (PyPI's pymarian), `decode --shortlist` with a binary lexical shortlist: a sentence's
# shortlist is filled to a multiple of eight tokens with the tokens of the lowest ids, also in float32.
#
# Expected: translations of tokens that the shortlist allows: the frequent ones, the source's tokens
#           (one vocabulary) and their translations.
# Seen: six tokens are allowed, and the n-best list has others as well: eight in all.
#
# The script fails if that changes.
source "$(dirname "$0")/marian.sh"
for i in $(seq 200); do echo "a b c d e f g h i j k l $((i % 10))"; done > text
train model.npz text text --after-batches 1
venv/bin/python - <<'PYTHON'
import struct
import subprocess

import yaml

FREQUENT = 2  # </s> and <unk>
ids = {token: int(i) for token, i in yaml.load(open("vocab.yml"), yaml.BaseLoader).items()}
names = {i: token for token, i in ids.items()}
# Each token has one translation, the token after the next.
lists = [[(i + 2) % len(ids)] for i in range(len(ids))]
offsets = range(len(lists) + 1)
rest = struct.pack("<4Q", FREQUENT, 1, len(offsets), len(lists))
rest += struct.pack(f"<{len(offsets)}Q", *offsets) + struct.pack(f"<{len(lists)}I", *(i for [i] in lists))
# Marian's checksum: Boost's hash_combine over whole 64-bit numbers.
checksum = 0
for [number] in struct.iter_unpack("<Q", rest[: len(rest) // 8 * 8]):
    checksum ^= (number + 0x9E3779B9 + (checksum << 6) + (checksum >> 2)) % 2**64
open("lex.bin", "wb").write(struct.pack("<2Q", 0xF11A48D5013417F5, checksum % 2**64) + rest)

source = [names[12], names[9]]
known = {0, 1} | {ids[t] for t in source} | {lists[ids[t]][0] for t in source}
command = "venv/bin/pymarian decode --quiet --models model.npz --vocabs vocab.yml vocab.yml --cpu-threads 1 --workspace 64"
# After one token, the list of eight hypotheses has every allowed token.
command += " --beam-size 8 --n-best --max-length-factor 0.1 --allow-unk --shortlist lex.bin"
done = subprocess.run(command.split(), input=" ".join(source) + "\n", capture_output=True, text=True, check=True)
used = {ids[t] for line in done.stdout.splitlines() for t in line.split(" ||| ")[1].split()} | {0}
print("allowed by the shortlist:", sorted(known), "used:", sorted(used))
assert len(known) == 6 and 0 in known
extra = used - known
assert extra and len(known | extra) == 8
# The lowest ids that were not allowed.
assert sorted(extra) == [i for i in range(len(ids)) if i not in known][:2]
PYTHON
