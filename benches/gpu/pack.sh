#!/usr/bin/env bash
# Packs what the first half hour on a borrowed machine with a graphics card needs, for a machine without a network and
# without a compiler: the programs for each backend, text, the programs of the peers, and `measure.py`.
#
#   benches/gpu/pack.sh FOLDER [BACKEND …]        # backends: cuda vulkan wgpu; all three by default
#   python3 FOLDER/measure.py                     # on the machine with the card
#
# The target folder of the build is CARGO_TARGET_DIR, or target/ in the clone. Each backend is one compressed file.
set -euo pipefail
root="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"
[ $# -ge 1 ] || { echo "usage: pack.sh FOLDER [cuda|vulkan|wgpu …]" >&2; exit 2; }
command -v zstd >/dev/null || { echo "pack.sh: zstd is missing: apt-get install zstd" >&2; exit 1; }
mkdir -p "$1"
kit="$(cd "$1" && pwd)"
shift
backends=("$@")
[ ${#backends[@]} -gt 0 ] || backends=(cuda vulkan wgpu)
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$root/target}"
cd "$root"

work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
for backend in "${backends[@]}"; do
    case "$backend" in
        cuda|vulkan) features="$backend,burnformer/autotune" ;;
        # Without tuning, which fails with software drivers.
        wgpu) features=wgpu,burnformer/fusion ;;
        *) echo "pack.sh: no backend $backend; there are cuda, vulkan and wgpu" >&2; exit 2 ;;
    esac
    echo "building $backend" >&2
    cargo build --release --features "burnformer/$features" -p burnformer -p burnformer-lab >&2
    mkdir -p "$work/$backend"
    for program in burnformer burnformer-lab; do
        strip -o "$work/$backend/$program" "$CARGO_TARGET_DIR/release/$program"
    done
    # One dictionary over both programs, which share most of their code.
    tar -C "$work" -cf - "$backend" | xz -T2 --lzma2=preset=9e,dict=384MiB >"$kit/$backend.tar.xz"
done

mkdir -p "$kit/peers"
cp benches/gpu/measure.py "$kit/"
cp benches/peers/{transformer,torch_train}.py benches/gpu/ct2_gpu.py "$kit/peers/"
for text in train.de train.en test.de test.en; do
    zstd -dcq "assets/corpus/tatoeba-de-en/$text.zst" | gzip -9 >"$kit/$text.gz"
done
# For CTranslate2: the German–English model inside the program, exported.
if [ ! -d "$kit/ct2" ]; then
    "$work/${backends[0]}/burnformer" export ctranslate2 --model embedded:de-en --out "$kit/ct2" >&2
    cp assets/models/de-en/tokenizer.json "$kit/ct2/tokenizer.json"
fi
du -ah "$kit" | sort -h >&2
