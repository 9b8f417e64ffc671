use std::collections::BTreeMap;
use std::path::Path;

use burn::tensor::TensorData;
use burnformer_kernels::quantize_rows;
use safetensors::tensor::{Dtype, TensorView};

use super::error::ModelDirError;

/// The suffix of a matrix's name in that of its scales.
pub(super) const SCALE: &str = ".scale";

/// One tensor of a file: name, type, shape, bytes.
type Stored = (String, Dtype, Vec<usize>, Vec<u8>);

/// Writes named tensors to `path` as float32 in the safetensors format.
///
/// # Errors
/// A [`ModelDirError`] if the file cannot be written.
pub fn write_tensors(
    path: &Path,
    tensors: &BTreeMap<String, TensorData>,
) -> Result<(), ModelDirError> {
    write_stored(path, tensors.iter().map(|(name, data)| as_float32(name, data)).collect())
}

/// Does what [`write_tensors`] does, with the matrices that models multiply with in 8 bits: the
/// integers of [`quantize_rows`] under their name, and the scales of their rows under their name
/// and `.scale`.
///
/// # Errors
/// A [`ModelDirError`] if the file cannot be written.
pub fn write_quantized(
    path: &Path,
    tensors: &BTreeMap<String, TensorData>,
) -> Result<(), ModelDirError> {
    let stored = |(name, data): (&String, &TensorData)| match is_multiplied(name, data.shape()) {
        true => quantized(name, data),
        false => vec![as_float32(name, data)],
    };
    write_stored(path, tensors.iter().flat_map(stored).collect())
}

/// Returns whether models multiply with a parameter: a matrix that is no table of positions.
fn is_multiplied(name: &str, shape: &[usize]) -> bool {
    shape.len() == 2 && !name.contains("position")
}

fn as_float32(name: &str, data: &TensorData) -> Stored {
    let bytes = data.iter::<f32>().flat_map(f32::to_le_bytes).collect();
    (name.to_owned(), Dtype::F32, data.shape().to_vec(), bytes)
}

fn quantized(name: &str, data: &TensorData) -> Vec<Stored> {
    let values: Vec<f32> = data.iter::<f32>().collect();
    let rows = quantize_rows(&values, data.shape()[1]);
    let integers = rows.values.iter().map(|value| value.to_le_bytes()[0]).collect();
    let scales = TensorData::new(rows.scales, [data.shape()[0]]);
    vec![
        (name.to_owned(), Dtype::I8, data.shape().to_vec(), integers),
        as_float32(&format!("{name}{SCALE}"), &scales),
    ]
}

fn write_stored(path: &Path, stored: Vec<Stored>) -> Result<(), ModelDirError> {
    let views = stored.iter().map(|(name, dtype, shape, bytes)| {
        let view = TensorView::new(*dtype, shape.clone(), bytes);
        (name.as_str(), view.expect("as many bytes as the shape and the type say"))
    });
    let bytes = safetensors::serialize(views, None).map_err(|e| ModelDirError::damaged(path, e))?;
    write(path, &bytes)
}

/// Replaces the file at `path`, which holds either the old content or the new at any moment.
pub(super) fn write(path: &Path, bytes: &[u8]) -> Result<(), ModelDirError> {
    burnformer_files::write(path, bytes).map_err(|e| ModelDirError::io(path, e))
}
