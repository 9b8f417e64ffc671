//! Float32 tensors by name, with checks of their shapes, read from safetensors of float32, float64,
//! float16 and bfloat16.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use burn::tensor::{TensorData, bf16, f16};
use safetensors::tensor::{Dtype, SafeTensors, TensorView};

use crate::error::{InteropError, Result};

/// A tensor: its elements and its shape.
#[derive(Clone, Debug, PartialEq)]
pub struct Tensor {
    /// The size of each dimension; the last one is contiguous.
    pub shape: Vec<usize>,
    /// The elements in row-major order.
    pub values: Vec<f32>,
}

/// Tensors by name.
pub type Tensors = BTreeMap<String, Tensor>;

impl Tensor {
    /// A tensor of `shape` with the elements `values`.
    ///
    /// # Panics
    /// Panics if the number of `values` is not the product of `shape`.
    pub fn new(shape: impl Into<Vec<usize>>, values: Vec<f32>) -> Self {
        let shape = shape.into();
        assert_eq!(shape.iter().product::<usize>(), values.len(), "{shape:?}");
        Self { shape, values }
    }

    /// The transposed matrix: `[rows, columns]` becomes `[columns, rows]`.
    ///
    /// # Panics
    /// Panics if the tensor is not a matrix.
    pub fn transposed(&self) -> Self {
        let &[rows, columns] = &self.shape[..] else {
            panic!("{:?} is not a matrix", self.shape)
        };
        Self::new(
            [columns, rows],
            (0..rows * columns)
                .map(|index| self.values[index % rows * columns + index / rows])
                .collect(),
        )
    }

    /// The slices `from..to` along the first dimension.
    ///
    /// # Panics
    /// Panics if there are fewer slices.
    pub fn rows(&self, from: usize, to: usize) -> Self {
        let width: usize = self.shape[1..].iter().product();
        let mut shape = self.shape.clone();
        shape[0] = to - from;
        Self::new(shape, self.values[from * width..to * width].to_vec())
    }

    /// Exchanges the slices `a` and `b` along the first dimension.
    ///
    /// # Panics
    /// Panics if there are fewer slices.
    pub fn exchange(&mut self, a: usize, b: usize) {
        let width: usize = self.shape[1..].iter().product();
        (0..width).for_each(|column| self.values.swap(a * width + column, b * width + column));
    }

    /// Concatenates `parts` along the first dimension. Their other dimensions are equal.
    ///
    /// # Panics
    /// Panics if `parts` is empty.
    pub fn stacked(parts: &[&Self]) -> Self {
        let mut shape = parts[0].shape.clone();
        shape[0] = parts.iter().map(|part| part.shape[0]).sum();
        Self::new(
            shape,
            parts
                .iter()
                .flat_map(|part| part.values.iter().copied())
                .collect(),
        )
    }
}

impl From<Tensor> for TensorData {
    fn from(tensor: Tensor) -> Self {
        Self::new(tensor.values, tensor.shape)
    }
}

impl From<&TensorData> for Tensor {
    fn from(data: &TensorData) -> Self {
        Self {
            shape: data.shape().to_vec(),
            values: data.iter::<f32>().collect(),
        }
    }
}

/// The number types of stored weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NumberType {
    Float64,
    Float32,
    Float16,
    BFloat16,
    Int8,
    Int16,
    Int32,
}

impl NumberType {
    /// The number of bytes of a number.
    pub fn size(self) -> usize {
        match self {
            Self::Int8 => 1,
            Self::Float16 | Self::BFloat16 | Self::Int16 => 2,
            Self::Float32 | Self::Int32 => 4,
            Self::Float64 => 8,
        }
    }

    /// The number in `bytes`, little-endian, as float32.
    pub fn read(self, bytes: &[u8]) -> f32 {
        match self {
            Self::Float64 => f64::from_le_bytes(first(bytes)) as f32,
            Self::Float32 => f32::from_le_bytes(first(bytes)),
            Self::Float16 => f16::from_le_bytes(first(bytes)).to_f32(),
            Self::BFloat16 => bf16::from_le_bytes(first(bytes)).to_f32(),
            Self::Int8 => f32::from(bytes[0] as i8),
            Self::Int16 => f32::from(i16::from_le_bytes(first(bytes))),
            Self::Int32 => i32::from_le_bytes(first(bytes)) as f32,
        }
    }

