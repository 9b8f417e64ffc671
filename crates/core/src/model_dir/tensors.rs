//! Tensors in files of the safetensors format. Each tensor is read directly into its final buffer,
//! while the bytes read before it are hashed.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::path::Path;

use burn::tensor::TensorData;
use burnformer_kernels::{QuantizedRows, quantize_rows};
use bytemuck::Pod;
use rayon::prelude::*;
use safetensors::tensor::{Dtype, Metadata, TensorInfo};

use super::error::{ModelDirError, Result};
use crate::parameters::{StateDict, StoredTensor};

/// Tensors of a file by their names.
pub(super) type StoredTensors = BTreeMap<String, StoredTensor>;

/// The number of bytes of the length of the header.
const LENGTH_BYTES: u64 = 8;
/// Smallest tensor, in bytes, that is hashed while the next one is read.
const MIN_PARALLEL_BYTES: usize = 1 << 16;
/// The number of bytes that are read at a time.
const CHUNK_BYTES: usize = 1 << 18;

/// Reads the tensors in `bytes`, the content of the safetensors file `path`, as float32; a
/// quantised matrix as its integers times the scales of their rows.
///
/// # Errors
/// Returns [`ModelDirProblem::Damaged`](super::ModelDirProblem::Damaged) if the header is hostile
/// or damaged, a tensor has another type, or the scales of a quantised matrix are missing or of
/// another number than its rows.
pub fn read_tensors(path: &Path, bytes: &[u8]) -> Result<StateDict> {
    read_from(path, &mut &*bytes, bytes.len() as u64, |_| ()).map(into_float32)
}

/// Returns `tensors` in float32.
pub(super) fn into_float32(tensors: StoredTensors) -> StateDict {
    tensors
        .into_par_iter()
        .map(|(name, stored)| (name, stored.into_data()))
        .collect()
}

/// Reads tensors as [`read_tensors`] does, from the `size` bytes of `file`, without dequantising
/// matrices. Calls `seen` with all bytes in order, while it reads the next ones.
///
/// # Errors
/// Returns the errors of [`read_tensors`], and [`ModelDirProblem::Io`](super::ModelDirProblem::Io)
/// if `file` yields an error or ends early.
pub(super) fn read_from(
    path: &Path,
    file: &mut (impl Read + Send),
    size: u64,
    mut seen: impl FnMut(&[u8]) + Send,
) -> Result<StoredTensors> {
    let header = read_header(path, file, size, &mut seen)?;
    let names = header.offset_keys();
    let mut infos = Vec::with_capacity(names.len());
    for name in &names {
        let info = header.info(name).expect("a name of the header");
        if !is_known(info.dtype) {
            let message = format!(
                "tensor {name} is {:?}, expected float32 or int8",
                info.dtype
            );
            return Err(ModelDirError::damaged(path, message));
        }
        infos.push(info);
    }
    let mut stored: Vec<Stored> = Vec::with_capacity(names.len());
    for info in infos {
        let last = stored.last().map_or(&[][..], Stored::bytes);
        let read = if last.len() < MIN_PARALLEL_BYTES {
            seen(last);
            Stored::read(file, info)
        } else {
            rayon::join(|| Stored::read(file, info), || seen(last)).0
        };
        stored.push(read.map_err(|e| ModelDirError::io(path, e))?);
    }
    seen(stored.last().map_or(&[], Stored::bytes));
    with_scales(path, names.into_iter().zip(stored).collect())
}

/// Reads the header and checks that it describes all of the file.
fn read_header(
    path: &Path,
    file: &mut impl Read,
    size: u64,
    seen: &mut impl FnMut(&[u8]),
) -> Result<Metadata> {
    let mut length = [0; LENGTH_BYTES as usize];
    if size < LENGTH_BYTES {
        return Err(too_short(path));
    }
    file.read_exact(&mut length)
        .map_err(|e| ModelDirError::io(path, e))?;
    seen(&length);
    let length = u64::from_le_bytes(length);
    let left = size - LENGTH_BYTES;
    if length > left {
        return Err(too_short(path));
    }
    let mut text = vec![0; length as usize];
    file.read_exact(&mut text)
        .map_err(|e| ModelDirError::io(path, e))?;
    seen(&text);
    let header: Metadata =
        serde_json::from_slice(&text).map_err(|e| ModelDirError::damaged(path, e))?;
    if header.data_len() as u64 != left - length {
        let message = "the tensors are not as long as the rest of the file";
        return Err(ModelDirError::damaged(path, message));
    }
    Ok(header)
}

