//! Compares what a device computes with what the CPU computes, in the shapes of this program.
//!
//! A driver, or a compiler of kernels, can give a wrong result without an error. It often does so
//! for some shapes only.

use burn::tensor::{Device, Int, Tensor, TensorData};
use burnformer_core::{
    Mode, ModelConfig, Seq2Seq, Seq2SeqConfig, TransformerConfig, label_smoothed_cross_entropy,
    named_gradients,
};
use serde::{Deserialize, Serialize};

use super::guard::quietly;

/// The largest difference from the CPU that passes, relative to the root mean square of the tensor
/// or, if it is larger, to [`ZERO_SHARE`] of the root mean square of all tensors. Rounding to TF32
/// on tensor cores stays below a third of it in these models; a wrong number in a tensor is far
/// above.
const TOLERANCE: f64 = 1e-2;
/// The share of the root mean square of all tensors below which a tensor counts as zero. The
/// gradient of the bias of keys is zero but for rounding.
const ZERO_SHARE: f64 = 1e-3;
/// The number of rows of the products, a batch that a user has.
const ROWS: usize = 500;
/// Widths that are multiples of 8 and not of 16 or 64, the sizes of a card's blocks.
const WIDTHS: [usize; 2] = [104, 440];
/// The number of tokens in the vocabularies of the models that are compared.
const VOCAB: usize = 1000;
/// The number of steps that are decoded with a cache.
const STEPS: usize = 5;

/// The comparison of one computation on a device with the same on the CPU.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Check {
    /// What was computed.
    pub name: String,
    /// The largest difference, relative to the root mean square of the tensor; `None` if there is
    /// an error.
    pub difference: Option<f64>,
    /// What else is wrong: the device fails, or returns NaN.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl Check {
    /// Returns whether the device computes the same as the CPU.
    pub fn passes(&self) -> bool {
        self.difference
            .is_some_and(|difference| difference <= TOLERANCE)
    }

    /// The result as a user reads it, such as `differs by 3e-1`.
    pub fn result(&self) -> String {
        match (self.difference, &self.error) {
            (Some(difference), _) => format!("differs by {difference:.0e}"),
            (None, error) => format!("fails: {}", error.as_deref().unwrap_or("no result")),
        }
    }
}

/// Computes tensors on a device, each as a list of numbers.
type Compute = Box<dyn Fn(&Device) -> Vec<Vec<f32>>>;

/// A computation with its name.
pub(super) struct Case {
    pub(super) name: String,
    pub(super) compute: Compute,
}

impl Case {
    fn new(name: impl Into<String>, compute: impl Fn(&Device) -> Vec<Vec<f32>> + 'static) -> Self {
        Self {
            name: name.into(),
            compute: Box::new(compute),
        }
    }
}

/// Compares the shapes that any model may meet.
pub(super) fn check_device(device: &Device) -> Vec<Check> {
    check(device, general())
}

/// Compares decoding by one layer on each side in the sizes of `config`.
pub(super) fn check_decoding(device: &Device, config: &ModelConfig) -> Vec<Check> {
    let decoding = config.downcast_ref().map(decoding_of);
    check(device, decoding.into_iter().collect())
}

/// Compares an update of one layer on each side in the sizes of `config`, and the loss over its
/// vocabulary.
pub(super) fn check_training(device: &Device, config: &ModelConfig) -> Vec<Check> {
    let vocab = config.tokens().target_vocab;
    let mut cases = vec![Case::new(
        format!("the loss over {vocab} tokens"),
        move |device| loss_of_wide_rows(vocab, device),
    )];
    cases.extend(config.downcast_ref().map(update_of));
    check(device, cases)
}

/// Runs `cases` on `device` and on the CPU.
pub(super) fn check(device: &Device, cases: Vec<Case>) -> Vec<Check> {
    cases
        .into_iter()
        .map(|case| {
            let expected = (case.compute)(&Device::flex());
            let found = quietly(|| Ok((case.compute)(device)));
            let result = found.and_then(|found| largest_difference(&found, &expected));
            Check {
                name: case.name,
                difference: result.as_ref().ok().copied(),
                error: result.err(),
            }
        })
        .collect()
}

fn general() -> Vec<Case> {
    let config = TransformerConfig {
        dropout: 0.1,
        ..TransformerConfig::tiny(VOCAB).with_width(WIDTHS[0], 4)
    };
    let decoded = config.clone();
    vec![
        Case::new(format!("products of {ROWS} rows"), products),
        Case::new("an update", move |device| update(&config, device)),
        Case::new("decoding with a cache", move |device| {
            decode(&decoded, device)
        }),
    ]
}

fn decoding_of(config: &TransformerConfig) -> Case {
    let layers = one_layer_each(config);
    Case::new(
        format!("decoding at d_model {}", layers.d_model),
        move |device| decode(&layers, device),
    )
}