    /// All numbers in `bytes`.
    pub fn read_all(self, bytes: &[u8]) -> Vec<f32> {
        bytes
            .chunks_exact(self.size())
            .map(|bytes| self.read(bytes))
            .collect()
    }
}

/// The first `N` of `bytes`.
fn first<const N: usize>(bytes: &[u8]) -> [u8; N] {
    *bytes.first_chunk().expect("a number has all of its bytes")
}

/// The number of elements of `shape`, if it fits into a `usize`.
pub(crate) fn elements(shape: &[usize]) -> Option<usize> {
    shape
        .iter()
        .try_fold(1usize, |product, &size| product.checked_mul(size))
}

/// The tensors of a file, to be taken out one by one.
pub(crate) struct Weights {
    pub path: PathBuf,
    tensors: Tensors,
    /// The types of the tensors that are not floats, by name.
    other_types: BTreeMap<String, String>,
}

impl Weights {
    pub fn new(path: &Path, tensors: Tensors) -> Self {
        Self {
            path: path.into(),
            tensors,
            other_types: BTreeMap::new(),
        }
    }

    /// Adds a tensor of the file.
    pub fn add(&mut self, name: String, tensor: Tensor) {
        self.tensors.insert(name, tensor);
    }

    /// Records that the tensor `name` is left out, because its numbers have the type `kind`.
    pub fn leave_out(&mut self, name: String, kind: String) {
        self.other_types.insert(name, kind);
    }

    /// The number of tensors left.
    pub fn len(&self) -> usize {
        self.tensors.len()
    }

    /// Takes the tensor `name`, which must have `shape`.
    ///
    /// # Errors
    /// Returns an error if the tensor is missing or has another shape.
    pub fn take(&mut self, name: &str, shape: &[usize]) -> Result<Tensor> {
        let tensor = self
            .tensors
            .remove(name)
            .ok_or_else(|| self.missing(name))?;
        self.shaped(name, tensor, shape)
    }

    /// Takes the tensor `name` of any shape.
    pub fn take_any(&mut self, name: &str) -> Option<Tensor> {
        self.tensors.remove(name)
    }

    /// The shape of the tensor `name`.
    ///
    /// # Errors
    /// Returns an error if the tensor is missing.
    pub fn shape(&self, name: &str) -> Result<&[usize]> {
        Ok(&self
            .tensors
            .get(name)
            .ok_or_else(|| self.missing(name))?
            .shape)
    }

    /// Returns `tensor` if it has `shape`.
    ///
    /// # Errors
    /// Returns [`InteropError::Shape`] if it has another shape.
    pub fn shaped(&self, name: &str, tensor: Tensor, shape: &[usize]) -> Result<Tensor> {
        self.check_shape(name, &tensor, shape)?;
        Ok(tensor)
    }

    /// Checks that `tensor` has `shape`.
    ///
    /// # Errors
    /// Returns [`InteropError::Shape`] if it has another shape.
    pub fn check_shape(&self, name: &str, tensor: &Tensor, shape: &[usize]) -> Result<()> {
        if tensor.shape == shape {
            Ok(())
        } else {
            Err(InteropError::shape(&self.path, name, &tensor.shape, shape))
        }
    }

    /// Checks that all tensors were taken.
    ///
    /// # Errors
    /// Returns [`InteropError::UnknownTensor`] with `remedy` for the first tensor left.
    pub fn finish(self, remedy: &'static str) -> Result<()> {
        match self.tensors.into_keys().next() {
            Some(name) => Err(InteropError::UnknownTensor {
                path: self.path,
                name,
                remedy,
            }),
            None => Ok(()),
        }
    }

