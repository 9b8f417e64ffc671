//! The gradients of every operation beside central differences of its formula in float64, on the
//! CPU or on the GPU that `BURN_DEVICE` names. `BURNFORMER_TRIES` sets the number of shapes of each
//! operation.

mod cases;
mod formulas;

use burn::tensor::Tensor;
use burnformer_kernels::RandomKey;

use crate::common::{device, is_cpu, values};

/// The step of a central difference. Its error is of the order of its square.
const STEP: f64 = 1e-5;

/// An operation between flat inputs and a flat output.
type Operation = Box<dyn Fn(&[Tensor<1>]) -> Tensor<1>>;

/// The same in float64.
type Formula = Box<dyn Fn(&[Vec<f64>]) -> Vec<f64>>;

/// An operation with its formula.
pub struct Case {
    /// The values of each input.
    inputs: Vec<Vec<f32>>,
    /// The operation with gradients.
    operation: Operation,
    /// The same in float64.
    formula: Formula,
}

impl Case {
    /// Returns the largest error of the output and of all gradients of Σ output·probe, as a share
    /// of the largest number beside it, or of one if that is larger.
    fn error(&self) -> f64 {
        let leaves: Vec<Tensor<1>> = self.inputs.iter().map(|x| leaf(x)).collect();
        let output = (self.operation)(&leaves);
        let probe = RandomKey::new(99).normal(output.dims()[0]);
        let weighted = output.clone() * Tensor::from_floats(&probe[..], &device());
        let gradients = weighted.sum().backward();
        let inputs: Vec<Vec<f64>> = self.inputs.iter().map(|x| exact(x)).collect();
        let probe = exact(&probe);
        let mut errors = vec![distance(&values(output), &(self.formula)(&inputs))];
        for (index, leaf) in leaves.iter().enumerate() {
            let actual = values(leaf.grad(&gradients).expect("a gradient"));
            errors.push(distance(&actual, &self.differences(&inputs, index, &probe)));
        }
        worst(errors.into_iter())
    }

    /// Returns the derivatives of Σ formula·probe with respect to the elements of input `index`.
    fn differences(&self, inputs: &[Vec<f64>], index: usize, probe: &[f64]) -> Vec<f64> {
        let mut inputs = inputs.to_vec();
        let mut derivatives = Vec::with_capacity(inputs[index].len());
        for element in 0..inputs[index].len() {
            let x = inputs[index][element];
            let mut sum_at = |x| {
                inputs[index][element] = x;
                formulas::times(&(self.formula)(&inputs), probe)
                    .iter()
                    .sum::<f64>()
            };
            let difference = sum_at(x + STEP) - sum_at(x - STEP);
            sum_at(x);
            derivatives.push(difference / (2.0 * STEP));
        }
        derivatives
    }
}

fn leaf(values: &[f32]) -> Tensor<1> {
    Tensor::from_floats(values, &device()).require_grad()
}

/// The same numbers in float64.
fn exact(x: &[f32]) -> Vec<f64> {
    x.iter().map(|&x| f64::from(x)).collect()
}

/// The largest difference, as a share of the largest expected number, or of one.
fn distance(actual: &[f32], expected: &[f64]) -> f64 {
    assert_eq!(actual.len(), expected.len());
    let scale = expected.iter().fold(1.0f64, |most, x| most.max(x.abs()));
    let differences = actual
        .iter()
        .zip(expected)
        .map(|(a, e)| (f64::from(*a) - e).abs());
    worst(differences) / scale
}

/// The largest number; NaN if there is one.
fn worst(numbers: impl Iterator<Item = f64>) -> f64 {
    numbers.fold(0.0, |most, x| {
        if x.is_nan() || most.is_nan() {
            f64::NAN
        } else {
            most.max(x)
        }
    })
}

/// The number of shapes of each operation.
fn tries() -> u64 {
    let asked = std::env::var("BURNFORMER_TRIES").ok();
    asked.map_or(6, |tries| {
        tries.parse().expect("BURNFORMER_TRIES is a number")
    })
}

#[test]
fn gradients_equal_central_differences_in_float64() {
    let limit = if is_cpu() { 1e-5 } else { 1e-4 };
    let mut wrong = Vec::new();
    for (name, case) in cases::ALL {
        let error = worst((0..tries()).map(|index| case(index).error()));
        println!("{name:<48}{error:.1e}");
        if error.is_nan() || error > limit {
            wrong.push(format!("{name}: {error:e}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_wrong_gradient_is_found() {
    let case = Case {
        inputs: vec![vec![1.0, 2.0]],
        operation: Box::new(|x| x[0].clone() * x[0].clone().detach()),
        formula: Box::new(|x| formulas::times(&x[0], &x[0])),
    };
    assert!(case.error() > 0.1);
}

/// The names in `pub use` statements.
fn exported(source: &str) -> Vec<String> {
    let statements = source.split("pub use ").skip(1);
    let names = statements.flat_map(|statement| {
        let (statement, _) = statement.split_once(';').expect("a statement ends");
        let (_, names) = statement.rsplit_once("::").expect("a path");
        let names = names.trim_matches(['{', '}']).split(',');
        names
            .map(|name| name.trim().to_owned())
            .filter(|name| !name.is_empty())
    });
    names.collect()
}

#[test]
fn every_exported_name_has_a_case_or_a_reason() {
    let source = include_str!("../../../src/lib.rs");
    let (operations, references) = source
        .split_once("pub mod reference")
        .expect("the references");
    let mut names = exported(operations);
    names.extend(
        exported(references)
            .iter()
            .map(|name| format!("reference::{name}")),
    );
    assert!(names.len() > 40, "{names:?}");
    let cases: Vec<&str> = cases::ALL.iter().map(|(name, _)| *name).collect();
    let without: Vec<&str> = cases::WITHOUT_GRADIENT
        .iter()
        .map(|(name, _)| *name)
        .collect();
    // The name of a case may go on after a comma.
    let base = |case: &&str| case.split(',').next().unwrap_or_default().to_owned();
    let known: Vec<String> = cases.iter().chain(&without).map(base).collect();
    let missing: Vec<&String> = names.iter().filter(|name| !known.contains(name)).collect();
    assert!(
        missing.is_empty(),
        "without a case in `ALL`, or a reason: {missing:?}"
    );
    let gone: Vec<&String> = known.iter().filter(|name| !names.contains(name)).collect();
    assert!(gone.is_empty(), "no longer exported: {gone:?}");
}
