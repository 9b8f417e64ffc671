//! `model.bin`: a list of named variables (`ctranslate2/specs/model_spec.py`).

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

use crate::error::{InteropError, Result};
use crate::tensors::{NumberType, Tensor, elements};

/// The version of the format that is written. Versions from 4 on do not differ in anything that is read here.
const VERSION: u64 = 6;
/// The oldest version that is read: the first one that names the types of numbers.
const OLDEST: u64 = 4;
/// The name of the kind of model.
const SPEC: &str = "TransformerSpec";
/// The revision of the names of variables: the one that is written, and the oldest that is read.
const REVISIONS: (u64, u64) = (7, 5);
/// The types of numbers, indexed by their number in the file.
const TYPES: [NumberType; 6] = [
    NumberType::Float32,
    NumberType::Int8,
    NumberType::Int16,
    NumberType::Int32,
    NumberType::Float16,
    NumberType::BFloat16,
];
/// How many times the size of the file all taken variables together may have. One variable may have several names.
const MOST_SHARED: usize = 16;

struct Variable {
    shape: Vec<usize>,
    number: NumberType,
    place: Range<usize>,
}

/// The variables of a file.
pub(super) struct Binary<'a> {
    path: &'a Path,
    bytes: &'a [u8],
    variables: BTreeMap<String, Variable>,
    aliases: BTreeMap<String, String>,
    /// How many more numbers may be taken.
    left: usize,
}

struct Cursor<'a> {
    path: &'a Path,
    bytes: &'a [u8],
    place: usize,
}

impl Cursor<'_> {
    fn range(&mut self, len: usize) -> Result<Range<usize>> {
        let end = self.place.checked_add(len).filter(|&end| end <= self.bytes.len());
        let end = end.ok_or_else(|| {
            let message = format!("it ends before byte {} of a variable", self.place);
            InteropError::damaged(self.path, message)
        })?;
        let range = self.place..end;
        self.place = end;
        Ok(range)
    }

    fn number(&mut self, width: usize) -> Result<u64> {
        let range = self.range(width)?;
        let bytes = self.bytes[range].iter().rev();
        Ok(bytes.fold(0, |number, &byte| number << 8 | u64::from(byte)))
    }

    fn text(&mut self) -> Result<String> {
        let len = self.number(2)? as usize;
        let range = self.range(len)?;
        let text = String::from_utf8_lossy(&self.bytes[range]);
        Ok(text.trim_end_matches('\0').to_string())
    }

    fn variable(&mut self) -> Result<(String, Variable)> {
        let name = self.text()?;
        let rank = self.number(1)?;
        let shape = (0..rank).map(|_| Ok(self.number(4)? as usize));
        let shape = shape.collect::<Result<Vec<_>>>()?;
        let kind = self.number(1)? as usize;
        let damaged = |what| InteropError::damaged(self.path, format!("variable {name} {what}"));
        let number = *TYPES.get(kind).ok_or_else(|| damaged("has an unknown type"))?;
        let expected = elements(&shape).and_then(|count| count.checked_mul(number.size()));
        let unfit = damaged("has another size than its shape says");
        let len = self.number(4)? as usize;
        if expected != Some(len) {
            return Err(unfit);
        }
        Ok((name, Variable { shape, number, place: self.range(len)? }))
    }
}

impl<'a> Binary<'a> {
    /// Reads the variables in `bytes`, the content of `path`.
    ///
    /// # Errors
    /// [`InteropError::Damaged`], or [`InteropError::Unsupported`] for other versions and kinds of models.
    pub fn read(path: &'a Path, bytes: &'a [u8]) -> Result<Self> {
        let mut cursor = Cursor { path, bytes, place: 0 };
        let version = cursor.number(4)?;
        let convert = "convert the original model with a newer CTranslate2";
        if !(OLDEST..=VERSION).contains(&version) {
            return Err(InteropError::unsupported(
                path,
                format!("binary version {version}"),
                convert,
            ));
        }
        let spec = cursor.text()?;
        let revision = cursor.number(4)?;
        if spec != SPEC || !(REVISIONS.1..=REVISIONS.0).contains(&revision) {
            let what = format!("model {spec:?} of revision {revision}");
            return Err(InteropError::unsupported(path, what, convert));
        }
        let mut variables = BTreeMap::new();
        for _ in 0..cursor.number(4)? {
            let (name, variable) = cursor.variable()?;
            variables.insert(name, variable);
        }
        let mut aliases = BTreeMap::new();
        for _ in 0..cursor.number(4)? {
            let (alias, name) = (cursor.text()?, cursor.text()?);
            aliases.insert(format!("{alias}_scale"), format!("{name}_scale"));
            aliases.insert(alias, name);
        }
        let left = bytes.len().saturating_mul(MOST_SHARED) / 4;
        Ok(Self { path, bytes, variables, aliases, left })
    }

    fn find(&self, name: &str) -> Option<&Variable> {
        let name = self.aliases.get(name).map_or(name, |name| name);
        self.variables.get(name)
    }

