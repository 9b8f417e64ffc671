use std::collections::BTreeMap;
use std::path::Path;

use burn::tensor::TensorData;
use burnformer_kernels::quantize_rows;
use safetensors::tensor::{Dtype, SafeTensors, TensorView};

use super::error::ModelDirError;
use super::manifest::write;

/// What follows a matrix's name in that of its scales.
const SCALE: &str = ".scale";

/// One tensor of a file: name, type, shape, bytes.
type Stored = (String, Dtype, Vec<usize>, Vec<u8>);

/// Writes named tensors to `path` as float32 in the safetensors format.
///
/// # Errors
/// [`ModelDirError::Io`] if the file cannot be written.
pub fn write_tensors(
    path: &Path,
    tensors: &BTreeMap<String, TensorData>,
) -> Result<(), ModelDirError> {
    write_stored(path, tensors.iter().map(|(name, data)| as_float32(name, data)).collect())
}

/// Does what [`write_tensors`] does, with the matrices that models multiply with in 8 bits: the integers of
/// [`quantize_rows`] under their name, and the scales of their rows under their name and `.scale`.
///
/// # Errors
/// [`ModelDirError::Io`] if the file cannot be written.
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

/// Whether models multiply with a parameter: a matrix that is no table of positions.
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
    let bytes = safetensors::serialize(views, None).map_err(|e| damaged(path, &e))?;
    write(path, &bytes)
}

/// Reads the tensors in `bytes`, the content of the safetensors file `path`, as float32; a quantised matrix as its
/// integers times the scales of their rows.
///
/// # Errors
/// [`ModelDirError::Tensors`] if the header is hostile or damaged, a tensor has another type, or the scales of a
/// quantised matrix are missing or of another number than its rows.
pub fn read_tensors(
    path: &Path,
    bytes: &[u8],
) -> Result<BTreeMap<String, TensorData>, ModelDirError> {
    let file = SafeTensors::deserialize(bytes).map_err(|e| damaged(path, &e))?;
    let mut tensors = BTreeMap::new();
    for (name, view) in file.tensors() {
        let values = match view.dtype() {
            Dtype::F32 if is_scale_of_integers(&file, &name) => continue,
            Dtype::F32 => float32(&view),
            Dtype::I8 => dequantized(&file, &name, &view).ok_or_else(|| {
                wrong(path, format!("matrix {name} has no scale for each of its rows"))
            })?,
            other => {
                return Err(wrong(
                    path,
                    format!("tensor {name} is {other:?}, expected float32 or int8"),
                ));
            }
        };
        tensors.insert(name, TensorData::new::<f32, _>(values, view.shape().to_vec()));
    }
    Ok(tensors)
}

fn is_scale_of_integers(file: &SafeTensors, name: &str) -> bool {
    let matrix = name.strip_suffix(SCALE).and_then(|name| file.tensor(name).ok());
    matrix.is_some_and(|matrix| matrix.dtype() == Dtype::I8)
}

fn float32(view: &TensorView) -> Vec<f32> {
    let values = view.data().chunks_exact(4);
    values.map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()
}

/// The numbers of the quantised matrix `view`; `None` if its scales do not fit it.
fn dequantized(file: &SafeTensors, name: &str, view: &TensorView) -> Option<Vec<f32>> {
    let scales = file.tensor(&format!("{name}{SCALE}")).ok()?;
    let &[rows, columns] = view.shape() else { return None };
    (scales.dtype() == Dtype::F32 && scales.shape() == [rows]).then_some(())?;
    let integers = view.data().chunks_exact(columns.max(1));
    let row = |(row, scale): (&[u8], f32)| {
        let numbers: Vec<f32> =
            row.iter().map(|&byte| f32::from(byte.cast_signed()) * scale).collect();
        numbers
    };
    Some(integers.zip(float32(&scales)).flat_map(row).collect())
}

fn damaged(path: &Path, error: &dyn std::fmt::Display) -> ModelDirError {
    wrong(path, error.to_string())
}

fn wrong(path: &Path, message: String) -> ModelDirError {
    ModelDirError::Tensors { path: path.to_path_buf(), message }
}
