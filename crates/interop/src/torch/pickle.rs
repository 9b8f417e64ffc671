//! Reads the subset of Python's pickle format in PyTorch's weights, without executing anything.
//!
//! A pickle is a program for a stack machine that may call any function. This reader knows the
//! operations for numbers, texts, tuples, lists and dictionaries, and the five names that rebuild
//! tensors. Everything else is an error. Values are stored in lists that only grow, so that no file
//! can create cycles or deeply nested values.

use std::collections::HashMap;
use std::rc::Rc;

use crate::cursor::Cursor;
use crate::error::{InteropError, Result};
use crate::tensors::NumberType;

/// A value on the stack. A value with parts is an index into the lists of [`Pickle`].
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    /// An irrelevant value: none, a truth value, a float, an integer beyond 64 bits.
    Other,
    Int(i64),
    Text(Rc<str>),
    Tuple(usize),
    List(usize),
    Dict(usize),
    Global(Global),
    Storage(usize),
    Tensor(usize),
}

/// The allowed names.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Global {
    OrderedDict,
    RebuildTensor,
    RebuildParameter,
    /// A class of storages, by name.
    Storage(Rc<str>),
}

/// A storage, which holds the numbers of tensors.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct StorageRef {
    pub key: Rc<str>,
    /// The name of the class, such as `FloatStorage`.
    pub kind: Rc<str>,
    /// The type of the numbers; `None` for types other than weights.
    pub number: Option<NumberType>,
}

/// A tensor as a view of a storage.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct View {
    pub storage: usize,
    pub offset: usize,
    pub shape: Vec<usize>,
    pub strides: Vec<usize>,
}

/// The objects of a pickle.
#[derive(Default)]
pub(super) struct Pickle {
    pub sequences: Vec<Vec<Value>>,
    pub dicts: Vec<Vec<(Value, Value)>>,
    pub storages: Vec<StorageRef>,
    pub views: Vec<View>,
}

struct Machine<'c, 'a> {
    cursor: &'c mut Cursor<'a>,
    stack: Vec<Value>,
    marks: Vec<usize>,
    memo: HashMap<u32, Value>,
    built: Pickle,
}

/// Reads the pickle at `cursor`. Returns its value and all of its objects.
///
/// # Errors
/// Returns [`InteropError::Damaged`] if the pickle is damaged, and [`InteropError::Pickle`] if it
/// needs a function or an object that weights do not need.
pub(super) fn read(cursor: &mut Cursor) -> Result<(Value, Pickle)> {
    let (built, stack, marks, memo) = Default::default();
    let mut machine = Machine {
        cursor,
        stack,
        marks,
        memo,
        built,
    };
    loop {
        match machine.byte()? {
            b'.' => return Ok((machine.pop()?, machine.built)),
            operation => machine.step(operation)?,
        }
    }
}

impl Machine<'_, '_> {
    fn step(&mut self, operation: u8) -> Result<()> {
        match operation {
            // PROTO, FRAME.
            0x80 => self.cursor.range(1).map(drop),
            0x95 => self.cursor.range(8).map(drop),
            b'(' => {
                self.marks.push(self.stack.len());
                Ok(())
            }
            b'N' | 0x88 | 0x89 => self.push(Value::Other),
            b'K' | b'M' | b'J' | b'G' | 0x8a => self.number(operation),
            b'X' | 0x8c | b'U' | b'T' => self.text(operation),
            b'}' | b']' | b')' | b't' | 0x85..=0x87 | b'l' | b'd' => self.container(operation),
            b's' | b'u' | b'a' | b'e' => self.fill(operation),
            b'q' | b'r' | 0x94 | b'h' | b'j' => self.remember(operation),
            b'c' | 0x93 => self.global(operation),
            b'Q' => self.persistent(),
            b'R' => self.reduce(),
            // BUILD (attributes of an ordered dictionary: versions of modules), POP.
            b'b' | b'0' => self.pop().map(drop),
            other => Err(self.forbidden(format!("operation 0x{other:02x}"))),
        }
    }

    fn damaged(&self, message: &str) -> InteropError {
        InteropError::damaged(self.cursor.path, message)
    }