    /// Whether the file has a variable `name`.
    pub fn has(&self, name: &str) -> bool {
        self.find(name).is_some()
    }

    /// The variable `name`, which must be a single number.
    pub fn scalar(&self, name: &str) -> Option<f32> {
        let variable = self.find(name)?;
        let numbers = &self.bytes[variable.place.clone()];
        (numbers.len() == variable.number.size()).then(|| variable.number.read(numbers))
    }

    /// Whether the variable `name`, a boolean, is true.
    pub fn is_flag(&self, name: &str) -> bool {
        self.find(name).is_some_and(|variable| variable.number == NumberType::Int8)
    }

    /// The shape of the variable `name`, which must have `RANK` dimensions.
    pub fn shape<const RANK: usize>(&self, name: &str) -> Result<[usize; RANK]> {
        let variable = self.find(name).ok_or_else(|| self.missing(name))?;
        <[usize; RANK]>::try_from(&variable.shape[..]).map_err(|_| {
            InteropError::damaged(self.path, format!("variable {name} has no {RANK} dimensions"))
        })
    }

    /// The variable `name` of `shape` as float32, divided by its scale if it is quantised.
    pub fn tensor(&mut self, name: &str, shape: &[usize]) -> Result<Tensor> {
        let variable = self.find(name).ok_or_else(|| self.missing(name))?;
        if variable.shape != shape {
            return Err(InteropError::Shape {
                path: self.path.into(),
                name: name.into(),
                found: variable.shape.clone(),
                expected: shape.into(),
            });
        }
        let mut values = variable.number.read_all(&self.bytes[variable.place.clone()]);
        let quantised = matches!(variable.number, NumberType::Int8 | NumberType::Int16);
        let left = self.left.checked_sub(values.len());
        self.left = left
            .ok_or_else(|| InteropError::damaged(self.path, "its variables have too many names"))?;
        if quantised {
            let scales = self.scales(name, shape[0])?;
            let width = values.len() / shape[0].max(1);
            for (row, scale) in values.chunks_mut(width.max(1)).zip(scales) {
                row.iter_mut().for_each(|x| *x /= scale);
            }
        }
        Ok(Tensor::new(shape, values))
    }

    /// The scales of `name`, one per row.
    fn scales(&self, name: &str, rows: usize) -> Result<Vec<f32>> {
        let name = format!("{name}_scale");
        let variable = self.find(&name).ok_or_else(|| self.missing(&name))?;
        let scales = variable.number.read_all(&self.bytes[variable.place.clone()]);
        let positive = scales.iter().all(|&scale| scale.is_finite() && scale > 0.0);
        match scales.len() {
            1 if positive => Ok(vec![scales[0]; rows]),
            len if positive && len == rows => Ok(scales),
            _ => Err(InteropError::damaged(
                self.path,
                format!("variable {name} holds no positive number for each row"),
            )),
        }
    }

    pub fn missing(&self, name: &str) -> InteropError {
        InteropError::MissingTensor { path: self.path.into(), name: name.into() }
    }
}

/// The content of a variable that is written.
pub(super) enum Written {
    Float(Tensor),
    Int8(Tensor),
    ByteScalar(i8),
    ShortScalar(i16),
    FloatScalar(f32),
    /// Another name of a variable that is written.
    Alias(String),
}

/// The content of a file with `variables`.
pub(super) fn write(variables: &BTreeMap<String, Written>) -> Vec<u8> {
    let mut bytes = Vec::new();
    bytes.extend((VERSION as u32).to_le_bytes());
    text(&mut bytes, SPEC);
    bytes.extend((REVISIONS.0 as u32).to_le_bytes());
    let is_alias = |written: &Written| matches!(written, Written::Alias(_));
    let aliases = variables.values().filter(|written| is_alias(written)).count();
    let scales = variables.values().filter(|written| matches!(written, Written::Int8(_))).count();
    bytes.extend(((variables.len() - aliases + scales) as u32).to_le_bytes());
    for (name, written) in variables {
        match written {
            Written::Alias(_) => {}
            Written::Float(tensor) => {
                let values = tensor.values.iter().flat_map(|x| x.to_le_bytes()).collect();
                variable(&mut bytes, name, &tensor.shape, 0, values);
            }
            Written::Int8(tensor) => quantised(&mut bytes, name, tensor),
            Written::ByteScalar(x) => variable(&mut bytes, name, &[], 1, x.to_le_bytes().into()),
            Written::ShortScalar(x) => variable(&mut bytes, name, &[], 2, x.to_le_bytes().into()),
            Written::FloatScalar(x) => variable(&mut bytes, name, &[], 0, x.to_le_bytes().into()),
        }
    }
    bytes.extend((aliases as u32).to_le_bytes());
    for (name, written) in variables {
        if let Written::Alias(other) = written {
            text(&mut bytes, name);
            text(&mut bytes, other);
        }
    }
    bytes
}

/// Quantises each row: multiplies by 127 / its largest magnitude and rounds to the nearest integer, ties to even. The
/// factors follow.
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
