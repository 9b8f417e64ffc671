//! The reference numbers (`tests/reference/README.md`).

pub mod case;
pub mod half;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use burn::tensor::{Device, TensorData};
use burnformer_core::model_dir::read_tensors;

/// Tensors by name.
pub type Tensors = BTreeMap<String, TensorData>;

/// The largest distance of a value from its expected number: `on_cpu` with the fused operations of
/// the CPU, 1e-3 on other devices (`BURN_DEVICE` chooses), where sums are cut otherwise and
/// exponentials are the driver's.
#[allow(dead_code, reason = "each test file uses its share")]
pub fn within(on_cpu: f64) -> f64 {
    if burnformer_kernels::is_fused_on(&Device::default()) {
        on_cpu
    } else {
        1e-3
    }
}

/// The folder of the reference numbers.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/reference")
}

/// The tensors of `file`: float32, and 64-bit integers.
pub fn tensors(file: &str) -> Tensors {
    let path = folder().join(file);
    let bytes = std::fs::read(&path).unwrap();
    let safe = safetensors::SafeTensors::deserialize(&bytes).unwrap();
    let integers = safe
        .tensors()
        .into_iter()
        .filter(|(_, v)| v.dtype() == safetensors::Dtype::I64);
    let integers: Vec<_> = integers.collect();
    if integers.is_empty() {
        return read_tensors(&path, &bytes).unwrap();
    }
    safe.tensors()
        .into_iter()
        .map(|(name, view)| (name, to_data(&view)))
        .collect()
}

fn to_data(view: &safetensors::tensor::TensorView) -> TensorData {
    let shape = view.shape().to_vec();
    match view.dtype() {
        safetensors::Dtype::I64 => {
            let values = view.data().chunks_exact(8);
            let values = values.map(|b| i64::from_le_bytes(b.try_into().unwrap()));
            TensorData::new::<i64, _>(values.collect(), shape)
        }
        safetensors::Dtype::F32 => {
            let values = view.data().chunks_exact(4);
            let values = values.map(|b| f32::from_le_bytes(b.try_into().unwrap()));
            TensorData::new::<f32, _>(values.collect(), shape)
        }
        other => panic!("{other:?}"),
    }
}
