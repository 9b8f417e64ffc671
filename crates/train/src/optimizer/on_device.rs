//! Steps of the optimiser for which the device decides whether they are made, so that the host need
//! not wait.

use burn::tensor::{Bool, Device, Tensor};
use burnformer_core::Parameters;
use burnformer_kernels::Moving;

use super::Optimizer;
use super::gradients::FlatGradients;
use super::muon::{MOMENTUM, Matrix};

impl Optimizer {
    /// Makes a [`step`](Self::step) if `finite` (`[1]`) is true; otherwise parameters and moments
    /// stay unchanged. `scale` is `[1]` too. The host does not learn which of the two happened, and
    /// so does not know the number of steps: tell it with [`settle`](Self::settle) before the
    /// moments are saved.
    pub fn step_where<M: Parameters>(
        &mut self,
        finite: Tensor<1, Bool>,
        module: M,
        gradients: FlatGradients,
        scale: Tensor<1>,
        rate: f64,
    ) -> M {
        let [beta1, beta2] = self.betas();
        let epsilon = self.settings.epsilon;
        let before = self.bias.take().unwrap_or_else(|| self.bias(&finite.device()));
        let now = next_bias(before, [beta1, beta2], &finite);
        self.bias = Some(now.clone());
        let [bias1, bias2] = now;
        let muon_factor = self.settings.muon_factor;
        let precision = self.precision;
        let adam = |old: Moving<1>, gradient: Tensor<1>| {
            let gradient = gradient * scale.clone();
            let first = old.first.clone() * beta1 + gradient.clone() * (1.0 - beta1);
            let second = old.second.clone() * beta2 + gradient.square() * (1.0 - beta2);
            let root = (second.clone() / bias2.clone()).sqrt() + epsilon;
            let moved = first.clone() / bias1.clone() / root * rate;
            let parameter = old.parameter.clone() - moved;
            let old = [old.parameter, old.first, old.second];
            let [parameter, first, second] = choose(&finite, [parameter, first, second], old);
            Moving { parameter, first, second }
        };
        let muon = |old: Matrix, gradient: Tensor<1>| {
            let gradient = gradient * scale.clone();
            let new = old.clone().step(gradient, MOMENTUM, rate * muon_factor, precision);
            let new = [new.parameter, new.momentum];
            let [parameter, momentum] = choose(&finite, new, [old.parameter, old.momentum]);
            Matrix { parameter, momentum, shape: old.shape }
        };
        self.moments.map(module, gradients, adam, muon)
    }

    /// Notes that the device has made `steps` steps since the last call.
    pub fn settle(&mut self, steps: u64) {
        self.step += steps;
    }

    fn betas(&self) -> [f64; 2] {
        [self.settings.beta1, self.settings.beta2]
    }

    /// 1 − βᵗ of both moments after the steps that the host knows of, each `[1]`. It is summed as
    /// the device does it, so that a resumed run continues with the same bits.
    fn bias(&self, device: &Device) -> [Tensor<1>; 2] {
        self.betas().map(|beta| {
            let next = |bias: f32, _| bias * beta as f32 + (1.0 - beta) as f32;
            Tensor::from_floats([(0..self.step).fold(0.0, next)], device)
        })
    }
}

/// 1 − βᵗ after one more step, if it is made: the moving average of ones, 1 − βᵗ⁺¹ = β(1 − βᵗ) + (1
/// − β). Unlike a power, it loses nothing to rounding while t is small; later at most 1.5e-6 for β
/// = 0.98.
fn next_bias(
    before: [Tensor<1>; 2],
    [beta1, beta2]: [f64; 2],
    finite: &Tensor<1, Bool>,
) -> [Tensor<1>; 2] {
    let [before1, before2] = before;
    let next = |before: Tensor<1>, beta: f64| {
        before.clone().mask_where(finite.clone(), before * beta + (1.0 - beta))
    };
    [next(before1, beta1), next(before2, beta2)]
}

/// `new` where `finite`, else `old`: tensors of one size.
fn choose<const N: usize>(
    finite: &Tensor<1, Bool>,
    new: [Tensor<1>; N],
    old: [Tensor<1>; N],
) -> [Tensor<1>; N] {
    let finite = finite.clone().expand(old[0].dims());
    let mut new = new.into_iter();
    old.map(|old| old.mask_where(finite.clone(), new.next().expect("as many as old ones")))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use burn::tensor::TensorData;
    use burnformer_core::named_parameters;

    use super::*;
    use crate::optimizer::tests::{Stack, both, device, gradients, stack};

    /// A step that is taken, or one along a gradient of NaN, which is not.
    fn step(optimizer: &mut Optimizer, stack: Stack, finite: bool) -> Stack {
        let gradients = gradients(&stack);
        let plain = Device::default();
        let scale = Tensor::from_floats([if finite { 0.5 } else { f32::NAN }], &plain);
        let finite = Tensor::<1, Bool>::from_data(TensorData::from([finite]), &plain);
        optimizer.step_where(finite, stack, gradients, scale, 0.01)
    }

    fn assert_close(a: &BTreeMap<String, TensorData>, b: &BTreeMap<String, TensorData>) {
        for (name, value) in a {
            for (a, b) in value.iter::<f32>().zip(b[name].iter::<f32>()) {
                assert!((a - b).abs() <= 1e-6 * (1.0 + b.abs()), "{name}: {a} {b}");
            }
        }
    }

    #[test]
    fn steps_that_are_not_taken_leave_no_trace_in_those_that_are() {
        for settings in both() {
            let mut host = stack();
            let mut device = host.clone();
            let mut by_host = Optimizer::new(settings, &host);
            let mut by_device = by_host.clone();
            for finite in [false, true, true, false, false, true] {
                let (before, moments) = (named_parameters(&device), by_device.named_moments());
                device = step(&mut by_device, device, finite);
                if finite {
                    let gradients = gradients(&host);
                    host = by_host.step(host, gradients, 0.5, 0.01);
                    assert_close(&named_parameters(&device), &named_parameters(&host));
                    assert_close(&by_device.named_moments(), &by_host.named_moments());
                } else {
                    assert_eq!(named_parameters(&device), before);
                    assert_eq!(by_device.named_moments(), moments);
                }
            }
            by_device.settle(3);
            assert_eq!(by_device.steps(), 3);
        }
    }

    #[test]
    fn a_restored_optimiser_steps_on_with_the_same_bits() {
        for settings in both() {
            let mut stack = stack();
            let mut optimizer = Optimizer::new(settings, &stack);
            for taken in 0..40 {
                stack = step(&mut optimizer, stack, taken % 4 != 1);
            }
            optimizer.settle(30);
            let moments = optimizer.named_moments();
            let restored = Optimizer::new(settings, &stack);
            let mut restored = restored.restore(30, moments, &device()).unwrap();
            let one = step(&mut optimizer, stack.clone(), true);
            let other = step(&mut restored, stack, true);
            assert_eq!(named_parameters(&one), named_parameters(&other));
        }
    }
}
