//! `pytorch_model.bin`: a dictionary of tensors by `torch.save`, as a ZIP archive (since PyTorch
//! 1.6) or a sequence of pickles (before). No code in the file is executed.

mod pickle;

use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;

use crate::cursor::Cursor;
use crate::error::{InteropError, Result};
use crate::tensors::{NumberType, Tensor, Weights, elements};
use crate::zip;
use pickle::{Pickle, Value, View};

/// The largest size of all tensors, as a multiple of the size of the file. Tensors may share
/// storages, such as tied embeddings.
const MAX_SHARING: usize = 8;
/// The first pickle in a file before PyTorch 1.6.
const LEGACY_MAGIC: [u8; 10] = [0x6c, 0xfc, 0x9c, 0x46, 0xf9, 0x20, 0x6a, 0xa8, 0x50, 0x19];

/// Adds the float tensors of the dictionary in `bytes`, the content of `path`, to `weights`.
/// Tensors of other types are left out.
///
/// # Errors
/// Returns [`InteropError::Damaged`] if the file is damaged or is no dictionary, and
/// [`InteropError::Pickle`] if its pickle builds anything but tensors.
pub(crate) fn read(path: &Path, bytes: &[u8], weights: &mut Weights) -> Result<()> {
    let (value, pickle, ranges) = if zip::is_zip(bytes) {
        archive(path, bytes)?
    } else {
        legacy(path, bytes)?
    };
    let Value::Dict(dict) = value else {
        return Err(InteropError::damaged(
            path,
            "it holds no dictionary of tensors",
        ));
    };
    let mut left = bytes.len().saturating_mul(MAX_SHARING) / 4;
    for (key, value) in &pickle.dicts[dict] {
        let (Value::Text(name), Value::Tensor(view)) = (key, value) else {
            continue;
        };
        let view = &pickle.views[*view];
        let storage = &pickle.storages[view.storage];
        let Some(number) = storage.number else {
            weights.leave_out(name.to_string(), storage.kind.to_string());
            continue;
        };
        let damaged =
            |message: &str| InteropError::damaged(path, format!("tensor {name} {message}"));
        let range = ranges[view.storage].clone();
        let range = range.ok_or_else(|| damaged("has no numbers in the file"))?;
        let count = elements(&view.shape).filter(|&count| count <= left);
        let count = count.ok_or_else(|| damaged("is larger than the file"))?;
        left -= count;
        let values = gathered(view, count, number, &bytes[range]);
        let values = values.ok_or_else(|| damaged("reaches beyond its storage"))?;
        weights.add(name.to_string(), Tensor::new(view.shape.clone(), values));
    }
    Ok(())
}

/// The value and the pickle of a file, and the range of each of its storages.
type Parts = (Value, Pickle, Vec<Option<Range<usize>>>);

fn archive(path: &Path, bytes: &[u8]) -> Result<Parts> {
    let entries = zip::entries(bytes).map_err(|message| InteropError::damaged(path, message))?;
    let main = entries
        .keys()
        .find_map(|name| name.strip_suffix("data.pkl"));
    let root = main.ok_or_else(|| InteropError::damaged(path, "the archive holds no data.pkl"))?;
    let range = entries[&format!("{root}data.pkl")].clone();
    let (value, pickle) = pickle::read(&mut Cursor::new(path, &bytes[range]))?;
    let ranges = pickle
        .storages
        .iter()
        .map(|storage| entries.get(&format!("{root}data/{}", storage.key)).cloned())
        .collect();
    Ok((value, pickle, ranges))
}

/// Reads the pickles of a magic number, a version, the machine, the dictionary, and the keys of the
/// storages, then for each key a count and its numbers.
fn legacy(path: &Path, bytes: &[u8]) -> Result<Parts> {
    let mut cursor = Cursor::new(path, bytes);
    if !bytes
        .windows(LEGACY_MAGIC.len())
        .take(16)
        .any(|window| window == LEGACY_MAGIC)
    {
        return Err(InteropError::damaged(
            path,
            "it is not a file of torch.save",
        ));
    }
    for _ in 0..3 {
        pickle::read(&mut cursor)?;
    }
    let (value, pickle) = pickle::read(&mut cursor)?;
    let (keys, built) = pickle::read(&mut cursor)?;
    let Value::List(keys) = keys else {
        return Err(InteropError::damaged(path, "it has no list of storages"));
    };
    let types: HashMap<&str, Option<NumberType>> = pickle
        .storages
        .iter()
        .map(|storage| (&*storage.key, storage.number))
        .collect();
    let mut found = HashMap::new();
    for key in &built.sequences[keys] {
        let Value::Text(key) = key else { continue };
        let number = types.get(&**key).copied().flatten();
        let Some(number) = number else {
            let message =
                "it holds tensors that are not float weights; save the weights with safetensors";
            return Err(InteropError::damaged(path, message));
        };
        let len = cursor.size(8)?.saturating_mul(number.size());
        found.insert(key.clone(), cursor.range(len)?);
    }
    let ranges = pickle
        .storages
        .iter()
        .map(|storage| found.get(&storage.key).cloned())
        .collect();
    Ok((value, pickle, ranges))
}

/// The `count` numbers of `view` in `storage`, row by row; `None` if it reaches beyond the end.
fn gathered(view: &View, count: usize, number: NumberType, storage: &[u8]) -> Option<Vec<f32>> {
    let size = number.size();
    if count == 0 {
        return Some(Vec::new());
    }
    let farthest = view
        .shape
        .iter()
        .zip(&view.strides)
        .try_fold(view.offset, |last, (&n, &s)| {
            last.checked_add((n - 1).checked_mul(s)?)
        })?;
    if farthest >= storage.len() / size {
        return None;
    }
    let mut index = vec![0; view.shape.len()];
    let mut values = Vec::with_capacity(count);
    for _ in 0..count {
        let offset: usize = index.iter().zip(&view.strides).map(|(&i, &s)| i * s).sum();
        let start = (view.offset + offset) * size;
        values.push(number.read(&storage[start..start + size]));
        for (i, &size) in index.iter_mut().zip(&view.shape).rev() {
            *i += 1;
            if *i < size {
                break;
            }
            *i = 0;
        }
    }
    Some(values)
}
