//! NumPy's `.npz` in the form that Marian writes: a ZIP archive of arrays in NumPy's own format.

use std::path::Path;

use super::items::Items;
use crate::cursor::{number, text};
use crate::error::{InteropError, Result};
use crate::tensors::{NumberType, Tensor, Tensors, elements};
use crate::zip;

/// The tensors and texts in `bytes`, the content of `path`.
pub(super) fn read(path: &Path, bytes: &[u8]) -> Result<Items> {
    let damaged = |message: String| InteropError::damaged(path, message);
    let mut items = Items::default();
    for (file, place) in zip::entries(bytes).map_err(damaged)? {
        let name = file.strip_suffix(".npy").unwrap_or(&file).to_string();
        let array = array(&bytes[place]);
        let array =
            array.ok_or_else(|| damaged(format!("array {name} is not a plain NumPy array")))?;
        match array {
            Array::Text(text) => drop(items.texts.insert(name, text)),
            Array::Float(tensor) => drop(items.tensors.insert(name, tensor)),
        }
    }
    Ok(items)
}

/// An archive of `tensors`, and of `text` under the name `text_name`, as Marian writes it.
pub(super) fn write(tensors: &Tensors, text_name: &str, text: &str) -> Vec<u8> {
    let mut files: Vec<(String, Vec<u8>)> = Vec::new();
    for (name, tensor) in tensors {
        let sizes: Vec<String> = tensor.shape.iter().map(ToString::to_string).collect();
        let data = tensor.values.iter().flat_map(|value| value.to_le_bytes()).collect();
        files.push((format!("{name}.npy"), npy("<f4", &sizes.join(", "), data)));
    }
    let text = [text.as_bytes(), b"\0"].concat();
    files.push((format!("{text_name}.npy"), npy("|i1", &format!("{},", text.len()), text)));
    zip::write(&files)
}

/// An array in NumPy's own format, version 1.0, whose data begin at a multiple of 64 bytes.
fn npy(kind: &str, sizes: &str, data: Vec<u8>) -> Vec<u8> {
    const BEFORE: usize = 10;
    let header = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': ({sizes}), }}");
    let len = (BEFORE + header.len() + 1).next_multiple_of(64) - BEFORE;
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend((len as u16).to_le_bytes());
    bytes.extend(format!("{header:<0$}\n", len - 1).into_bytes());
    bytes.extend(data);
    bytes
}

enum Array {
    Float(Tensor),
    Text(String),
}

/// An array of float32, float16 or bytes; `None` for other types. The header is a Python dictionary, of which three
/// values are used.
fn array(bytes: &[u8]) -> Option<Array> {
    let rest = bytes.strip_prefix(b"\x93NUMPY")?;
    let (&major, rest) = rest.split_first()?;
    let width = if major == 1 { 2 } else { 4 };
    let len = number(rest.get(1..1 + width)?) as usize;
    let header = std::str::from_utf8(rest.get(1 + width..(1 + width).checked_add(len)?)?).ok()?;
    let data = &rest[1 + width + len..];
    let value = |key: &str| {
        let after = header.split_once(&format!("'{key}':"))?.1.trim_start();
        let end = if after.starts_with('(') { after.find(')')? } else { after.find(',')? };
        Some(after[..end].trim_matches(['(', '\'', ' ']).to_string())
    };
    if value("fortran_order")? != "False" {
        return None;
    }
    let shape = value("shape")?;
    let sizes = shape.split(',').map(str::trim).filter(|size| !size.is_empty());
    let shape = sizes
        .map(|size| size.trim_end_matches('L').parse().ok())
        .collect::<Option<Vec<usize>>>()?;
    let number = match &value("descr")?[..] {
        "<f4" => NumberType::Float32,
        "<f2" => NumberType::Float16,
        "|i1" | "|u1" | "<i1" | "|S1" => {
            return Some(Array::Text(text(data)));
        }
        _ => return None,
    };
    let len = elements(&shape)?.checked_mul(number.size())?;
    Some(Array::Float(Tensor::new(shape, number.read_all(data.get(..len)?))))
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
        let data: Vec<u8> = [1f32, 2.0, 3.0].iter().flat_map(|x| x.to_le_bytes()).collect();
        let bytes = npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1, 3), }", &data);
        let Some(Array::Float(tensor)) = array(&bytes) else { panic!("no floats") };
        assert_eq!(tensor, Tensor::new([1, 3], vec![1.0, 2.0, 3.0]));
        let bytes = npy("{'descr': '|i1', 'fortran_order': False, 'shape': (4,), }", b"a: 1\0");
        let Some(Array::Text(text)) = array(&bytes) else { panic!("no text") };
        assert_eq!(text, "a: 1");
    }

    #[test]
    fn what_is_written_is_read_again() {
        let mut tensors = Tensors::new();
        tensors.insert("a".into(), Tensor::new([2, 3], vec![1.0, -0.0, 2.5, f32::MIN, 3e-40, 7.0]));
        tensors.insert("b".into(), Tensor::new([1, 1], vec![4.0]));
        let items =
            read(Path::new("x.npz"), &write(&tensors, "special:model.yml", "a: 1\n")).unwrap();
        assert_eq!(items.tensors, tensors);
        assert_eq!(items.texts["special:model.yml"], "a: 1\n");
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
