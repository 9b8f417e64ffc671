//! The gradients of every layer and model beside central differences in float64, on the CPU or on
//! the GPU that `BURN_DEVICE` names.
//!
//! In float64 a layer has neither fused operations nor gradients: the differences are those of its
//! values in plain tensor arithmetic. `tests/reference` holds values of another program, and the
//! tests of `burnformer-kernels` compare each operation with its formula.

mod layers;
mod models;

use burn::module::Param;
use burn::tensor::{DType, Device, Tensor, TensorData};
use burnformer_core::{
    Dropout, Mode, Parameters, RandomKey, StateDict, named_gradients, named_parameters,
};

/// The step of a central difference. Its error is of the order of its square.
const STEP: f64 = 1e-5;

/// The elements of each parameter that are compared.
const MAX_ELEMENTS: usize = 24;

/// A layer and the vectors that enter it. Both have gradients.
type Parts<M> = (M, Vec<Param<Tensor<3>>>);

/// A name, which begins with the exported one, and the largest error of its gradients.
type Case = (&'static str, fn() -> f64);

/// Returns a mode in which dropout draws the same factors in float32 and in float64.
fn mode() -> Mode {
    Mode::training(3, 1)
}

/// Returns `layer` with vectors of these shapes.
fn parts<M>(layer: M, shapes: &[[usize; 3]], device: &Device) -> Parts<M> {
    let vectors = shapes
        .iter()
        .map(|&shape| Param::from_tensor(Tensor::zeros(shape, device)));
    (layer, vectors.collect())
}

/// Returns Σ x·probe over all elements.
fn weighted<const D: usize>(x: Tensor<D>) -> Tensor<1> {
    let shape = x.dims();
    let probe = TensorData::new(RandomKey::new(99).normal(shape.iter().product()), shape);
    let probe = Tensor::from_data(probe, (&x.device(), x.dtype()));
    (x * probe).sum()
}

/// Returns the largest error of the gradients of `run`: its distance from the central difference,
/// as a share of the largest derivative of the same parameter, or of a tenth of the largest one of
/// all. A parameter without a gradient fails.
fn error<M: Parameters + Clone>(
    build: impl Fn(&Device) -> M,
    run: impl Fn(&M) -> Tensor<1>,
) -> f64 {
    let single = with_random_values(build(&Device::default().autodiff()));
    let gradients = named_gradients(&single, &run(&single).backward());
    let double = with_random_values(build(&Device::flex()));
    let double = double.map_parameters(&mut |_, param| {
        param.update(Box::new(|x| x.cast(DType::F64)));
    });
    let expected = differences(&double, run);
    let names = |gradients: &StateDict| gradients.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&gradients), names(&expected));
    let overall = expected.values().map(largest).fold(1.0, f64::max);
    let errors = expected.iter().map(|(name, expected)| {
        let actual: Vec<f64> = gradients[name].iter().collect();
        let places = places(actual.len());
        let distances = places
            .zip(expected.iter::<f64>())
            .map(|(place, e)| (actual[place] - e).abs());
        worst(distances) / largest(expected).max(0.1 * overall)
    });
    worst(errors)
}

/// Returns `module` with normally distributed numbers in every parameter. They depend on its name.
fn with_random_values<M: Parameters>(module: M) -> M {
    module.map_parameters(&mut |name, param| {
        let key = name
            .bytes()
            .fold(RandomKey::new(5), |key, byte| key.fold(byte.into()));
        let shape = param.shape();
        let values = key.normal(shape.iter().product());
        let values: Vec<f32> = values.iter().map(|z| 0.7 * z).collect();
        param.set(TensorData::new(values, shape));
    })
}

/// Returns the elements of a parameter with `count` elements that are compared. They are evenly
/// spaced.
fn places(count: usize) -> impl Iterator<Item = usize> {
    let compared = count.min(MAX_ELEMENTS);
    (0..compared).map(move |i| i * count / compared)
}

/// Returns the central differences of `run` for elements of every parameter.
fn differences<M: Parameters + Clone>(module: &M, run: impl Fn(&M) -> Tensor<1>) -> StateDict {
    let mut all = StateDict::new();
    for (name, values) in named_parameters(module) {
        let value_at = |element, by| -> f64 {
            let x = run(&moved(module, &name, element, by));
            assert_eq!(x.dtype(), DType::F64);
            x.into_scalar()
        };
        let derivative =
            |element| (value_at(element, STEP) - value_at(element, -STEP)) / (2.0 * STEP);
        let derivatives: Vec<f64> = places(values.num_elements()).map(derivative).collect();
        let count = derivatives.len();
        all.insert(name, TensorData::new(derivatives, [count]));
    }
    all
}

