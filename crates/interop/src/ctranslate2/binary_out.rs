//! A writer of `model.bin`.

use std::collections::BTreeMap;

use super::binary::{REVISION, SPEC, VERSION};
use crate::tensors::Tensor;

/// The content of a variable that is written.
pub(crate) enum Content {
    Float(Tensor),
    Int8(Tensor),
    ByteScalar(i8),
    ShortScalar(i16),
    FloatScalar(f32),
    /// Another name of a variable that is written.
    Alias(String),
}

/// The content of a file with `variables`.
pub(super) fn write(variables: &BTreeMap<String, Content>) -> Vec<u8> {
    let mut bytes = Vec::new();
    bytes.extend((VERSION as u32).to_le_bytes());
    text(&mut bytes, SPEC);
    bytes.extend((REVISION as u32).to_le_bytes());
    let is_alias = |content: &Content| matches!(content, Content::Alias(_));
    let aliases = variables.values().filter(|written| is_alias(written)).count();
    let scales = variables.values().filter(|content| matches!(content, Content::Int8(_))).count();
    bytes.extend(((variables.len() - aliases + scales) as u32).to_le_bytes());
    for (name, written) in variables {
        match written {
            Content::Alias(_) => {}
            Content::Float(tensor) => {
                let values = tensor.values.iter().flat_map(|x| x.to_le_bytes()).collect();
                variable(&mut bytes, name, &tensor.shape, 0, values);
            }
            Content::Int8(tensor) => quantised(&mut bytes, name, tensor),
            Content::ByteScalar(x) => variable(&mut bytes, name, &[], 1, x.to_le_bytes().into()),
            Content::ShortScalar(x) => variable(&mut bytes, name, &[], 2, x.to_le_bytes().into()),
            Content::FloatScalar(x) => variable(&mut bytes, name, &[], 0, x.to_le_bytes().into()),
        }
    }
    bytes.extend((aliases as u32).to_le_bytes());
    for (name, written) in variables {
        if let Content::Alias(other) = written {
            text(&mut bytes, name);
            text(&mut bytes, other);
        }
    }
    bytes
}

/// Quantises each row: multiplies by 127 / its largest magnitude and rounds to the nearest integer,
/// ties to even. The factors follow.
fn quantised(bytes: &mut Vec<u8>, name: &str, tensor: &Tensor) {
    let rows = tensor.values.chunks(tensor.values.len() / tensor.shape[0].max(1));
    let scale = |row: &[f32]| {
        let largest = row.iter().fold(0f32, |largest, x| largest.max(x.abs()));
        let largest = if largest == 0.0 { 127.0 } else { largest.max(127.0 / f32::MAX) };
        127.0 / largest
    };
    let scales: Vec<f32> = rows.clone().map(scale).collect();
    let round = |(row, scale): (&[f32], &f32)| -> Vec<u8> {
        row.iter().map(|x| (x * scale).round_ties_even() as i8 as u8).collect()
    };
    let values = rows.zip(&scales).flat_map(round).collect();
    variable(bytes, name, &tensor.shape, 1, values);
    let scales = scales.iter().flat_map(|x| x.to_le_bytes()).collect();
    variable(bytes, &format!("{name}_scale"), &tensor.shape[..1], 0, scales);
}

fn variable(bytes: &mut Vec<u8>, name: &str, shape: &[usize], kind: u8, values: Vec<u8>) {
    text(bytes, name);
    bytes.push(shape.len() as u8);
    shape.iter().for_each(|&size| bytes.extend((size as u32).to_le_bytes()));
    bytes.push(kind);
    bytes.extend((values.len() as u32).to_le_bytes());
    bytes.extend(values);
}

fn text(bytes: &mut Vec<u8>, text: &str) {
    bytes.extend((text.len() as u16 + 1).to_le_bytes());
    bytes.extend(text.as_bytes());
    bytes.push(0);
}
