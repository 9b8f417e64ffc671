//! The loss over the vocabulary (paper §5.4).

#[cfg(feature = "cpu")]
mod cpu;
#[cfg(feature = "cpu")]
mod linear;
pub(crate) mod log_sum_exp;
#[cfg(feature = "cpu")]
mod op;
pub(crate) mod reference;

use burn::tensor::{Int, Tensor};

use crate::linear::{Epilogue, check, linear_with};
#[cfg(feature = "cpu")]
use crate::linear::{cpu::ProductType, product_type};
use crate::op::Target;
use crate::precision::Precision;

/// The cross-entropy with label smoothing ε (Szegedy et al., 2015; paper §5.4), summed over all
/// rows except targets `pad`. Returns two sums, each `[1]`: Σ (1−ε)·NLL + ε·(mean of −log p over
/// the vocabulary), and Σ NLL, where NLL is the negative log-likelihood −log p(target) in nats.
///
/// Gradients flow through the first sum only; the second one is for reports. The fused version
/// makes one pass over the logits forward and one backward, and writes the gradient over the logits
/// if no other tensor shares their memory. The sums are taken in a fixed order, on the CPU in
/// float64.
///
/// A logit of −∞ marks a token that cannot occur. Without smoothing it costs nothing; with
/// smoothing the loss is infinite.
///
/// # Shapes
/// - `logits`: `[rows, vocab]`, `targets`: `[rows]` ids → `[1]` and `[1]`
///
/// # Panics
/// Panics if a target is neither `pad` nor below `vocab`; the reference does not check this.
pub fn label_smoothed_cross_entropy(
    logits: Tensor<2>,
    targets: Tensor<1, Int>,
    pad: u32,
    smoothing: f64,
) -> (Tensor<1>, Tensor<1>) {
    match Target::of(&[&logits]) {
        #[cfg(feature = "cpu")]
        Target::Cpu => {
            let targets = crate::cpu::integers(targets);
            let loss = cpu::CrossEntropy {
                targets,
                pad: i64::from(pad),
                epsilon: smoothing,
            };
            let sums: Tensor<1> = crate::op::apply(loss, [logits.into()]);
            (sums.clone().narrow(0, 0, 1), sums.detach().narrow(0, 1, 1))
        }
        _ => reference::label_smoothed_cross_entropy(logits, targets, pad, smoothing),
    }
}

/// A projection of states to the vocabulary, `x·Wᵀ + b`.
#[derive(Clone, Debug)]
pub struct Projection {
    /// The weight, `[vocab, d_model]`.
    pub weight: Tensor<2>,
    /// The bias, `[vocab]`.
    pub bias: Option<Tensor<1>>,
    /// The number type of the products.
    pub precision: Precision,
}

/// Largest number of logits that [`linear_cross_entropy`] holds in memory (134 MB), unless 256 rows
/// have more.
pub const MAX_LOGITS: usize = 1 << 25;

/// The [`label_smoothed_cross_entropy`] of the logits of `states`.
///
/// On the CPU, the logits of a large batch over a large vocabulary are never in memory all at once:
/// a part of the rows after the other is projected, and gives its share of the gradients at once.
/// 4,096 rows of 58,000 logits would take 950 MB. The gradients are multiplied by the gradient of
/// the loss afterwards, so their last bits differ from [`label_smoothed_cross_entropy`].
///
/// # Shapes
/// - `states`: `[rows, d_model]`, `targets`: `[rows]` ids → `[1]` and `[1]`
///
/// # Panics
/// Panics if shapes do not fit together, or as [`label_smoothed_cross_entropy`] does.
pub fn linear_cross_entropy(
    states: Tensor<2>,
    projection: Projection,
    targets: Tensor<1, Int>,
    pad: u32,
    smoothing: f64,
) -> (Tensor<1>, Tensor<1>) {
    let Projection {
        weight,
        bias,
        precision,
    } = projection;
    check(&states, &weight, bias.as_ref());
    let [rows, _] = states.dims();
    assert_eq!(targets.dims(), [rows], "a target for each of {rows} states");
    #[cfg(feature = "cpu")]
    if let Some(product) = fused_product(&states, &weight, bias.as_ref(), precision) {
        let op = linear::LinearCrossEntropy::new(
            cpu::CrossEntropy {
                targets: crate::cpu::integers(targets),
                pad: i64::from(pad),
                epsilon: smoothing,
            },
            product,
            MAX_LOGITS / weight.dims()[0].max(1),
        );
        let bias = bias.unwrap_or_else(|| Tensor::zeros([0], &states.device()));
        let sums: Tensor<1> = crate::op::apply(op, [states.into(), weight.into(), bias.into()]);
        return (sums.clone().narrow(0, 0, 1), sums.detach().narrow(0, 1, 1));
    }
    let logits = linear_with(states, weight, bias, Epilogue::None, precision);
    label_smoothed_cross_entropy(logits, targets, pad, smoothing)
}

/// Returns the type of the fused products; `None` if not all tensors are on the CPU.
#[cfg(feature = "cpu")]
fn fused_product(
    states: &Tensor<2>,
    weight: &Tensor<2>,
    bias: Option<&Tensor<1>>,
    precision: Precision,
) -> Option<ProductType> {
    let is_on_cpu = |x: &Tensor<1>| Target::of(&[x]) == Target::Cpu;
    let all_on_cpu = Target::of(&[states, weight]) == Target::Cpu && bias.is_none_or(is_on_cpu);
    all_on_cpu.then(|| product_type(precision)).flatten()
}
