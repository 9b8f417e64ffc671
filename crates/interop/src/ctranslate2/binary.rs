//! `model.bin`: a list of named variables (`ctranslate2/specs/model_spec.py`).

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

use crate::cursor::Cursor;
use crate::error::{InteropError, Result};
use crate::tensors::{NumberType, Tensor, elements};

/// The version of the format that is written.
pub(super) const VERSION: u64 = 6;
/// The first version that is read, of 2020: variables have types and other names since.
const FIRST_VERSION: u64 = 4;
/// The name of the kind of model.
pub(super) const SPEC: &str = "TransformerSpec";
/// The revision of the names of variables that is written.
pub(super) const REVISION: u64 = 7;
/// The first revision that is read.
const FIRST_REVISION: u64 = 3;
/// The types of numbers, indexed by their number in the file.
const TYPES: [NumberType; 6] = [
    NumberType::Float32,
    NumberType::Int8,
    NumberType::Int16,
    NumberType::Int32,
    NumberType::Float16,
    NumberType::BFloat16,
];
/// The most bytes of all variables that are read, as a multiple of the size of the file. One
/// variable may have several names.
const MOST_SHARED: usize = 16;

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

/// A reader of the parts of the file.
struct Parts<'a>(Cursor<'a>);

impl Parts<'_> {
    fn text(&mut self) -> Result<String> {
        let len = self.0.size(2)?;
        self.0.text(len)
    }

    /// The version that the file begins with.
    fn version(&mut self) -> Result<u64> {
        let convert = "convert the original model with CTranslate2 4";
        let version = self.0.number(4)?;
        if !(FIRST_VERSION..=VERSION).contains(&version) {
            let what = format!("binary version {version}");
            return Err(InteropError::unsupported(self.0.path, what, convert));
        }
        let (spec, revision) = (self.text()?, self.0.number(4)?);
        if spec == SPEC && (FIRST_REVISION..=REVISION).contains(&revision) {
            return Ok(version);
        }
        let what = format!("model {spec:?} of revision {revision}");
        Err(InteropError::unsupported(self.0.path, what, convert))
    }

    fn variable(&mut self) -> Result<(String, Variable)> {
        let name = self.text()?;
        let rank = self.0.number(1)?;
        let shape = (0..rank).map(|_| self.0.size(4));
        let shape = shape.collect::<Result<Vec<_>>>()?;
        let (kind, len) = (self.0.size(1)?, self.0.size(4)?);
        let damaged = |what| InteropError::damaged(self.0.path, format!("variable {name} {what}"));
        let number = *TYPES.get(kind).ok_or_else(|| damaged("has an unknown type"))?;
        let expected = elements(&shape).and_then(|count| count.checked_mul(number.size()));
        if expected != Some(len) {
            return Err(damaged("has another size than its shape says"));
        }
        Ok((name, Variable { shape, number, range: self.0.range(len)? }))
    }
}

impl<'a> Binary<'a> {
    /// Reads the variables in `bytes`, the content of `path`.
    ///
    /// # Errors
    /// [`InteropError::Damaged`], or [`InteropError::Unsupported`] for other versions and kinds of
    /// models.
    pub fn read(path: &'a Path, bytes: &'a [u8]) -> Result<Self> {
        let mut parts = Parts(Cursor::new(path, bytes));
        let version = parts.version()?;
        let mut variables = BTreeMap::new();
        for _ in 0..parts.0.number(4)? {
            let (name, variable) = parts.variable()?;
            variables.insert(name, variable);
        }
        let mut aliases = BTreeMap::new();
        for _ in 0..parts.0.number(4)? {
            let (alias, name) = (parts.text()?, parts.text()?);
            aliases.insert(format!("{alias}_scale"), format!("{name}_scale"));
            aliases.insert(alias, name);
        }
        let remaining = bytes.len().saturating_mul(MOST_SHARED) / 4;
        let mut file = Self { path, bytes, variables, aliases, version, remaining };
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

    /// Lets the variable `name` be found as `alias` too, if there is one and no other of that name.
    fn add_alias(&mut self, alias: String, name: String) {
        let name = self.aliases.get(&name).cloned().unwrap_or(name);
        if self.variables.contains_key(&name) && !self.has(&alias) {
            self.aliases.insert(alias, name);
        }
    }

    /// Returns whether the special tokens are named by variables instead of `config.json`.
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

    /// The variable `name`, which must be a single number.
    pub fn scalar(&self, name: &str) -> Option<f32> {
        let variable = self.find(name)?;
        let numbers = &self.bytes[variable.range.clone()];
        (numbers.len() == variable.number.size()).then(|| variable.number.read(numbers))
    }

    /// The variable `name`, which must be a text.
    pub fn text(&self, name: &str) -> Option<String> {
        let variable = self.find(name)?;
        let bytes = &self.bytes[variable.range.clone()];
        Some(String::from_utf8_lossy(bytes).into_owned())
    }

    /// Returns whether the variable `name` is a boolean.
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
        let mut values = variable.number.read_all(&self.bytes[variable.range.clone()]);
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
        let scales = variable.number.read_all(&self.bytes[variable.range.clone()]);
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