fn too_short(path: &Path) -> ModelDirError {
    ModelDirError::damaged(path, "the file ends within its header")
}

fn is_known(dtype: Dtype) -> bool {
    matches!(dtype, Dtype::F32 | Dtype::I8)
}

/// The numbers of one tensor in the type of the file, and its shape.
struct Stored {
    numbers: Numbers,
    shape: Vec<usize>,
}

enum Numbers {
    /// Little-endian, as in the file.
    Float32(Vec<f32>),
    Int8(Vec<u8>),
}

impl Stored {
    fn read(file: &mut impl Read, info: &TensorInfo) -> std::io::Result<Self> {
        let (start, end) = info.data_offsets;
        let numbers = match info.dtype {
            Dtype::F32 => Numbers::Float32(read_elements(file, (end - start) / size_of::<f32>())?),
            _ => Numbers::Int8(read_elements(file, end - start)?),
        };
        Ok(Self {
            numbers,
            shape: info.shape.clone(),
        })
    }

    fn bytes(&self) -> &[u8] {
        match &self.numbers {
            Numbers::Float32(numbers) => bytemuck::cast_slice(numbers),
            Numbers::Int8(numbers) => numbers,
        }
    }
}

/// Reads `count` elements in chunks, so that the zeroed memory is still in the cache when it is
/// overwritten.
fn read_elements<T: Pod>(file: &mut impl Read, count: usize) -> std::io::Result<Vec<T>> {
    let mut elements = Vec::new();
    burnformer_files::try_reserve(&mut elements, count)?;
    while elements.len() < count {
        let start = elements.len();
        elements.resize(
            (start + CHUNK_BYTES / size_of::<T>()).min(count),
            T::zeroed(),
        );
        file.read_exact(bytemuck::cast_slice_mut(&mut elements[start..]))?;
    }
    Ok(elements)
}

/// Joins the integers of quantised matrices with their scales.
fn with_scales(path: &Path, stored: BTreeMap<String, Stored>) -> Result<StoredTensors> {
    let mut integers = Vec::new();
    let mut floats = BTreeMap::new();
    for (name, Stored { numbers, shape }) in stored {
        match numbers {
            Numbers::Int8(numbers) => integers.push((name, numbers, shape)),
            Numbers::Float32(mut numbers) => {
                numbers
                    .iter_mut()
                    .for_each(|it| *it = f32::from_bits(u32::from_le(it.to_bits())));
                floats.insert(name, (numbers, shape));
            }
        }
    }
    let mut tensors = StoredTensors::new();
    for (name, numbers, shape) in integers {
        let scales = floats.remove(&format!("{name}{SCALE}"));
        let Some(scales) = scales.and_then(|scales| of_rows(scales, &shape)) else {
            let message = format!("matrix {name} has no scale for each of its rows");
            return Err(ModelDirError::damaged(path, message));
        };
        let values = bytemuck::cast_vec(numbers);
        let rows = QuantizedRows { values, scales };
        let shape = [shape[0], shape[1]];
        tensors.insert(name, StoredTensor::Quantized(rows, shape));
    }
    for (name, (numbers, shape)) in floats {
        tensors.insert(name, StoredTensor::Float32(TensorData::new(numbers, shape)));
    }
    Ok(tensors)
}

/// Returns the scales, if there is one for each row of a matrix of this shape.
fn of_rows((scales, shape): (Vec<f32>, Vec<usize>), matrix: &[usize]) -> Option<Vec<f32>> {
    (matrix.len() == 2 && shape == [matrix[0]]).then_some(scales)
}

/// The suffix of the name of a matrix's scales.
pub(super) const SCALE: &str = ".scale";

/// A float32 tensor in memory, row-major, to be written to a file.
#[derive(Clone, Copy, Debug)]
pub struct NamedTensor<'a> {
    /// The name.
    pub name: &'a str,
    /// The size of each dimension.
    pub shape: &'a [usize],
    /// The numbers, as many as the sizes multiplied.
    pub values: &'a [f32],
}

/// A tensor as it is in a file.
struct TensorBytes<'a> {
    name: Cow<'a, str>,
    dtype: Dtype,
    shape: &'a [usize],
    bytes: Cow<'a, [u8]>,
}

/// Writes named tensors to `path` as float32 in the safetensors format.
///
/// # Errors
/// Returns a [`ModelDirError`] if the file cannot be written.
pub fn write_tensors(path: &Path, tensors: &StateDict) -> Result<()> {
    let stored = tensors.iter().map(|(name, data)| as_float32(name, data));
    write_stored(path, stored.collect())
}

