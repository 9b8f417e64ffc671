#!/usr/bin/env bash
# burn 0.22.1 (crates.io): the value of `gelu` is the exact one, by the error function. Its gradient
# is that of the tanh approximation on all devices but Flex, the CPU backend in pure Rust.
#
# Expected: the gradient is the slope of the value.
# Seen: on Flex it is, within rounding; on ndarray (and on wgpu) it is off by up to 9e-4.
#
# The script fails if that changes. It compiles burn, which takes some minutes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/src"
cat > "$folder/Cargo.toml" <<'TOML'
[package]
name = "slopes"
version = "0.1.0"
edition = "2024"

[dependencies]
burn = { version = "=0.22.1", default-features = false, features = ["std", "ndarray", "flex", "autodiff"] }
TOML
cat > "$folder/src/main.rs" <<'RUST'
use burn::tensor::activation::gelu;
use burn::tensor::{Device, Tensor, TensorData};

const STEP: f32 = 0.01;

/// The largest difference between the gradient and the slope between two values.
fn largest_difference(device: Device) -> f32 {
    let device = device.autodiff();
    let places: Vec<f32> = (-400..=400).map(|i| i as f32 * STEP).collect();
    let data = TensorData::new(places.clone(), [places.len()]);
    let x = Tensor::<1>::from_data(data, &device).require_grad();
    let values: Vec<f32> = gelu(x.clone()).into_data().iter().collect();
    let gradients = gelu(x.clone()).sum().backward();
    let found: Vec<f32> = x.grad(&gradients).expect("a gradient").into_data().iter().collect();
    (1..places.len() - 1)
        .map(|i| (found[i] - (values[i + 1] - values[i - 1]) / (2.0 * STEP)).abs())
        .fold(0.0, f32::max)
}

#[allow(deprecated)]
fn main() {
    let flex = largest_difference(Device::flex());
    let ndarray = largest_difference(Device::ndarray());
    println!("flex {flex:.1e}, ndarray {ndarray:.1e}");
    assert!(flex < 1e-4);
    assert!(ndarray > 3e-4);
}
RUST
(cd "$folder" && cargo run --quiet)
