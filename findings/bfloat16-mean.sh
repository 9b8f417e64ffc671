#!/usr/bin/env bash
# ml_dtypes 0.6.0 with NumPy 2.4.6 (PyPI): the mean of 1,000 ones in bfloat16 is 0.256.
#
# Expected: 1.0, as sums of small types are taken in float32, or pairwise.
# Seen: the sum stays at 256, where the next one is rounded away; a product of matrices of the same
# numbers is 1,000. float16 is right along the last axis and stays at 2,048 along the first.
#
# The script fails if that changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check numpy==2.4.6 ml_dtypes==0.6.0
"$folder/venv/bin/python" - <<'PYTHON'
import ml_dtypes
import numpy

ones = numpy.ones(1000, ml_dtypes.bfloat16)
print("bfloat16: sum", ones.sum(), "mean", ones.mean(), "product", ones @ ones)
assert float(ones.sum()) == 256
assert abs(float(ones.mean()) - 0.256) < 0.001
assert float(ones @ ones) == 1000
half = numpy.ones((5000, 5000), numpy.float16)
first = numpy.sum(half, axis=0)
last = numpy.sum(half, axis=1)
print("float16: sum along the first axis", first[0], "along the last", last[0])
assert first[0] == 2048
assert last[0] == 5000
PYTHON
