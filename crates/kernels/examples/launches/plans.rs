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

/// Bytes that the kernels of the plans read and write which `log` has up to its first `until`; what comes after shows
/// which of their tensors live on.
pub fn bytes(log: &str, until: &str) -> usize {
    let (measured, _) = log.split_once(until).expect("the end");
    let count = kernels(operations(measured)).len();
    let kernels = kernels(operations(log));
    (0..count).map(|index| bytes_of(&kernels[index], &kernels[index + 1..])).sum()
}

/// The operations of each kernel: those of a fused block together, others alone, views and drops too.
fn kernels(operations: Vec<Operation>) -> Vec<Vec<Operation>> {
    let mut kernels: Vec<Vec<Operation>> = Vec::new();
    // Bytes behind views that show an element more than once.
    let mut behind: HashMap<String, usize> = HashMap::new();
    for mut operation in operations {
        for (id, bytes) in &mut operation.inputs {
            *bytes = behind.get(id).copied().unwrap_or(*bytes);
        }
        if operation.is_one_of(&["Expand"]) {
            behind.insert(operation.outputs[0].0.clone(), operation.inputs[0].1);
        }
        match kernels.last_mut() {
            Some(last) if operation.is_fused && !operation.begins => last.push(operation),
            _ => kernels.push(vec![operation]),
        }
    }
    kernels
}

fn bytes_of(kernel: &[Operation], later: &[Vec<Operation>]) -> usize {
    let reads = |operation: &&Operation| operation.kind != "Drop";
    let read: HashMap<_, _> =
        kernel.iter().filter(reads).flat_map(|operation| operation.inputs.clone()).collect();
    let made: HashMap<_, _> =
        kernel.iter().flat_map(|operation| operation.outputs.clone()).collect();
    let named_later: HashSet<&String> =
        later.iter().flatten().flat_map(|operation| &operation.inputs).map(|(id, _)| id).collect();
    let lives_on = |id: &String| !read.contains_key(id) || named_later.contains(id);
    let read_bytes: usize =
        read.iter().filter(|(id, _)| !made.contains_key(*id)).map(|(_, bytes)| bytes).sum();
    let written: usize = made.iter().filter(|(id, _)| lives_on(id)).map(|(_, bytes)| bytes).sum();
    match kernel {
        [view] if view.is_one_of(&["Reshape", "SwapDims", "Permute", "Expand", "Unsqueeze"]) => 0,
        // They read only what they take.
        [one] if one.is_one_of(&["Gather", "Select", "Slice"]) => 2 * written,
        _ => read_bytes + written,
    }
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
