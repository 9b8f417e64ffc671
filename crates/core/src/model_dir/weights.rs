use std::collections::BTreeMap;
use std::path::Path;

use burn::tensor::TensorData;
use safetensors::tensor::{Dtype, SafeTensors, TensorView};

use super::error::ModelDirError;
use super::manifest::write;

/// Writes named tensors to `path` as float32 in the safetensors format.
///
/// # Errors
/// [`ModelDirError::Io`] if the file cannot be written.
pub fn write_tensors(
    path: &Path,
    tensors: &BTreeMap<String, TensorData>,
) -> Result<(), ModelDirError> {
    let values: Vec<(String, Vec<usize>, Vec<u8>)> = tensors
        .iter()
        .map(|(name, data)| (name.clone(), data.shape().to_vec(), little_endian(data)))
        .collect();
    let views = values.iter().map(|(name, shape, bytes)| {
        let view = TensorView::new(Dtype::F32, shape.clone(), bytes);
        (name.as_str(), view.expect("a float32 tensor has four bytes an element"))
    });
    let bytes = safetensors::serialize(views, None).map_err(|e| damaged(path, &e))?;
    write(path, &bytes)
}

fn little_endian(data: &TensorData) -> Vec<u8> {
    data.iter::<f32>().flat_map(f32::to_le_bytes).collect()
}

/// Reads float32 tensors from `bytes`, the content of the safetensors file `path`; the path is used in error messages.
///
/// # Errors
/// [`ModelDirError::Tensors`] if the header is damaged or makes impossible claims, or if a tensor is not float32.
pub fn read_tensors(
    path: &Path,
    bytes: &[u8],
) -> Result<BTreeMap<String, TensorData>, ModelDirError> {
    let tensors = SafeTensors::deserialize(bytes).map_err(|e| damaged(path, &e))?;
    let read = |(name, view): (String, TensorView<'_>)| {
        if view.dtype() != Dtype::F32 {
            let message = format!("tensor {name} is {:?}, expected float32", view.dtype());
            return Err(ModelDirError::Tensors { path: path.to_path_buf(), message });
        }
        let values = view.data().chunks_exact(4);
        let values = values.map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect();
        Ok((name, TensorData::new::<f32, _>(values, view.shape().to_vec())))
    };
    tensors.tensors().into_iter().map(read).collect()
}

fn damaged(path: &Path, error: &dyn std::fmt::Display) -> ModelDirError {
    ModelDirError::Tensors { path: path.to_path_buf(), message: error.to_string() }
}
