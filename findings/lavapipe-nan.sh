#!/usr/bin/env bash
# Mesa 22.3.6 (Debian's mesa-vulkan-drivers), its Vulkan device on the CPU (lavapipe), by plain WGSL
# in wgpu 0.32.0 (PyPI): a shader does not notice NaN by comparing a number with itself.
#
# Expected: x != x holds for NaN alone, and infinity less infinity is NaN.
# Seen: x != x is false for NaN read from a buffer, and infinity less itself is 0. The exponent in
# the bits of a number shows NaN.
#
# The script fails if that changes.
set -euo pipefail
dpkg-query --show mesa-vulkan-drivers
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check wgpu==0.32.0
"$folder/venv/bin/python" - 2>"$folder/log" <<'PYTHON' || { cat "$folder/log"; exit 1; }
import math
import struct

import wgpu
from wgpu.utils.compute import compute_with_buffers

shader = """
@group(0) @binding(0) var<storage, read> numbers: array<f32>;
@group(0) @binding(1) var<storage, read_write> results: array<f32>;

@compute @workgroup_size(1)
fn main() {
    let nan = numbers[0];
    let infinity = numbers[1];
    let bits = bitcast<u32>(nan) & 0x7fffffffu;
    results[0] = select(0.0, 1.0, nan != nan);
    results[1] = select(0.0, 1.0, bits > 0x7f800000u);
    results[2] = infinity - infinity;
    results[3] = infinity - numbers[2];
    results[4] = nan;
}
"""
print(wgpu.gpu.request_adapter_sync().info["description"])
numbers = {0: struct.pack("3f", math.nan, math.inf, math.inf)}
results = list(compute_with_buffers(numbers, {1: (5, "f")}, shader, n=1)[1])
print("nan != nan:", results[0], "by its bits:", results[1], "nan copied:", results[4])
print("infinity - infinity:", results[2], "infinity - another infinity:", results[3])
assert results[0] == 0
assert results[1] == 1
assert results[2] == 0
assert math.isnan(results[3])
assert math.isnan(results[4])
PYTHON
