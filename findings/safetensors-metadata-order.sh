#!/usr/bin/env bash
# safetensors 0.8.0 (PyPI): the same tensors and metadata, saved twice, give files of other bytes
# as soon as the metadata has several keys: they are written in a random order.
#
# Expected: equal bytes, as without metadata.
# Seen: 24 processes write several files; a checksum does not tell whether weights are equal.
#
# The script fails if that changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check numpy==2.4.6 safetensors==0.8.0
"$folder/venv/bin/python" - <<'PYTHON'
import hashlib

import numpy
from safetensors.numpy import save

tensors = {"weight": numpy.ones(4, numpy.float32), "bias": numpy.zeros(2, numpy.float32)}
metadata = {"format": "np", "model": "a", "step": "7", "language": "de"}


def checksums(**options):
    files = (save(tensors, **options) for _ in range(24))
    return {hashlib.sha256(file).hexdigest() for file in files}


plain = checksums()
described = checksums(metadata=metadata)
print("files without metadata:", len(plain))
print("files with four keys of metadata:", len(described))
assert len(plain) == 1
assert len(described) > 1
PYTHON
