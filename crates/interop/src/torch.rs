//! `pytorch_model.bin`: the file that `torch.save` writes for a dictionary of tensors. Burn's reader reads it; it executes
//! nothing and checks every length.

use std::path::Path;

use pytorch_reader::{DType, PytorchReader};

use crate::error::{InteropError, Result};
use crate::tensors::{NumberType, Tensor, Tensors, elements};
use crate::zip;

/// How many times the size of the file all tensors together may have. Tensors may share numbers, as tied embeddings do.
const MOST_SHARED: usize = 8;

/// The float tensors of the dictionary in `bytes`, the content of `path`. Tensors of other types are left out.
///
/// # Errors
/// [`InteropError::Damaged`], also if the file holds something other than a dictionary.
pub(crate) fn read(path: &Path, bytes: &[u8]) -> Result<Tensors> {
    // The reader would decompress, and read bytes that several names share once for each.
    if zip::is_zip(bytes) {
        zip::entries(bytes).map_err(|why| InteropError::damaged(path, why))?;
    }
    let reader = PytorchReader::new(path).map_err(|why| InteropError::damaged(path, why))?;
    let mut left = bytes.len().saturating_mul(MOST_SHARED) / 4;
    let mut tensors = Tensors::new();
    for (name, tensor) in reader.into_tensors() {
        let number = match tensor.dtype() {
            DType::F32 => NumberType::Float32,
            DType::F16 => NumberType::Float16,
            DType::BF16 => NumberType::BFloat16,
            _ => continue,
        };
        let count = elements(tensor.shape()).and_then(|count| left.checked_sub(count));
        left = count.ok_or_else(|| {
            InteropError::damaged(path, format!("tensor {name} is larger than the file"))
        })?;
        let bytes = tensor.read().map_err(|why| InteropError::damaged(path, why))?;
        tensors.insert(name, Tensor::new(tensor.shape(), number.read_all(&bytes)));
    }
    Ok(tensors)
}