    fn forbidden(&self, what: String) -> InteropError {
        InteropError::Pickle(self.cursor.path.into(), what)
    }

    fn byte(&mut self) -> Result<u8> {
        Ok(self.cursor.bytes(1)?[0])
    }

    fn push(&mut self, value: Value) -> Result<()> {
        self.stack.push(value);
        Ok(())
    }

    fn pop(&mut self) -> Result<Value> {
        let bottom = self.marks.last().copied().unwrap_or(0);
        let value = if self.stack.len() > bottom {
            self.stack.pop()
        } else {
            None
        };
        value.ok_or_else(|| self.damaged("the pickle takes from an empty stack"))
    }

    /// Takes everything above the last mark from the stack.
    fn pop_marked(&mut self) -> Result<Vec<Value>> {
        let mark = self
            .marks
            .pop()
            .ok_or_else(|| self.damaged("the pickle has no mark"))?;
        Ok(self.stack.split_off(mark))
    }

    fn number(&mut self, operation: u8) -> Result<()> {
        let value = match operation {
            b'K' => Value::Int(self.cursor.number(1)? as i64),
            b'M' => Value::Int(self.cursor.number(2)? as i64),
            b'J' => Value::Int(i64::from(self.cursor.number(4)? as u32 as i32)),
            b'G' => self.cursor.range(8).map(|_| Value::Other)?,
            _ => match self.byte()? {
                0 => Value::Int(0),
                count @ 1..=8 => {
                    let unused = 64 - 8 * u32::from(count);
                    Value::Int((self.cursor.number(count.into())? << unused) as i64 >> unused)
                }
                count => self.cursor.range(count.into()).map(|_| Value::Other)?,
            },
        };
        self.push(value)
    }

    fn text(&mut self, operation: u8) -> Result<()> {
        let width = if matches!(operation, 0x8c | b'U') {
            1
        } else {
            4
        };
        let len = self.cursor.number(width)? as usize;
        let text = std::str::from_utf8(self.cursor.bytes(len)?).map(Rc::from);
        let text = text.map_err(|_| self.damaged("a text in the pickle is not UTF-8"))?;
        self.push(Value::Text(text))
    }

    fn container(&mut self, operation: u8) -> Result<()> {
        let parts = match operation {
            b'}' | b']' | b')' => Vec::new(),
            0x85..=0x87 => {
                let count = usize::from(operation - 0x84);
                let mut parts = (0..count).map(|_| self.pop()).collect::<Result<Vec<_>>>()?;
                parts.reverse();
                parts
            }
            _ => self.pop_marked()?,
        };
        let value = match operation {
            b'}' | b'd' => {
                self.built.dicts.push(self.pairs(parts)?);
                Value::Dict(self.built.dicts.len() - 1)
            }
            b']' | b'l' => Value::List(self.sequence(parts)),
            _ => Value::Tuple(self.sequence(parts)),
        };
        self.push(value)
    }

    fn sequence(&mut self, parts: Vec<Value>) -> usize {
        self.built.sequences.push(parts);
        self.built.sequences.len() - 1
    }

    /// Adds values to the list or dictionary below them on the stack.
    fn fill(&mut self, operation: u8) -> Result<()> {
        let parts = match operation {
            b'a' => vec![self.pop()?],
            b's' => {
                let value = self.pop()?;
                vec![self.pop()?, value]
            }
            _ => self.pop_marked()?,
        };
        match (self.stack.last(), operation) {
            (Some(&Value::Dict(index)), b's' | b'u') => {
                let pairs = self.pairs(parts)?;
                self.built.dicts[index].extend(pairs);
            }
            (Some(&Value::List(index)), b'a' | b'e') => self.built.sequences[index].extend(parts),
            _ => return Err(self.damaged("the target of APPEND is no container")),
        }
        Ok(())
    }