/// Writes `tensors` to `path` as [`write_tensors`] does, without a copy of them.
///
/// # Errors
/// Returns a [`ModelDirError`] if the file cannot be written.
pub(super) fn write_named<'a>(
    path: &Path,
    tensors: impl Iterator<Item = NamedTensor<'a>>,
) -> Result<()> {
    let stored = tensors.map(|tensor| TensorBytes {
        name: tensor.name.into(),
        dtype: Dtype::F32,
        shape: tensor.shape,
        bytes: little_endian(tensor.values),
    });
    write_stored(path, stored.collect())
}

/// Writes named tensors to `path` as [`write_tensors`] does, but the matrices of products in 8
/// bits: the integers of [`quantize_rows`] under the name of the matrix, and the scales of the rows
/// under that name and `.scale`.
///
/// # Errors
/// Returns a [`ModelDirError`] if the file cannot be written.
pub fn write_quantized(path: &Path, tensors: &StateDict) -> Result<()> {
    let mut stored = Vec::new();
    for (name, data) in tensors {
        if is_multiplied(name, data.shape()) {
            stored.extend(quantized(name, data));
        } else {
            stored.push(as_float32(name, data));
        }
    }
    write_stored(path, stored)
}

/// Returns whether a parameter is a factor of a product: a matrix other than a table of positions.
fn is_multiplied(name: &str, shape: &[usize]) -> bool {
    shape.len() == 2 && !name.contains("position")
}

fn as_float32<'a>(name: &'a str, data: &'a TensorData) -> TensorBytes<'a> {
    let bytes = match data.as_slice::<f32>() {
        Ok(values) => little_endian(values),
        Err(_) => data.iter::<f32>().flat_map(f32::to_le_bytes).collect(),
    };
    TensorBytes {
        name: name.into(),
        dtype: Dtype::F32,
        shape: data.shape(),
        bytes,
    }
}

/// Returns the bytes of `values` in a file; their memory on a little-endian processor.
fn little_endian(values: &[f32]) -> Cow<'_, [u8]> {
    if cfg!(target_endian = "little") {
        bytemuck::cast_slice(values).into()
    } else {
        values.iter().flat_map(|x| x.to_le_bytes()).collect()
    }
}

fn quantized<'a>(name: &'a str, data: &'a TensorData) -> [TensorBytes<'a>; 2] {
    let values: Vec<f32> = data.iter::<f32>().collect();
    let rows = quantize_rows(&values, data.shape()[1]);
    let scales = rows.scales.iter().flat_map(|scale| scale.to_le_bytes());
    [
        TensorBytes {
            name: name.into(),
            dtype: Dtype::I8,
            shape: data.shape(),
            bytes: bytemuck::cast_vec(rows.values).into(),
        },
        TensorBytes {
            name: format!("{name}{SCALE}").into(),
            dtype: Dtype::F32,
            shape: &data.shape()[..1],
            bytes: scales.collect(),
        },
    ]
}

/// Writes the bytes that `safetensors::serialize` gives, without holding them all in memory.
fn write_stored(path: &Path, mut stored: Vec<TensorBytes>) -> Result<()> {
    stored.sort_by(|a, b| b.dtype.cmp(&a.dtype).then_with(|| a.name.cmp(&b.name)));
    let mut infos = Vec::with_capacity(stored.len());
    let mut start = 0;
    for tensor in &stored {
        let end = start + tensor.bytes.len();
        let info = TensorInfo {
            dtype: tensor.dtype,
            shape: tensor.shape.to_vec(),
            data_offsets: (start, end),
        };
        infos.push((tensor.name.clone().into_owned(), info));
        start = end;
    }
    let header = Metadata::new(None, infos).map_err(|e| ModelDirError::damaged(path, e))?;
    let mut header = serde_json::to_vec(&header).expect("a header is plain data");
    header.resize(header.len().next_multiple_of(LENGTH_BYTES as usize), b' ');
    let written = burnformer_files::write_with(path, |file| {
        file.write_all(&(header.len() as u64).to_le_bytes())?;
        file.write_all(&header)?;
        stored
            .iter()
            .try_for_each(|tensor| file.write_all(&tensor.bytes))
    });
    written.map_err(|e| ModelDirError::io(path, e))
}

/// Replaces the file at `path` atomically: readers see either the old content or the new.
pub(super) fn write(path: &Path, bytes: &[u8]) -> Result<()> {
    burnformer_files::write(path, bytes).map_err(|e| ModelDirError::io(path, e))
}
