//! R-Drop (Wu et al., 2021): a batch is computed twice with different dropout, and both predictions are to agree.

use burn::tensor::activation::log_softmax;
use burn::tensor::{Int, Tensor};

/// The symmetric divergence ½·KL(p‖q) + ½·KL(q‖p) between the predictions of two passes, summed over the positions whose
/// target is not `pad`: `[1]`, in nats. The first half of the rows is the first pass, the second half the second.
///
/// Value and gradient are computed outside of the graph, which keeps one tensor of the size of the logits for them:
/// with d = ln p − ln q, the gradient is ½·(p·(d − KL(p‖q)) + p − q) for the logits of the first pass.
///
/// # Shapes
/// - `logits`: `[2·rows, vocab]`, `targets`: `[2·rows]` ids → `[1]`
pub(crate) fn divergence(logits: Tensor<2>, targets: Tensor<1, Int>, pad: u32) -> Tensor<1> {
    let rows = logits.dims()[0] / 2;
    let real = targets.narrow(0, 0, rows).not_equal_scalar(i64::from(pad)).float();
    let real = real.inner().unsqueeze_dim::<2>(1);
    let logs = log_softmax(logits.clone().inner(), 1);
    let [log_p, log_q] = [0, rows].map(|start| logs.clone().narrow(0, start, rows));
    drop(logs);
    let (p, q) = (log_p.clone().exp(), log_q.clone().exp());
    let ratio = (log_p - log_q) * real.clone();
    let apart = (p.clone() - q.clone()) * real;
    let of_p = (p.clone() * ratio.clone()).sum_dim(1);
    let of_q = (q.clone() * ratio.clone()).sum_dim(1).neg();
    let value = (of_p.clone() + of_q.clone()).sum() / 2.0;
    let gradient_p = p * (ratio.clone() - of_p) + apart.clone();
    let gradient_q = q * (ratio.neg() - of_q) - apart;
    let gradient = Tensor::cat(vec![gradient_p, gradient_q], 0) / 2.0;
    // A sum with this gradient, moved to the value.
    let linear = (logits * Tensor::from_inner(gradient)).sum();
    linear.clone() - linear.detach() + Tensor::from_inner(value)
}

#[cfg(test)]
mod tests {
    use burn::tensor::activation::softmax;
    use burn::tensor::{Device, Distribution, TensorData};

    use super::*;

    const PAD: u32 = 0;

    /// Logits of three positions in two passes, of which the second position is padding.
    fn random() -> (Tensor<2>, Tensor<1, Int>) {
        let device = Device::default().autodiff();
        device.seed(7);
        let logits = Tensor::random([6, 11], Distribution::Normal(0.0, 2.0), &device);
        let targets = Tensor::from_data(TensorData::from([3, 0, 7, 3, 0, 7]), &device);
        (logits.require_grad(), targets)
    }

    fn value(tensor: Tensor<1>) -> f32 {
        tensor.into_scalar()
    }

    fn largest(difference: Tensor<2>) -> f32 {
        difference.abs().max().into_scalar()
    }

    /// The formula of the paper (equation 2) with Burn's own gradients.
    fn by_formula(logits: Tensor<2>) -> Tensor<1> {
        let pass = |start| logits.clone().narrow(0, start, 3).select(0, real());
        let kl = |a: Tensor<2>, b: Tensor<2>| {
            (softmax(a.clone(), 1) * (softmax(a, 1).log() - softmax(b, 1).log())).sum()
        };
        (kl(pass(0), pass(3)) + kl(pass(3), pass(0))) / 2.0
    }

    fn real() -> Tensor<1, Int> {
        Tensor::from_data(TensorData::from([0, 2]), &Device::default().autodiff())
    }

    #[test]
    fn value_and_gradient_are_those_of_the_papers_formula() {
        let (logits, targets) = random();
        let ours = divergence(logits.clone(), targets, PAD);
        let formula = by_formula(logits.clone());
        assert!((value(ours.clone()) - value(formula.clone())).abs() < 1e-5);
        assert!(value(ours.clone()) > 1.0);
        let gradient = |loss: Tensor<1>| logits.grad(&(loss * 3.0).backward()).unwrap();
        let (ours, formula) = (gradient(ours), gradient(formula));
        assert!(largest(formula.clone()) > 0.1);
        assert!(largest(ours.clone() - formula) < 1e-5);
        let padding = ours.narrow(0, 1, 1);
        assert_eq!(largest(padding), 0.0);
    }

    #[test]
    fn the_gradient_is_that_of_finite_differences() {
        let (logits, targets) = random();
        let at = |logits: Tensor<2>| value(divergence(logits, targets.clone(), PAD));
        let gradient = divergence(logits.clone(), targets.clone(), PAD).backward();
        let gradient = logits.grad(&gradient).unwrap().into_data();
        let numbers: Vec<f32> = logits.into_data().iter().collect();
        let moved = |i: usize, by: f32| {
            let mut numbers = numbers.clone();
            numbers[i] += by;
            at(Tensor::from_data(TensorData::new(numbers, [6, 11]), &Device::default().autodiff()))
        };
        for (i, expected) in gradient.iter::<f32>().enumerate() {
            let slope = (moved(i, 1e-2) - moved(i, -1e-2)) / 2e-2;
            assert!((slope - expected).abs() < 2e-3, "{i}: {slope} {expected}");
        }
    }

    #[test]
    fn equal_predictions_do_not_diverge() {
        let (logits, targets) = random();
        let pass = logits.inner().narrow(0, 0, 3);
        let twice = Tensor::from_inner(Tensor::cat(vec![pass.clone(), pass], 0)).require_grad();
        let loss = divergence(twice.clone(), targets, PAD);
        assert_eq!(value(loss.clone()), 0.0);
        assert!(largest(twice.grad(&loss.backward()).unwrap()) < 1e-7);
    }
}