fn update_of(config: &TransformerConfig) -> Case {
    let layers = one_layer_each(config);
    Case::new(
        format!("an update at d_model {}", layers.d_model),
        move |device| update(&layers, device),
    )
}

/// `config` with one layer on each side and a small vocabulary.
fn one_layer_each(config: &TransformerConfig) -> TransformerConfig {
    let small = TransformerConfig::tiny(VOCAB);
    TransformerConfig {
        source_vocab: VOCAB,
        target_vocab: VOCAB,
        encoder_layers: 1,
        decoder_layers: 1,
        pad: small.pad,
        bos: small.bos,
        eos: small.eos,
        ..config.clone()
    }
}

/// Products of `ROWS` rows with matrices of all pairs of `WIDTHS`, and those with the transposed
/// first factor that a backward pass takes.
fn products(device: &Device) -> Vec<Vec<f32>> {
    let mut results = Vec::new();
    for inner in WIDTHS {
        let rows = values([ROWS, inner], device);
        for outer in WIDTHS {
            let product = rows.clone().matmul(values([inner, outer], device));
            results.push(numbers(product.clone()));
            results.push(numbers(rows.clone().transpose().matmul(product)));
        }
    }
    results
}

/// The loss, and then the gradients of all parameters, of two sentence pairs of different lengths.
fn update(config: &TransformerConfig, device: &Device) -> Vec<Vec<f32>> {
    let device = device.clone().autodiff();
    let model = config.init(1, &device).expect("a valid configuration");
    let source = ids([[5, 9, 12, 33, 2], [7, 30, 2, 0, 0]], &device);
    let input = ids([[1, 8, 11, 20, 6], [1, 17, 4, 0, 0]], &device);
    let output = ids([[8, 11, 20, 6, 2], [17, 4, 2, 0, 0]], &device);
    let logits = model.forward(source, input, Mode::training(1, 1));
    let loss = label_smoothed_cross_entropy(logits, output, 0, 0.1).smoothed;
    let mut results = vec![numbers(loss.clone())];
    let gradients = loss.backward();
    for (_, gradient) in named_gradients(&model, &gradients) {
        results.push(gradient.iter::<f32>().collect());
    }
    results
}

/// The logits of `STEPS` steps of two sentences with two hypotheses each, which change places.
fn decode(config: &TransformerConfig, device: &Device) -> Vec<Vec<f32>> {
    let model = config
        .build(1, device)
        .expect("a valid configuration has a model");
    let mut cache = model.start(ids([[5, 9, 12, 33, 2], [7, 30, 2, 0, 0]], device));
    cache.select_rows(&[0, 0, 1, 1]);
    let mut results = Vec::new();
    for step in 0..STEPS as i32 {
        let tokens = ids([[3 + step], [40 - step], [9 + step], [70 - step]], device);
        results.push(numbers(model.decode_step(tokens, &mut *cache)));
        cache.select_rows(&[1, 0, 2, 2]);
    }
    results
}

/// The loss and its gradient of four rows over `vocab` columns. The last columns have the largest
/// numbers and one of the targets.
fn loss_of_wide_rows(vocab: usize, device: &Device) -> Vec<Vec<f32>> {
    let device = device.clone().autodiff();
    let ramp = Tensor::<1, Int>::arange(0..vocab as i64, &device).float() / vocab as f64;
    let logits = values([4, vocab], &device) + ramp.unsqueeze();
    let logits = logits.unsqueeze::<3>().require_grad();
    let last = vocab as i32 - 1;
    let targets = ids([[last, 0, last / 2, 1.min(last)]], &device);
    let pad = vocab as u32;
    let loss = label_smoothed_cross_entropy(logits.clone(), targets, pad, 0.1).smoothed;
    let gradients = loss.backward();
    let gradient = logits.grad(&gradients).expect("the logits have a gradient");
    vec![numbers(loss), numbers(gradient)]
}

/// Numbers from −1 to 1 without a pattern, the same on every device.
fn values(shape: [usize; 2], device: &Device) -> Tensor<2> {
    let values: Vec<f32> = (0..shape[0] * shape[1])
        .map(|index| {
            let mixed = (index as u32)
                .wrapping_mul(2_654_435_761)
                .rotate_left(15)
                .wrapping_mul(2_246_822_519);
            mixed as f32 / (u32::MAX / 2) as f32 - 1.0
        })
        .collect();
    Tensor::from_data(TensorData::new(values, shape), device)
}

fn ids<const R: usize, const L: usize>(rows: [[i32; L]; R], device: &Device) -> Tensor<2, Int> {
    Tensor::from_data(TensorData::new(rows.concat(), [R, L]), device)
}

fn numbers<const D: usize>(tensor: Tensor<D>) -> Vec<f32> {
    tensor.into_data().iter().collect()
}

