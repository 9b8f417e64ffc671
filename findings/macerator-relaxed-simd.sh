#!/usr/bin/env bash
# macerator 0.5.2 (crates.io), the vectors of Burn's CPU backends: it does not compile for
# WebAssembly with the target feature `relaxed-simd`.
#
# Expected: it compiles, because it has a backend of its own for this feature.
# Seen: with `simd128` alone it compiles. With `relaxed-simd` too, the compiler refuses two places of
# `backend/wasm32.rs`: a function without `unsafe` where the trait has one (E0053), and a call of
# such a function (E0133). A program with Burn can therefore enable the feature for functions of its
# own, and not for a whole build.
#
# It needs a compiler with the target wasm32-unknown-unknown, or one with its own source code (CARGO
# and RUSTC name others). The script fails if what it sees changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cargo=${CARGO:-cargo}
rustc=${RUSTC:-rustc}
target=wasm32-unknown-unknown
standard_library=()
if [ ! -d "$("$rustc" --print target-libdir --target "$target")" ]; then
    export RUSTC_BOOTSTRAP=1
    standard_library=(-Zbuild-std=std,panic_abort)
fi
mkdir "$folder/src"
cat > "$folder/Cargo.toml" <<'TOML'
[package]
name = "vectors"
version = "0.1.0"
edition = "2024"

[dependencies]
macerator = "=0.5.2"
TOML
echo 'pub use macerator::Simd;' > "$folder/src/lib.rs"
check() {
    RUSTFLAGS="-Ctarget-feature=$1" "$cargo" check --quiet --manifest-path "$folder/Cargo.toml" \
        --target "$target" "${standard_library[@]}" 2> "$folder/errors"
}

"$rustc" --version
check +simd128
echo "simd128: compiles"
if check +simd128,+relaxed-simd; then
    echo "relaxed-simd: compiles"
    exit 1
fi
errors=$(grep -o '^error\[E[0-9]*\]' "$folder/errors" | sort | uniq -c | tr -s ' \n' ' ')
echo "simd128 and relaxed-simd:$errors"
[ "$errors" = " 1 error[E0053] 1 error[E0133] " ]
