//! Reads and writes `model.bin`: a list of named variables (`ctranslate2/specs/model_spec.py`).

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

use crate::cursor::Cursor;
use crate::error::{InteropError, Result};
use crate::tensors::{NumberType, Tensor, elements};

/// The written version of the format.
pub(super) const VERSION: u64 = 6;
/// The first readable version, of 2020, with types and the current names of variables.
const FIRST_VERSION: u64 = 4;
/// The name of the kind of model.
pub(super) const SPEC: &str = "TransformerSpec";
/// The written revision of variable names.
pub(super) const REVISION: u64 = 7;
/// The first readable revision.
const FIRST_REVISION: u64 = 3;
/// The number types, indexed by their code in the file.
const TYPES: [NumberType; 6] = [
    NumberType::Float32,
    NumberType::Int8,
    NumberType::Int16,
    NumberType::Int32,
    NumberType::Float16,
    NumberType::BFloat16,
];
/// The largest size of all read variables, as a multiple of the size of the file. A variable may
/// have several names.
const MAX_SHARING: usize = 16;

struct Variable {
    shape: Vec<usize>,
    number: NumberType,
    range: Range<usize>,
}

/// The variables of a file.
pub(super) struct Binary<'a> {
    pub path: &'a Path,
    bytes: &'a [u8],
    variables: BTreeMap<String, Variable>,
    aliases: BTreeMap<String, String>,
    version: u64,
    /// The number of values that may still be read.
    remaining: usize,
}

/// The next text, after its length.
fn read_text(cursor: &mut Cursor) -> Result<String> {
    let len = cursor.size(2)?;
    cursor.text(len)
}

/// The version at the start of the file.
fn read_version(cursor: &mut Cursor) -> Result<u64> {
    let convert = "convert the original model with CTranslate2 4";
    let version = cursor.number(4)?;
    if !(FIRST_VERSION..=VERSION).contains(&version) {
        let what = format!("binary version {version}");
        return Err(InteropError::unsupported(cursor.path, what, convert));
    }
    let spec = read_text(cursor)?;
    let revision = cursor.number(4)?;
    if spec == SPEC && (FIRST_REVISION..=REVISION).contains(&revision) {
        return Ok(version);
    }
    let what = format!("model {spec:?} of revision {revision}");
    Err(InteropError::unsupported(cursor.path, what, convert))
}

fn read_variable(cursor: &mut Cursor) -> Result<(String, Variable)> {
    let name = read_text(cursor)?;
    let rank = cursor.number(1)?;
    let shape = (0..rank)
        .map(|_| cursor.size(4))
        .collect::<Result<Vec<_>>>()?;
    let kind = cursor.size(1)?;
    let len = cursor.size(4)?;
    let damaged = |what| InteropError::damaged(cursor.path, format!("variable {name} {what}"));
    let number = *TYPES
        .get(kind)
        .ok_or_else(|| damaged("has an unknown type"))?;
    let expected = elements(&shape).and_then(|count| count.checked_mul(number.size()));
    if expected != Some(len) {
        return Err(damaged("has another size than its shape says"));
    }
    Ok((
        name,
        Variable {
            shape,
            number,
            range: cursor.range(len)?,
        },
    ))
}

impl<'a> Binary<'a> {
    /// Reads the variables in `bytes`, the content of `path`.
    ///
    /// # Errors
    /// Returns [`InteropError::Damaged`] if `bytes` end too early or contradict themselves, and
    /// [`InteropError::Unsupported`] for other versions and kinds of models.
    pub fn read(path: &'a Path, bytes: &'a [u8]) -> Result<Self> {
        let mut cursor = Cursor::new(path, bytes);
        let version = read_version(&mut cursor)?;
        let mut variables = BTreeMap::new();
        for _ in 0..cursor.number(4)? {
            let (name, variable) = read_variable(&mut cursor)?;
            variables.insert(name, variable);
        }
        let mut aliases = BTreeMap::new();
        for _ in 0..cursor.number(4)? {
            let alias = read_text(&mut cursor)?;
            let name = read_text(&mut cursor)?;
            aliases.insert(format!("{alias}_scale"), format!("{name}_scale"));
            aliases.insert(alias, name);
        }
        let remaining = bytes.len().saturating_mul(MAX_SHARING) / 4;
        let mut file = Self {
            path,
            bytes,
            variables,
            aliases,
            version,
            remaining,
        };
        for side in ["encoder", "decoder"] {
            // Before revision 5, settings of both sides were written once.
            for name in ["num_heads", "pre_norm", "activation"] {
                file.add_alias(format!("{side}/{name}"), name.into());
            }
            let scale = format!("{side}/embeddings/multiply_by_sqrt_depth");
            file.add_alias(format!("{side}/scale_embeddings"), scale);
        }
        for name in ["weight", "weight_scale"] {
            let before = format!("encoder/embeddings/{name}");
            file.add_alias(format!("encoder/embeddings_0/{name}"), before);
        }
        Ok(file)
    }

    /// Adds the name `alias` for the variable `name`, if that exists and `alias` is free.
    fn add_alias(&mut self, alias: String, name: String) {
        let name = self.aliases.get(&name).cloned().unwrap_or(name);
        if self.variables.contains_key(&name) && !self.has(&alias) {
            self.aliases.insert(alias, name);
        }
    }

    /// Returns whether variables name the special tokens, instead of `config.json`.
    pub fn has_settings_in_variables(&self) -> bool {
        self.version < 6
    }

    /// The number of variables.
    pub fn len(&self) -> usize {
        self.variables.len()
    }

