#!/usr/bin/env bash
# Mesa 22.3.6 (Debian's mesa-vulkan-drivers), its Vulkan device on the CPU (lavapipe): all loops of
# one invocation of a shader together make 65,535 rounds. Shown by plain WGSL in wgpu 0.32.0 (PyPI).
#
# Expected: a loop to 100,000 makes 100,000 rounds, and a second loop is free of the first.
# Seen: 65,535, without an error; after a loop of 50,000 rounds, 100 loops of 1,000 in one another
# make 15,504 rounds instead of 100,000.
#
# The script fails if that changes.
set -euo pipefail
dpkg-query --show mesa-vulkan-drivers
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check wgpu==0.32.0
"$folder/venv/bin/python" - 2>"$folder/log" <<'PYTHON' || { cat "$folder/log"; exit 1; }
import struct

import wgpu
from wgpu.utils.compute import compute_with_buffers

shader = """
@group(0) @binding(0) var<storage, read> size: array<u32>;
@group(0) @binding(1) var<storage, read_write> counts: array<u32>;

@compute @workgroup_size(1)
fn main() {
    for (var i = 0u; i < size[0]; i = i + 1u) {
        counts[0] = counts[0] + 1u;
    }
    for (var i = 0u; i < size[1]; i = i + 1u) {
        for (var j = 0u; j < size[2]; j = j + 1u) {
            counts[1] = counts[1] + 1u;
        }
    }
}
"""
print(wgpu.gpu.request_adapter_sync().info["description"])
rounds = {
    (100000, 0, 0): [65535, 0],
    (50000, 10, 100): [50000, 1000],
    (50000, 100, 1000): [50000, 15504],
}
for sizes, seen in rounds.items():
    buffer = {0: struct.pack("3I", *sizes)}
    counts = list(compute_with_buffers(buffer, {1: (2, "I")}, shader, n=1)[1])
    print("a loop to", sizes[0], "then", sizes[1], "loops to", sizes[2], "counted:", counts)
    assert counts == seen
PYTHON
