//! Bytes from the plans that Burn's fusion logs: a kernel reads each tensor from outside once and writes each tensor
//! that outlives it once; views cost nothing. What a kernel reads twice and what a matrix product reads again is not
//! found out, so these are the least bytes that the plan needs.

use std::collections::{HashMap, HashSet};

/// Tensors by name, with their bytes.
type Tensors = Vec<(String, usize)>;

/// A line of a plan.
struct Operation {
    /// A block begins with it.
    begins: bool,
    is_fused: bool,
    kind: String,
    inputs: Tensors,
    outputs: Tensors,
}

impl Operation {
    fn is_one_of(&self, kinds: &[&str]) -> bool {
        kinds.iter().any(|kind| self.kind.ends_with(&format!("::{kind}")))
    }
}

/// Bytes that the kernels of the logged plans read and write.
pub fn bytes(log: &str) -> usize {
    let kernels = grouped(operations(log));
    (0..kernels.len()).map(|index| bytes_of(&kernels[index], &kernels[index + 1..])).sum()
}

/// The operations of each kernel: those of a fused block together, others alone. Views are none.
fn grouped(operations: Vec<Operation>) -> Vec<Vec<Operation>> {
    let mut kernels: Vec<Vec<Operation>> = Vec::new();
    // Bytes behind views that show an element more than once.
    let mut behind: HashMap<String, usize> = HashMap::new();
    for mut operation in operations {
        for (id, bytes) in &mut operation.inputs {
            *bytes = behind.get(id).copied().unwrap_or(*bytes);
        }
        if operation.kind.ends_with("::Expand") {
            behind.insert(operation.outputs[0].0.clone(), operation.inputs[0].1);
        }
        let view = operation.is_one_of(&["Reshape", "SwapDims", "Permute", "Expand", "Unsqueeze"]);
        match kernels.last_mut() {
            _ if operation.kind == "Drop" || (view && !operation.is_fused) => {}
            Some(last) if operation.is_fused && !operation.begins => last.push(operation),
            _ => kernels.push(vec![operation]),
        }
    }
    kernels
}

fn bytes_of(kernel: &[Operation], later: &[Vec<Operation>]) -> usize {
    let inputs = |kernel: &[Operation]| all(kernel, |operation| &operation.inputs);
    let (read, made) = (inputs(kernel), all(kernel, |operation| &operation.outputs));
    let read_later: HashSet<String> =
        later.iter().flat_map(|kernel| inputs(kernel).into_keys()).collect();
    let outlives = |id: &String| !read.contains_key(id) || read_later.contains(id);
    let read_bytes: usize =
        read.iter().filter(|(id, _)| !made.contains_key(*id)).map(|(_, bytes)| bytes).sum();
    let written: usize = made.iter().filter(|(id, _)| outlives(id)).map(|(_, bytes)| bytes).sum();
    match kernel {
        // They read only what they take.
        [one] if one.is_one_of(&["Gather", "Select", "Slice"]) => 2 * written,
        _ => read_bytes + written,
    }
}

fn all(kernel: &[Operation], side: fn(&Operation) -> &Tensors) -> HashMap<String, usize> {
    kernel.iter().flat_map(|operation| side(operation).clone()).collect()
}

/// The rows of the logged tables, whose columns stand below their headings.
fn operations(log: &str) -> Vec<Operation> {
    let (mut columns, mut is_fused, mut found) = (None, false, Vec::new());
    for line in log.lines() {
        if let Some(headings) = headings(line) {
            columns = Some(headings);
            continue;
        }
        let Some([idx, block, op, inputs, outputs]) = columns else { continue };
        let characters: Vec<char> = line.chars().collect();
        let cell = |from: usize, to: usize| -> String {
            let part = characters.get(from..to.min(characters.len())).unwrap_or_default();
            part.iter().collect::<String>().trim().to_owned()
        };
        if cell(idx, block).parse::<usize>().is_err() {
            continue;
        }
        let header = cell(block, op);
        if !header.is_empty() {
            is_fused = header.contains("▸ fused");
        }
        found.push(Operation {
            begins: !header.is_empty(),
            is_fused,
            kind: cell(op, inputs),
            inputs: sizes(&cell(inputs, outputs)),
            outputs: sizes(&cell(outputs, characters.len())),
        });
    }
    found
}

/// Where the columns of a table begin, if `line` is its head.
fn headings(line: &str) -> Option<[usize; 5]> {
    let names: Vec<&str> = line.split_whitespace().collect();
    let is_head = names.ends_with(&["idx", "block", "op", "inputs", "outputs"]);
    let place = |name: &str| line.find(name).map(|at| line[..at].chars().count());
    let op = line.find(" op ").map(|at| line[..at].chars().count() + 1);
    is_head
        .then(|| Some([place("idx")?, place("block")?, op?, place("inputs")?, place("outputs")?]))?
}

/// `t7:f32[2,3], t8:i32[4]` → each name with its bytes.
fn sizes(cell: &str) -> Tensors {
    let each = cell.split_inclusive(']').filter_map(|part| {
        let (name, rest) = part.trim_start_matches([',', ' ']).split_once(':')?;
        let (dtype, shape) = rest.trim_end_matches(']').rsplit_once('[')?;
        let elements: usize = shape.split(',').filter_map(|d| d.parse::<usize>().ok()).product();
        Some((name.to_owned(), elements * width(dtype)))
    });
    each.collect()
}

fn width(dtype: &str) -> usize {
    match dtype {
        "f64" | "i64" | "u64" => 8,
        "f16" | "bf16" => 2,
        "bool(Native)" | "bool(U8)" | "u8" | "i8" => 1,
        _ => 4,
    }
}