    fn find(&self, name: &str) -> Option<&Variable> {
        let name = self.aliases.get(name).map_or(name, |name| name);
        self.variables.get(name)
    }

    /// Returns whether the file has a variable `name`.
    pub fn has(&self, name: &str) -> bool {
        self.find(name).is_some()
    }

    /// Returns the variable `name` as a number, or `None` if it is not a single number.
    pub fn scalar(&self, name: &str) -> Option<f32> {
        let variable = self.find(name)?;
        let numbers = &self.bytes[variable.range.clone()];
        (numbers.len() == variable.number.size()).then(|| variable.number.read(numbers))
    }

    /// Returns the content of the variable `name` as text.
    pub fn text(&self, name: &str) -> Option<String> {
        let variable = self.find(name)?;
        let bytes = &self.bytes[variable.range.clone()];
        Some(String::from_utf8_lossy(bytes).into_owned())
    }

    /// Returns whether the variable `name` is not zero, or `default` if it is missing.
    pub fn flag(&self, name: &str, default: bool) -> bool {
        self.scalar(name).map_or(default, |value| value != 0.0)
    }

    /// Returns whether the variable `name` is a boolean.
    pub fn is_flag(&self, name: &str) -> bool {
        self.find(name)
            .is_some_and(|variable| variable.number == NumberType::Int8)
    }

    /// The shape of the variable `name`, which must have `RANK` dimensions.
    ///
    /// # Errors
    /// Returns an error if the variable is missing or has another number of dimensions.
    pub fn shape<const RANK: usize>(&self, name: &str) -> Result<[usize; RANK]> {
        let variable = self.find(name).ok_or_else(|| self.missing(name))?;
        <[usize; RANK]>::try_from(&variable.shape[..]).map_err(|_| {
            InteropError::damaged(
                self.path,
                format!("variable {name} has no {RANK} dimensions"),
            )
        })
    }

    /// Returns the variable `name`, which must have this `shape`, as float32, divided by its scale
    /// if it is quantised.
    ///
    /// # Errors
    /// Returns an error if the variable is missing, or has another shape or an unknown number type.
    pub fn tensor(&mut self, name: &str, shape: &[usize]) -> Result<Tensor> {
        let variable = self.find(name).ok_or_else(|| self.missing(name))?;
        if variable.shape != shape {
            return Err(InteropError::shape(self.path, name, &variable.shape, shape));
        }
        let mut values = variable
            .number
            .read_all(&self.bytes[variable.range.clone()]);
        let quantised = matches!(variable.number, NumberType::Int8 | NumberType::Int16);
        let remaining = self.remaining.checked_sub(values.len());
        self.remaining = remaining
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
        let scales = variable
            .number
            .read_all(&self.bytes[variable.range.clone()]);
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
        InteropError::MissingTensor(self.path.into(), name.into())
    }
}

/// The content of a written variable.
pub(crate) enum Content {
    Float(Tensor),
    Int8(Tensor),
    ByteScalar(i8),
    ShortScalar(i16),
    FloatScalar(f32),
    /// Another name of a written variable.
    Alias(String),
}

/// The content of a file with `variables`.
pub(super) fn write(variables: &BTreeMap<String, Content>) -> Vec<u8> {
    let mut bytes = Vec::new();
    bytes.extend((VERSION as u32).to_le_bytes());
    text(&mut bytes, SPEC);
    bytes.extend((REVISION as u32).to_le_bytes());
    let aliases = variables
        .values()
        .filter(|content| matches!(content, Content::Alias(_)))
        .count();
    let scales = variables
        .values()
        .filter(|content| matches!(content, Content::Int8(_)))
        .count();
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

/// The factor of a quantised row: 127 / its largest magnitude.
fn scale(row: &[f32]) -> f32 {
    let largest = row.iter().fold(0f32, |largest, x| largest.max(x.abs()));
    let largest = if largest == 0.0 {
        127.0
    } else {
        largest.max(127.0 / f32::MAX)
    };
    127.0 / largest
}

/// Quantises each row by its [`scale`], rounding to the nearest integer, ties to even. The factors
/// follow.
fn quantised(bytes: &mut Vec<u8>, name: &str, tensor: &Tensor) {
    let rows = tensor
        .values
        .chunks(tensor.values.len() / tensor.shape[0].max(1));
    let scales: Vec<f32> = rows.clone().map(scale).collect();
    let values = rows
        .zip(&scales)
        .flat_map(|(row, scale)| -> Vec<u8> {
            row.iter()
                .map(|x| (x * scale).round_ties_even() as i8 as u8)
                .collect()
        })
        .collect();
    variable(bytes, name, &tensor.shape, 1, values);
    let scales = scales.iter().flat_map(|x| x.to_le_bytes()).collect();
    variable(
        bytes,
        &format!("{name}_scale"),
        &tensor.shape[..1],
        0,
        scales,
    );
}

fn variable(bytes: &mut Vec<u8>, name: &str, shape: &[usize], kind: u8, values: Vec<u8>) {
    text(bytes, name);
    bytes.push(shape.len() as u8);
    shape
        .iter()
        .for_each(|&size| bytes.extend((size as u32).to_le_bytes()));
    bytes.push(kind);
    bytes.extend((values.len() as u32).to_le_bytes());
    bytes.extend(values);
}

fn text(bytes: &mut Vec<u8>, text: &str) {
    bytes.extend((text.len() as u16 + 1).to_le_bytes());
    bytes.extend(text.as_bytes());
    bytes.push(0);
}