/// The largest difference of two lists of tensors, relative to the size of the expected numbers.
///
/// # Errors
/// Returns a message if the shapes differ or a number is not finite on the device alone.
fn largest_difference(found: &[Vec<f32>], expected: &[Vec<f32>]) -> Result<f64, String> {
    let same_shapes = found.iter().map(Vec::len).eq(expected.iter().map(Vec::len));
    if !same_shapes {
        return Err("it returns another number of values".into());
    }
    let all = ZERO_SHARE * root_mean_square(expected.iter().flatten());
    let mut largest = 0.0;
    for (found, expected) in found.iter().zip(expected) {
        let scale = root_mean_square(expected).max(all).max(f64::MIN_POSITIVE);
        for (found, expected) in found.iter().zip(expected) {
            let difference = (f64::from(*found) - f64::from(*expected)).abs() / scale;
            if !difference.is_finite() {
                return Err(format!("it returns {found}, not {expected}"));
            }
            largest = f64::max(largest, difference);
        }
    }
    Ok(largest)
}

fn root_mean_square<'a>(values: impl IntoIterator<Item = &'a f32>) -> f64 {
    let mut squares = 0.0;
    let mut count = 0.0;
    for value in values {
        squares += f64::from(*value).powi(2);
        count += 1.0;
    }
    (squares / f64::max(count, 1.0)).sqrt()
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::sync::Arc;

    use super::*;

    #[test]
    fn the_cpu_agrees_with_itself() {
        let config: ModelConfig = Arc::new(TransformerConfig::tiny(300));
        let cpu = Device::flex();
        let mut checks = check_device(&cpu);
        checks.extend(check_decoding(&cpu, &config));
        checks.extend(check_training(&cpu, &config));
        assert_eq!(checks.len(), 6);
        for check in checks {
            assert_eq!(check.difference, Some(0.0), "{}", check.name);
        }
    }

    #[test]
    fn one_wrong_number_among_many_does_not_pass() {
        let expected = vec![vec![0.5f32; 100_000]];
        let mut found = expected.clone();
        found[0][77_777] = 0.49;
        let check = Check {
            name: "planted".into(),
            difference: largest_difference(&found, &expected).ok(),
            error: None,
        };
        assert!(!check.passes(), "{check:?}");
        found[0][77_777] = f32::NAN;
        let error = largest_difference(&found, &expected).unwrap_err();
        assert!(error.contains("NaN, not 0.5"), "{error}");
        assert!(largest_difference(&found[..0], &expected).is_err());
    }

    #[test]
    fn rounding_to_ten_bits_passes() {
        let device = Device::flex();
        let exact = products(&device);
        let round = |x: f32| f32::from_bits((x.to_bits() + (1 << 12)) & !((1 << 13) - 1));
        let mut rounded = Vec::new();
        for inner in WIDTHS {
            let rows = values([ROWS, inner], &device).into_data();
            let rows: Vec<f32> = rows.iter::<f32>().map(round).collect();
            let rows = Tensor::<2>::from_data(TensorData::new(rows, [ROWS, inner]), &device);
            for outer in WIDTHS {
                let factor = values([inner, outer], &device).into_data();
                let factor: Vec<f32> = factor.iter::<f32>().map(round).collect();
                let factor = TensorData::new(factor, [inner, outer]);
                let product = rows.clone().matmul(Tensor::from_data(factor, &device));
                rounded.push(numbers(product.clone()));
                rounded.push(numbers(rows.clone().transpose().matmul(product)));
            }
        }
        let difference = largest_difference(&rounded, &exact).unwrap();
        assert!(
            (1e-5..TOLERANCE / 3.0).contains(&difference),
            "{difference}"
        );
    }

    /// Mesa's lavapipe leaves a shader's loops after 65,535 rounds without an error.
    #[cfg(feature = "wgpu")]
    #[test]
    fn a_wrong_kernel_of_a_driver_is_caught() {
        let found = crate::device::Backend::Wgpu.found();
        let Some(software) = found.into_iter().find(|found| found.is_software) else {
            eprintln!("no driver here computes on the processor");
            return;
        };
        let planted = Case::new("a sum of a million columns", |device: &Device| {
            let row = Tensor::<2>::ones([1, 1_000_000], device);
            vec![numbers(row.sum_dim(1))]
        });
        let mut checks = check(&software.device, vec![planted]);
        assert!(!checks[0].passes(), "{checks:?}");
        let wide: ModelConfig = Arc::new(TransformerConfig::tiny(300_000));
        checks = check_device(&software.device);
        checks.extend(check_decoding(&software.device, &wide));
        checks.extend(check_training(&software.device, &wide));
        for check in checks {
            assert!(check.passes(), "{check:?}");
        }
    }

    #[test]
    fn a_failing_device_is_a_result() {
        // The CPU computes first.
        let is_first = Cell::new(true);
        let failing = Case::new("planted", move |_| {
            assert!(is_first.replace(false), "out of registers");
            vec![vec![1.0]]
        });
        let [check] = &check(&Device::flex(), vec![failing])[..] else {
            panic!("one check");
        };
        assert!(!check.passes());
        assert!(check.result().contains("out of registers"), "{check:?}");
    }
}