    /// Stores the top of the stack in the memo, or fetches a value from there.
    fn remember(&mut self, operation: u8) -> Result<()> {
        let slot = match operation {
            b'q' | b'h' => self.cursor.number(1)? as u32,
            b'r' | b'j' => self.cursor.number(4)? as u32,
            _ => self.memo.len() as u32,
        };
        if matches!(operation, b'h' | b'j') {
            let value = self.memo.get(&slot).cloned();
            return self.push(value.ok_or_else(|| self.damaged("GET names an unknown memo slot"))?);
        }
        let value = self.stack.last().cloned();
        let value = value.ok_or_else(|| self.damaged("PUT on an empty stack"))?;
        self.memo.insert(slot, value);
        Ok(())
    }

    fn global(&mut self, operation: u8) -> Result<()> {
        let (module, name) = match operation {
            b'c' => (self.line()?, self.line()?),
            _ => {
                let name = self.pop()?;
                let module = self.pop()?;
                let (Value::Text(module), Value::Text(name)) = (module, name) else {
                    return Err(self.damaged("a name in the pickle is not a text"));
                };
                (module.to_string(), name.to_string())
            }
        };
        let global = match (&module[..], &name[..]) {
            ("collections", "OrderedDict") => Global::OrderedDict,
            ("torch._utils", "_rebuild_tensor_v2") => Global::RebuildTensor,
            ("torch._utils", "_rebuild_parameter") => Global::RebuildParameter,
            ("torch", name) if name.ends_with("Storage") => Global::Storage(name.into()),
            _ => return Err(self.forbidden(format!("{module}.{name}"))),
        };
        self.push(Value::Global(global))
    }

    fn line(&mut self) -> Result<String> {
        let len = self
            .cursor
            .rest()
            .iter()
            .take(256)
            .position(|&byte| byte == b'\n');
        let len = len.ok_or_else(|| self.damaged("a name in the pickle has no end"))?;
        let text = String::from_utf8_lossy(self.cursor.bytes(len)?).into_owned();
        self.byte()?;
        Ok(text)
    }

    /// A storage: ("storage", type, key, device, numbers).
    fn persistent(&mut self) -> Result<()> {
        let parts = self.pop().and_then(|value| self.parts(value))?;
        let storage = match &parts[..] {
            [
                Value::Text(word),
                Value::Global(Global::Storage(kind)),
                Value::Text(key),
                _,
                Value::Int(0..),
                ..,
            ] if &**word == "storage" => Some(StorageRef {
                key: key.clone(),
                kind: kind.clone(),
                number: storage_type(kind),
            }),
            _ => None,
        };
        let storage =
            storage.ok_or_else(|| self.damaged("a storage in the pickle is described wrongly"))?;
        self.built.storages.push(storage);
        self.push(Value::Storage(self.built.storages.len() - 1))
    }

    fn parts(&self, value: Value) -> Result<Vec<Value>> {
        match value {
            Value::Tuple(index) if self.built.sequences[index].len() <= MAX_ARGUMENTS => {
                Ok(self.built.sequences[index].clone())
            }
            _ => Err(self.damaged("the pickle has no tuple where one is needed")),
        }
    }

    /// Calls one of the known functions.
    fn reduce(&mut self) -> Result<()> {
        let arguments = self.pop().and_then(|value| self.parts(value))?;
        let value = match (self.pop()?, &arguments[..]) {
            (Value::Global(Global::OrderedDict), []) => {
                self.built.dicts.push(Vec::new());
                Value::Dict(self.built.dicts.len() - 1)
            }
            (Value::Global(Global::RebuildParameter), [tensor @ Value::Tensor(_), ..]) => {
                tensor.clone()
            }
            (
                Value::Global(Global::RebuildTensor),
                [
                    Value::Storage(storage),
                    Value::Int(offset),
                    shape,
                    strides,
                    ..,
                ],
            ) => {
                let shape = self.sizes(shape.clone())?;
                let strides = self.sizes(strides.clone())?;
                let offset = usize::try_from(*offset).map_err(|_| self.damaged(BAD_TENSOR))?;
                if shape.len() != strides.len() {
                    return Err(self.damaged(BAD_TENSOR));
                }
                self.built.views.push(View {
                    storage: *storage,
                    offset,
                    shape,
                    strides,
                });
                Value::Tensor(self.built.views.len() - 1)
            }
            _ => return Err(self.damaged(BAD_TENSOR)),
        };
        self.push(value)
    }

