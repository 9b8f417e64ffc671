//! Marian's binary models (`src/common/binary.cpp`), in float32, or in int8 or int16 for intgemm.

use std::ops::Range;
use std::path::Path;

use super::Items;
use crate::error::{InteropError, Result};
use crate::tensors::{NumberType, Tensor, elements};

const VERSION: u64 = 1;
/// The bits of a type that mark floats; the rest is the size of a number (`src/common/types.h`).
const FLOAT: u64 = 0x400;
/// The types of intgemm's numbers in a layout that does not depend on the processor, in Marian and in Bergamot's fork.
const INTGEMM: [u64; 2] = [0x10000, 0x4100];

/// Whether `bytes` begin with the header of such a file.
pub(super) fn is_bin(bytes: &[u8]) -> bool {
    bytes.starts_with(&VERSION.to_le_bytes())
}

struct Header {
    name: usize,
    kind: u64,
    rank: usize,
    len: usize,
}

struct Cursor<'a> {
    path: &'a Path,
    bytes: &'a [u8],
    place: usize,
}

impl<'a> Cursor<'a> {
    fn range(&mut self, len: usize) -> Result<Range<usize>> {
        let end = self.place.checked_add(len).filter(|&end| end <= self.bytes.len());
        let cut = || InteropError::damaged(self.path, "it ends in the middle of its tensors");
        let range = self.place..end.ok_or_else(cut)?;
        self.place = range.end;
        Ok(range)
    }

    fn bytes(&mut self, len: usize) -> Result<&'a [u8]> {
        Ok(&self.bytes[self.range(len)?])
    }

    fn number(&mut self) -> Result<u64> {
        let bytes = self.bytes(8)?;
        Ok(bytes.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte)))
    }

    fn size(&mut self) -> Result<usize> {
        // What does not fit is beyond every file.
        Ok(usize::try_from(self.number()?).unwrap_or(usize::MAX))
    }

    fn header(&mut self) -> Result<Header> {
        let (name, kind) = (self.size()?, self.number()?);
        Ok(Header { name, kind, rank: self.size()?, len: self.size()? })
    }
}

/// Reads the tensors and texts in `bytes`, the content of `path`.
pub(super) fn read(path: &Path, bytes: &[u8]) -> Result<Items> {
    let mut cursor = Cursor { path, bytes, place: 0 };
    let version = cursor.number()?;
    if version != VERSION {
        let remedy = "decrypt it, or convert it with the marian-conv of this day";
        return Err(InteropError::unsupported(path, format!("binary version {version}"), remedy));
    }
    let count = cursor.number()?;
    // Not reserved: the count is the file's word.
    let headers = (0..count).map(|_| cursor.header()).collect::<Result<Vec<_>>>()?;
    let name = |header: &Header| {
        let text = cursor.bytes(header.name)?;
        Ok(String::from_utf8_lossy(text).trim_end_matches('\0').to_string())
    };
    let names = headers.iter().map(name).collect::<Result<Vec<String>>>()?;
    let shape = |header: &Header| -> Result<Vec<usize>> {
        let sizes = cursor.bytes(header.rank.saturating_mul(4))?.chunks_exact(4);
        let sizes = sizes.map(|b| i32::from_le_bytes([b[0], b[1], b[2], b[3]]));
        // A negative size is none of any tensor.
        Ok(sizes.map(|size| usize::try_from(size).unwrap_or(usize::MAX)).collect())
    };
    let shapes = headers.iter().map(shape).collect::<Result<Vec<_>>>()?;
    let offset = cursor.size()?;
    cursor.range(offset)?;
    let mut items = Items::default();
    for ((header, name), shape) in headers.iter().zip(names).zip(shapes) {
        let data = cursor.bytes(header.len)?;
        if name.starts_with("special:") {
            let text = String::from_utf8_lossy(data).trim_end_matches('\0').to_string();
            items.texts.insert(name, text);
        } else if !name.ends_with("_QuantMultA") {
            let tensor = tensor(path, &name, header.kind, shape, data)?;
            items.tensors.insert(name, tensor);
        }
    }
    Ok(items)
}

fn tensor(path: &Path, name: &str, kind: u64, shape: Vec<usize>, data: &[u8]) -> Result<Tensor> {
    let number = match kind {
        kind if kind == FLOAT + 4 => NumberType::Float32,
        kind if kind == FLOAT + 2 => NumberType::Float16,
        kind if kind == INTGEMM[0] + 1 || kind == INTGEMM[1] + 1 => NumberType::Int8,
        kind if kind == INTGEMM[0] + 2 || kind == INTGEMM[1] + 2 => NumberType::Int16,
        kind => {
            let what = format!("tensor {name} of type {kind:#x}");
            let remedy = "types laid out for one processor cannot be read: convert the model's .npz, or its .bin without packing";
            return Err(InteropError::unsupported(path, what, remedy));
        }
    };
    let len = elements(&shape).and_then(|count| count.checked_mul(number.size()));
    let len = len.filter(|&len| len <= data.len());
    let misfit = || {
        InteropError::damaged(
            path,
            format!("tensor {name} is shorter than its shape {shape:?} says"),
        )
    };
    let len = len.ok_or_else(misfit)?;
    let values = number.read_all(&data[..len]);
    match number {
        NumberType::Int8 | NumberType::Int16 => quantised(path, name, shape, values, &data[len..]),
        _ => Ok(Tensor::new(shape, values)),
    }
}

/// A matrix of integers, each of which is its number times the factor that follows them. All matrices but embeddings
/// are transposed.
fn quantised(
    path: &Path,
    name: &str,
    shape: Vec<usize>,
    mut values: Vec<f32>,
    rest: &[u8],
) -> Result<Tensor> {
    let factor = rest.get(..4).map(|bytes| NumberType::Float32.read(bytes));
    let factor = factor.filter(|factor| factor.is_finite() && *factor > 0.0).ok_or_else(|| {
        InteropError::damaged(path, format!("tensor {name} has no factor of its integers"))
    })?;
    values.iter_mut().for_each(|x| *x /= factor);
    match shape[..] {
        [rows, columns] if !name.contains("Wemb") => {
            Ok(Tensor::new([columns, rows], values).transposed())
        }
        _ => Ok(Tensor::new(shape, values)),
    }
}
