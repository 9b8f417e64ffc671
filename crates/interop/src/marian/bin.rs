//! Marian's binary models (`src/common/binary.cpp`), in float32, or in int8 or int16 for intgemm.

use std::collections::BTreeMap;
use std::path::Path;

use crate::cursor::{Cursor, text};
use crate::error::{InteropError, Result};
use crate::tensors::{NumberType, Tensor, Tensors, elements};

/// The name of the options in a model file.
pub(super) const OPTIONS: &str = "special:model.yml";

/// The content of a file.
#[derive(Default)]
pub(super) struct Items {
    pub tensors: Tensors,
    /// The options as text. Their names begin with `special:`.
    pub texts: BTreeMap<String, String>,
}

const VERSION: u64 = 1;
/// The type bits of floats; the rest is the size of a number (`src/common/types.h`).
const FLOAT: u64 = 0x400;
/// The types of intgemm's processor-independent layout, in Marian and in Bergamot's fork.
const INTGEMM: [u64; 2] = [0x10000, 0x4100];

/// Returns whether `bytes` begin with the header of such a file.
pub(super) fn is_bin(bytes: &[u8]) -> bool {
    bytes.starts_with(&VERSION.to_le_bytes())
}

struct Header {
    name: usize,
    kind: u64,
    rank: usize,
    len: usize,
}

fn header(cursor: &mut Cursor) -> Result<Header> {
    let name = cursor.size(8)?;
    let kind = cursor.number(8)?;
    Ok(Header {
        name,
        kind,
        rank: cursor.size(8)?,
        len: cursor.size(8)?,
    })
}

/// Reads the tensors and texts in `bytes`, the content of `path`.
pub(super) fn read(path: &Path, bytes: &[u8]) -> Result<Items> {
    let mut cursor = Cursor::new(path, bytes);
    let version = cursor.number(8)?;
    if version != VERSION {
        let remedy = "decrypt it, or convert it with the marian-conv of this day";
        return Err(InteropError::unsupported(
            path,
            format!("binary version {version}"),
            remedy,
        ));
    }
    let count = cursor.number(8)?;
    // No reservation, because the count is not trusted.
    let headers = (0..count)
        .map(|_| header(&mut cursor))
        .collect::<Result<Vec<_>>>()?;
    let names = headers.iter().map(|header| cursor.text(header.name));
    let names = names.collect::<Result<Vec<String>>>()?;
    let mut shapes = Vec::new();
    for header in &headers {
        let sizes = cursor.bytes(header.rank.saturating_mul(4))?.chunks_exact(4);
        let sizes = sizes.map(|b| i32::from_le_bytes([b[0], b[1], b[2], b[3]]));
        // A negative size becomes too large for any file.
        let shape: Vec<usize> = sizes
            .map(|size| usize::try_from(size).unwrap_or(usize::MAX))
            .collect();
        shapes.push(shape);
    }
    let offset = cursor.size(8)?;
    cursor.range(offset)?;
    let mut items = Items::default();
    for ((header, name), shape) in headers.iter().zip(names).zip(shapes) {
        let data = cursor.bytes(header.len)?;
        if name.starts_with("special:") {
            items.texts.insert(name, text(data));
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
    let len = len.ok_or_else(|| {
        InteropError::damaged(
            path,
            format!("tensor {name} is shorter than its shape {shape:?} says"),
        )
    })?;
    let values = number.read_all(&data[..len]);
    match number {
        NumberType::Int8 | NumberType::Int16 => quantised(path, name, shape, values, &data[len..]),
        _ => Ok(Tensor::new(shape, values)),
    }
}

/// A matrix of integers with a common factor after them. All
/// matrices but embeddings are transposed.
fn quantised(
    path: &Path,
    name: &str,
    shape: Vec<usize>,
    mut values: Vec<f32>,
    rest: &[u8],
) -> Result<Tensor> {
    let factor = rest.get(..4).map(|bytes| NumberType::Float32.read(bytes));
    let factor = factor
        .filter(|factor| factor.is_finite() && *factor > 0.0)
        .ok_or_else(|| {
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
