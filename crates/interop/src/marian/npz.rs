//! Marian's `.npz`: a ZIP archive of NumPy arrays.

use std::path::Path;

use super::bin::Items;
use crate::cursor::{number, text};
use crate::error::{InteropError, Result};
use crate::tensors::{NumberType, Tensor, elements};
use crate::zip;

/// The tensors and texts in `bytes`, the content of `path`.
pub(super) fn read(path: &Path, bytes: &[u8]) -> Result<Items> {
    let mut items = Items::default();
    for (file, range) in
        zip::entries(bytes).map_err(|message| InteropError::damaged(path, message))?
    {
        let name = file.strip_suffix(".npy").unwrap_or(&file).to_string();
        let array = array(&bytes[range]);
        let array = array.ok_or_else(|| {
            InteropError::damaged(path, format!("array {name} is not a plain NumPy array"))
        })?;
        match array {
            Array::Text(text) => drop(items.texts.insert(name, text)),
            Array::Float(tensor) => drop(items.tensors.insert(name, tensor)),
        }
    }
    Ok(items)
}

enum Array {
    Float(Tensor),
    Text(String),
}

/// The value of `key` in a NumPy header.
fn value<'a>(header: &'a str, key: &str) -> Option<&'a str> {
    let after = header.split_once(&format!("'{key}':"))?.1.trim_start();
    let end = if after.starts_with('(') {
        after.find(')')?
    } else {
        after.find(',')?
    };
    Some(after[..end].trim_matches(['(', '\'', ' ']))
}

/// An array of float32, float16 or bytes; `None` for other types. Three values of the header, a
/// Python dictionary, are relevant.
fn array(bytes: &[u8]) -> Option<Array> {
    let rest = bytes.strip_prefix(b"\x93NUMPY")?;
    let (&major, rest) = rest.split_first()?;
    let width = if major == 1 { 2 } else { 4 };
    let len = number(rest.get(1..1 + width)?) as usize;
    let header = std::str::from_utf8(rest.get(1 + width..(1 + width).checked_add(len)?)?).ok()?;
    let data = &rest[1 + width + len..];
    if value(header, "fortran_order")? != "False" {
        return None;
    }
    let shape = value(header, "shape")?;
    let sizes = shape
        .split(',')
        .map(str::trim)
        .filter(|size| !size.is_empty());
    let shape = sizes
        .map(|size| size.trim_end_matches('L').parse().ok())
        .collect::<Option<Vec<usize>>>()?;
    let number = match value(header, "descr")? {
        "<f4" => NumberType::Float32,
        "<f2" => NumberType::Float16,
        "|i1" | "|u1" | "<i1" | "|S1" => {
            return Some(Array::Text(text(data)));
        }
        _ => return None,
    };
    let len = elements(&shape)?.checked_mul(number.size())?;
    Some(Array::Float(Tensor::new(
        shape,
        number.read_all(data.get(..len)?),
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn npy(header: &str, data: &[u8]) -> Vec<u8> {
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend((header.len() as u16).to_le_bytes());
        bytes.extend(header.as_bytes());
        bytes.extend(data);
        bytes
    }

    #[test]
    fn arrays_of_floats_and_of_bytes_are_read() {
        let data: Vec<u8> = [1f32, 2.0, 3.0]
            .iter()
            .flat_map(|x| x.to_le_bytes())
            .collect();
        let bytes = npy(
            "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 3), }",
            &data,
        );
        let Some(Array::Float(tensor)) = array(&bytes) else {
            panic!("no floats")
        };
        assert_eq!(tensor, Tensor::new([1, 3], vec![1.0, 2.0, 3.0]));
        let bytes = npy(
            "{'descr': '|i1', 'fortran_order': False, 'shape': (4,), }",
            b"a: 1\0",
        );
        let Some(Array::Text(text)) = array(&bytes) else {
            panic!("no text")
        };
        assert_eq!(text, "a: 1");
    }

    #[test]
    fn other_orders_types_and_lengths_are_refused() {
        for header in [
            "{'descr': '<f4', 'fortran_order': True, 'shape': (1,), }",
            "{'descr': '>f4', 'fortran_order': False, 'shape': (1,), }",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }",
            "{'descr': '<f4', 'fortran_order': False, 'shape': (9999999999, 9999999999, 9999999999), }",
            "{'descr': '|O', 'fortran_order': False, 'shape': (1,), }",
            "",
        ] {
            assert!(array(&npy(header, &[0; 4])).is_none(), "{header}");
        }
    }
}