    fn pairs(&self, parts: Vec<Value>) -> Result<Vec<(Value, Value)>> {
        if !parts.len().is_multiple_of(2) {
            return Err(self.damaged("a key in the pickle has no value"));
        }
        let mut parts = parts.into_iter();
        Ok(std::iter::from_fn(|| parts.next().zip(parts.next())).collect())
    }

    fn sizes(&self, value: Value) -> Result<Vec<usize>> {
        let parts = self.parts(value)?;
        if parts.len() > MAX_DIMENSIONS {
            return Err(self.damaged(BAD_TENSOR));
        }
        parts
            .into_iter()
            .map(|part| match part {
                Value::Int(size) => usize::try_from(size).map_err(|_| self.damaged(BAD_TENSOR)),
                _ => Err(self.damaged(BAD_TENSOR)),
            })
            .collect()
    }
}

const BAD_TENSOR: &str = "a tensor in the pickle is described wrongly";
/// The largest number of function arguments.
const MAX_ARGUMENTS: usize = 16;
/// The largest number of dimensions of a tensor.
const MAX_DIMENSIONS: usize = 8;

/// The number type of a class of storages; `None` for types other than weights.
fn storage_type(name: &str) -> Option<NumberType> {
    match name {
        "DoubleStorage" => Some(NumberType::Float64),
        "FloatStorage" => Some(NumberType::Float32),
        "HalfStorage" => Some(NumberType::Float16),
        "BFloat16Storage" => Some(NumberType::BFloat16),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> Result<(Value, Pickle)> {
        super::read(&mut Cursor::new("a.bin".as_ref(), bytes))
    }

    /// The refused call; empty for a damaged pickle.
    fn refused(bytes: &[u8]) -> String {
        match read(bytes).map(|(value, ..)| value).unwrap_err() {
            InteropError::Pickle(_, what) => what,
            InteropError::Damaged(..) => String::new(),
            other => panic!("{other}"),
        }
    }

    #[test]
    fn code_in_a_pickle_is_refused_by_name() {
        let os = b"\x80\x02cos\nsystem\nX\x04\0\0\0echo\x85R.";
        assert_eq!(refused(os), "os.system");
        let builtins = b"\x80\x04\x8c\x08builtins\x8c\x04eval\x93.";
        assert_eq!(refused(builtins), "builtins.eval");
        // INST, OBJ, NEWOBJ and EXT1 build objects of any class.
        for operation in [b'i', b'o', 0x81, 0x82] {
            assert_ne!(refused(&[operation]), "", "{operation:#x}");
        }
    }

    #[test]
    fn numbers_are_read_with_their_sign() {
        let int = |bytes: &[u8]| read(bytes).unwrap().0;
        assert_eq!(int(b"K\xff."), Value::Int(255));
        assert_eq!(int(b"J\xfe\xff\xff\xff."), Value::Int(-2));
        assert_eq!(int(b"\x8a\x02\x00\xff."), Value::Int(-256));
        assert_eq!(int(b"\x8a\x00."), Value::Int(0));
        assert_eq!(int(b"\x8a\x0al\xfc\x9cF\xf9 j\xa8P\x19."), Value::Other);
    }

    #[test]
    fn a_list_inside_itself_is_no_cycle_in_memory() {
        let mut cursor = Cursor::new("a.bin".as_ref(), b"]q\x00h\x00a.rest");
        let (value, pickle) = super::read(&mut cursor).unwrap();
        assert_eq!((value, cursor.rest()), (Value::List(0), &b"rest"[..]));
        assert_eq!(pickle.sequences, [[Value::List(0)]]);
    }

    #[test]
    fn a_pickle_cut_anywhere_is_damaged() {
        let whole = b"\x80\x02}q\x00(X\x01\0\0\0aK\x01u.";
        assert!(read(whole).is_ok());
        for len in 0..whole.len() {
            assert_eq!(refused(&whole[..len]), "", "{len}");
        }
    }
}
