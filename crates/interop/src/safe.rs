//! Safetensors of float32, float16 and bfloat16.

use std::path::Path;

use safetensors::tensor::{Dtype, SafeTensors, TensorView};

use crate::error::{InteropError, Result};
use crate::tensors::{NumberType, Tensor, Tensors};

/// The float tensors in `bytes`, the content of `path`. Tensors of other types are left out.
///
/// # Errors
/// [`InteropError::Damaged`].
pub(crate) fn read(path: &Path, bytes: &[u8]) -> Result<Tensors> {
    let file = SafeTensors::deserialize(bytes).map_err(|e| InteropError::damaged(path, e))?;
    let mut tensors = Tensors::new();
    for (name, view) in file.tensors() {
        let number = match view.dtype() {
            Dtype::F32 => NumberType::Float32,
            Dtype::F16 => NumberType::Float16,
            Dtype::BF16 => NumberType::BFloat16,
            _ => continue,
        };
        tensors.insert(name, Tensor::new(view.shape(), number.read_all(view.data())));
    }
    Ok(tensors)
}

/// The content of a safetensors file with `tensors` in float32, in the form that PyTorch writes.
pub(crate) fn write(tensors: &Tensors) -> Vec<u8> {
    let bytes = tensors.iter().map(|(name, tensor)| {
        let bytes: Vec<u8> = tensor.values.iter().flat_map(|x| x.to_le_bytes()).collect();
        (name, &tensor.shape, bytes)
    });
    let bytes: Vec<_> = bytes.collect();
    let views = bytes.iter().map(|(name, shape, bytes)| {
        let view = TensorView::new(Dtype::F32, (*shape).clone(), bytes);
        (name.as_str(), view.expect("a float32 number has four bytes"))
    });
    // transformers refuses a file that does not say so.
    let metadata = [("format".to_string(), "pt".to_string())].into();
    safetensors::serialize(views, Some(metadata)).expect("the views are those of the tensors")
}