    /// The error for the tensor `name`, which is missing or has an unknown type.
    pub fn missing(&self, name: &str) -> InteropError {
        if let Some(kind) = self.other_types.get(name) {
            let what = format!("tensor {name} of type {kind}");
            let remedy = "save the weights in float32, float16 or bfloat16";
            return InteropError::unsupported(&self.path, what, remedy);
        }
        InteropError::MissingTensor(self.path.clone(), name.into())
    }
}

/// Adds the float tensors in `bytes`, the content of `path`, to `weights`. Tensors of other types
/// are left out.
///
/// # Errors
/// Returns [`InteropError::Damaged`] if `bytes` are not a valid safetensors file.
pub(crate) fn read_safetensors(path: &Path, bytes: &[u8], weights: &mut Weights) -> Result<()> {
    let file = SafeTensors::deserialize(bytes).map_err(|e| InteropError::damaged(path, e))?;
    for (name, view) in file.tensors() {
        let number = match view.dtype() {
            Dtype::F64 => NumberType::Float64,
            Dtype::F32 => NumberType::Float32,
            Dtype::F16 => NumberType::Float16,
            Dtype::BF16 => NumberType::BFloat16,
            other => {
                weights.leave_out(name, format!("{other:?}"));
                continue;
            }
        };
        let tensor = Tensor::new(view.shape(), number.read_all(view.data()));
        weights.add(name, tensor);
    }
    Ok(())
}

/// The content of a safetensors file with `tensors` in float32, like PyTorch's.
pub(crate) fn write_safetensors(tensors: &Tensors) -> Vec<u8> {
    let bytes = tensors.iter().map(|(name, tensor)| {
        let bytes: Cow<[u8]> = if cfg!(target_endian = "little") {
            bytemuck::cast_slice(&tensor.values).into()
        } else {
            tensor.values.iter().flat_map(|x| x.to_le_bytes()).collect()
        };
        (name, &tensor.shape, bytes)
    });
    let bytes: Vec<_> = bytes.collect();
    let views = bytes.iter().map(|(name, shape, bytes)| {
        let view = TensorView::new(Dtype::F32, (*shape).clone(), bytes);
        (
            name.as_str(),
            view.expect("a float32 number has four bytes"),
        )
    });
    // transformers refuses a file without this.
    let metadata = [("format".to_string(), "pt".to_string())].into();
    safetensors::serialize(views, Some(metadata)).expect("the views are those of the tensors")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transposed_matrix_has_its_rows_as_columns() {
        let matrix = Tensor::new([2, 3], vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        let transposed = Tensor::new([3, 2], vec![1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
        assert_eq!(matrix.transposed(), transposed);
        assert_eq!(transposed.transposed(), matrix);
    }

    #[test]
    fn stacked_rows_are_separated_again() {
        let (a, b) = (
            Tensor::new([1, 2], vec![1.0, 2.0]),
            Tensor::new([2, 2], vec![3.0; 4]),
        );
        let both = Tensor::stacked(&[&a, &b]);
        assert_eq!((both.rows(0, 1), both.rows(1, 3)), (a, b));
    }

    #[test]
    fn numbers_of_every_type_are_read() {
        assert_eq!(NumberType::Float64.read(&1.5f64.to_le_bytes()), 1.5);
        assert_eq!(NumberType::Float32.read(&1.5f32.to_le_bytes()), 1.5);
        assert_eq!(NumberType::Float16.read(&[0x00, 0x3e]), 1.5);
        assert_eq!(NumberType::BFloat16.read(&[0xc0, 0x3f]), 1.5);
        assert_eq!(
            NumberType::Int8.read_all(&[1, 255, 128]),
            [1.0, -1.0, -128.0]
        );
        assert_eq!(NumberType::Int16.read_all(&[0, 1, 255, 255]), [256.0, -1.0]);
        assert_eq!(NumberType::Int32.read(&(-7i32).to_le_bytes()), -7.0);
    }

    #[test]
    fn a_shape_whose_product_overflows_has_no_elements() {
        assert_eq!(elements(&[usize::MAX, 2]), None);
        assert_eq!(elements(&[3, 4]), Some(12));
    }
}