/// Returns `module` with one element of one parameter moved.
fn moved<M: Parameters + Clone>(module: &M, name: &str, element: usize, by: f64) -> M {
    module.clone().map_parameters(&mut |each, param| {
        if each == name {
            param.update(Box::new(|x| {
                let place = element..element + 1;
                let new = x.clone().slice([place.clone()]) + by;
                x.slice_assign([place], new)
            }));
        }
    })
}

fn largest(data: &TensorData) -> f64 {
    worst(data.iter::<f64>().map(f64::abs))
}

/// Returns the largest number; NaN if there is one.
fn worst(numbers: impl Iterator<Item = f64>) -> f64 {
    numbers.fold(0.0, |most, x| {
        if x.is_nan() || most.is_nan() {
            f64::NAN
        } else {
            most.max(x)
        }
    })
}

#[test]
fn gradients_equal_central_differences_in_float64() {
    let is_cpu = burnformer_kernels::is_fused_on(&Device::default());
    let limit = if is_cpu { 5e-5 } else { 5e-4 };
    let mut wrong = Vec::new();
    for (name, case) in layers::CASES.iter().chain(models::CASES) {
        let error = case();
        println!("{name:<56}{error:.1e}");
        if error.is_nan() || error > limit {
            wrong.push(format!("{name}: {error:e}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_wrong_gradient_is_found() {
    let vectors = |device: &Device| parts(Dropout::new(0.0), &[[1, 2, 3]], device);
    let square = |parts: &Parts<Dropout>| {
        let x = parts.1[0].val();
        weighted(x.clone() * x.detach())
    };
    assert!(error(vectors, square) > 0.1);
}

/// Modules that are parts of another one, and functions without gradients.
const WITHOUT_CASE: &[(&str, &str)] = &[
    ("TargetSublayer", "a part of `DecoderLayer`"),
    ("RnnEncoder", "a part of `Rnn`"),
    ("RnnDecoder", "a part of `Rnn`"),
    ("AdditiveAttention", "a part of `Rnn`"),
    ("check_sizes", "checks"),
    ("check_vocabularies", "checks"),
    ("end_mask", "masks"),
    ("look_ahead_mask", "masks"),
    ("padding_mask", "masks"),
    ("token_ids", "ids"),
    ("data_now", "numbers of the host"),
    ("freeze_parameters", "parameters"),
    ("named_gradients", "parameters"),
    ("named_parameters", "parameters"),
    ("parameter_sizes", "parameters"),
    ("trained_parameter_shapes", "parameters"),
    ("with_parameters", "parameters"),
    ("sinusoid", "a number of the host"),
];

/// The names of the modules in the sources below `folder`.
fn modules(folder: &std::path::Path) -> Vec<String> {
    let mut names = Vec::new();
    for entry in folder.read_dir().expect("the sources") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            names.extend(modules(&path));
            continue;
        }
        let text = std::fs::read_to_string(&path).expect("a source");
        let derived = text.split("#[derive(Module").skip(1);
        names.extend(derived.filter_map(|text| {
            let is_public =
                |line: &&str| line.starts_with("pub struct") || line.starts_with("pub enum");
            let line = text.lines().take(3).find(is_public)?;
            let name = line.split_whitespace().nth(2)?;
            Some(name.trim_end_matches(['<', '{', '(', ';']).to_owned())
        }));
    }
    names
}

/// The exported functions.
fn functions() -> Vec<String> {
    let source = include_str!("../../../src/lib.rs");
    let statements = source.split("pub use ").skip(1);
    let names = statements.flat_map(|statement| {
        let (statement, _) = statement.split_once(';').expect("a statement ends");
        let (_, names) = statement.rsplit_once("::").expect("a path");
        names.trim_matches(['{', '}']).split(',').map(str::trim)
    });
    let functions = names.filter(|name| name.starts_with(char::is_lowercase));
    functions.map(str::to_owned).collect()
}

#[test]
fn every_module_and_function_has_a_case_or_a_reason() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut names = modules(&folder);
    assert!(names.len() > 15, "{names:?}");
    names.extend(functions());
    let cases = layers::CASES
        .iter()
        .chain(models::CASES)
        .map(|(name, _)| *name);
    let known = cases.chain(WITHOUT_CASE.iter().map(|(name, _)| *name));
    let known: Vec<&str> = known.filter_map(|name| name.split(',').next()).collect();
    let missing: Vec<&String> = names
        .iter()
        .filter(|name| !known.contains(&name.as_str()))
        .collect();
    assert!(
        missing.is_empty(),
        "without a case, or a reason in `WITHOUT_CASE`: {missing:?}"
    );
    let gone = known
        .iter()
        .filter(|name| !names.iter().any(|each| each == *name));
    assert_eq!(
        gone.collect::<Vec<_>>(),
        Vec::<&&str>::new(),
        "no longer there"
    );
}
