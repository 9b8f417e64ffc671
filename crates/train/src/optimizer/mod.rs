//! The optimiser: Adam, or Muon for the matrices of the stacks and Adam for the rest.

pub(crate) mod gradients;
mod moments;
mod muon;
pub(crate) mod settings;

use burn::tensor::{Bool, Device, Tensor};
use burnformer_core::{Parameters, Precision, StateDict, trained_parameter_shapes};
use burnformer_kernels::{AdamStep, Moving, adam_step};

use self::gradients::FlatGradients;
use self::moments::Moments;
pub(crate) use self::moments::is_finite;
use self::muon::{MOMENTUM, Matrix};
pub use self::settings::{Algorithm, OptimizerSettings};

/// The optimiser of the trained parameters of one module, with their moments. Frozen parameters
/// have no moments.
#[derive(Clone, Debug)]
pub struct Optimizer {
    settings: OptimizerSettings,
    /// The number type of the products in Muon's steps.
    precision: Precision,
    pub(crate) moments: Moments,
    step: u64,
    /// Adam's bias corrections 1 − βᵗ, each `[1]`, if only the device knows t.
    bias: Option<[Tensor<1>; 2]>,
}

impl Optimizer {
    /// An optimiser for `module` before its first step.
    pub fn new(settings: OptimizerSettings, module: &impl Parameters) -> Self {
        let mut device = None;
        module.each_parameter(&mut |_, param| device = device.take().or(Some(param.device())));
        let device = device.unwrap_or_default();
        let shapes = trained_parameter_shapes(module);
        let moments = Moments::new(shapes, settings.algorithm, &device);
        Self {
            settings,
            precision: Precision::Float32,
            moments,
            step: 0,
            bias: None,
        }
    }

    /// Sets the number type of Muon's matrix products: bfloat16 on a CPU where it is faster,
    /// float32 otherwise.
    pub fn in_precision(self, precision: Precision) -> Self {
        Self { precision, ..self }
    }

    /// The number of steps made. Steps of [`step_where`](Self::step_where) count after
    /// [`settle`](Self::settle).
    pub fn steps(&self) -> u64 {
        self.step
    }

    /// Makes one step along `gradients` times `scale` (see [`clip_factor`](crate::clip_factor))
    /// with the learning rate `rate`, in place if the module's parameters are not shared.
    pub fn step<M: Parameters>(
        &mut self,
        module: M,
        gradients: FlatGradients,
        scale: f64,
        rate: f64,
    ) -> M {
        self.step += 1;
        self.bias = None;
        let OptimizerSettings {
            beta1,
            beta2,
            epsilon,
            muon_factor,
            ..
        } = self.settings;
        let step = AdamStep {
            rate,
            beta_1: beta1,
            beta_2: beta2,
            epsilon,
            time: self.step,
            gradient_scale: scale,
        };
        let precision = self.precision;
        self.moments.map(
            module,
            gradients,
            |moving, gradient| adam_step(moving, gradient, step),
            |matrix: Matrix, gradient: Tensor<1>| {
                matrix.step(gradient * scale, MOMENTUM, rate * muon_factor, precision)
            },
        )
    }

    /// The moments by name, flat: `first.NAME` and `second.NAME` of Adam, `momentum.NAME` of Muon.
    pub fn named_moments(&self) -> StateDict {
        self.moments.named()
    }

    /// Continues from saved moments after `step` steps. Returns `None` if the moments belong to
    /// another module or to another algorithm.
    pub fn restore(mut self, step: u64, moments: StateDict, device: &Device) -> Option<Self> {
        self.moments = self.moments.restore(moments, device)?;
        self.step = step;
        Some(self)
    }

    /// Makes a [`step`](Self::step) if `finite` (`[1]`) is true; otherwise parameters and moments
    /// stay unchanged. `scale` is `[1]` too. The host does not learn whether the step was made;
    /// call
    /// [`settle`](Self::settle) with the number of steps before the moments are saved.
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
        let before = self
            .bias
            .take()
            .unwrap_or_else(|| self.bias(&finite.device()));
        let now = next_bias(before, [beta1, beta2], &finite);
        self.bias = Some(now.clone());
        let [bias1, bias2] = now;
        let muon_factor = self.settings.muon_factor;
        let precision = self.precision;
        self.moments.map(
            module,
            gradients,
            // Adam in plain tensors, because `adam_step` takes the scale and the corrections from the
            // host.
            |old: Moving<1>, gradient| {
                let gradient = gradient * scale.clone();
                let first = old.first.clone() * beta1 + gradient.clone() * (1.0 - beta1);
                let second = old.second.clone() * beta2 + gradient.square() * (1.0 - beta2);
                let root = (second.clone() / bias2.clone()).sqrt() + epsilon;
                let moved = first.clone() / bias1.clone() / root * rate;
                let parameter = old.parameter.clone() - moved;
                let old = [old.parameter, old.first, old.second];
                let [parameter, first, second] = choose(&finite, [parameter, first, second], old);
                Moving {
                    parameter,
                    first,
                    second,
                }
            },
            |old: Matrix, gradient| {
                let gradient = gradient * scale.clone();
                let new = old
                    .clone()
                    .step(gradient, MOMENTUM, rate * muon_factor, precision);
                let new = [new.parameter, new.momentum];
                let [parameter, momentum] = choose(&finite, new, [old.parameter, old.momentum]);
                Matrix {
                    parameter,
                    momentum,
                    shape: old.shape,
                }
            },
        )
    }

    /// Records `steps` steps of the device since the last call.
    pub fn settle(&mut self, steps: u64) {
        self.step += steps;
    }

    fn betas(&self) -> [f64; 2] {
        [self.settings.beta1, self.settings.beta2]
    }

    /// Adam's bias corrections 1 − βᵗ after the known steps, each `[1]`. They are summed like on
    /// the device, so that a resumed run continues with the same bits.
    fn bias(&self, device: &Device) -> [Tensor<1>; 2] {
        self.betas().map(|beta| {
            let mut bias = 0.0;
            for _ in 0..self.step {
                bias = bias * beta as f32 + (1.0 - beta) as f32;
            }
            Tensor::from_floats([bias], device)
        })
    }
}

/// 1 − βᵗ after one more step, if it is made: the moving average of ones, 1 − βᵗ⁺¹ = β(1 − βᵗ) + (1
/// − β). For small t it is exact, unlike a power; later its error is at most 1.5e-6 for β = 0.98.
fn next_bias(
    before: [Tensor<1>; 2],
    [beta1, beta2]: [f64; 2],
    finite: &Tensor<1, Bool>,
) -> [Tensor<1>; 2] {
    let [before1, before2] = before;
    let after1 = before1.clone() * beta1 + (1.0 - beta1);
    let after2 = before2.clone() * beta2 + (1.0 - beta2);
    [
        before1.mask_where(finite.clone(), after1),
        before2.mask_where(finite.clone(), after2),
    ]
}

/// `new` if `finite`, else `old`. All tensors have the same size.
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
    use burn::module::Module;
    use burn::tensor::TensorData;
    use burnformer_core::{Linear, RandomKey, named_parameters};

    use super::*;

    /// A matrix for Muon, and one for Adam.
    #[derive(Module, Debug)]
    struct Stack {
        encoder: Linear,
        generator: Linear,
    }

    fn stack() -> Stack {
        let linear =
            |seed, inputs, outputs| Linear::new(inputs, outputs, RandomKey::new(seed), &device());
        Stack {
            encoder: linear(1, 3, 4),
            generator: linear(2, 4, 2),
        }
    }

    fn device() -> Device {
        Device::default().autodiff()
    }

    /// The default settings with either algorithm.
    fn both() -> [OptimizerSettings; 2] {
        [Algorithm::Adam, Algorithm::Muon].map(|algorithm| OptimizerSettings {
            algorithm,
            ..OptimizerSettings::default()
        })
    }

    /// Gradients of the squares of `stack`'s outputs.
    fn gradients(stack: &Stack) -> FlatGradients {
        let x = Tensor::<3>::ones([1, 2, 3], &device());
        let outputs = stack.generator.forward(stack.encoder.forward(x));
        FlatGradients::take(stack, &mut outputs.powf_scalar(2.0).sum().backward())
    }

    fn step(optimizer: &mut Optimizer, stack: Stack) -> Stack {
        let gradients = gradients(&stack);
        optimizer.step(stack, gradients, 1.0, 0.01)
    }

    #[test]
    fn restored_moments_continue_bit_for_bit() {
        for settings in both() {
            let mut stack = stack();
            let mut optimizer = Optimizer::new(settings, &stack);
            stack = step(&mut optimizer, stack);
            let fresh = Optimizer::new(settings, &stack);
            let mut restored = fresh
                .restore(1, optimizer.named_moments(), &device())
                .unwrap();
            let one = named_parameters(&step(&mut optimizer, stack.clone()));
            let other = named_parameters(&step(&mut restored, stack));
            for (name, value) in one {
                value.assert_eq(&other[&name], true);
            }
        }
    }

    /// The names of the moments of weights.
    fn of_weights(moments: StateDict) -> Vec<String> {
        moments
            .into_keys()
            .filter(|name| name.ends_with("weight"))
            .collect()
    }

    #[test]
    fn muon_moves_the_matrices_of_the_stacks_alone() {
        let [adam, muon] =
            both().map(|settings| Optimizer::new(settings, &stack()).named_moments());
        assert_eq!(
            of_weights(adam),
            [
                "first.encoder.weight",
                "first.generator.weight",
                "second.encoder.weight",
                "second.generator.weight"
            ]
        );
        assert_eq!(
            of_weights(muon),
            [
                "first.generator.weight",
                "momentum.encoder.weight",
                "second.generator.weight"
            ]
        );
    }

    #[test]
    fn moments_of_the_other_algorithm_are_refused() {
        let [adam, muon] = both().map(|settings| Optimizer::new(settings, &stack()));
        assert!(
            adam.clone()
                .restore(1, muon.named_moments(), &device())
                .is_none()
        );
        assert!(muon.restore(1, adam.named_moments(), &device()).is_none());
    }

    /// A step, or a skipped step along a gradient of NaN.
    fn step_where(optimizer: &mut Optimizer, stack: Stack, finite: bool) -> Stack {
        let gradients = gradients(&stack);
        let plain = Device::default();
        let scale = Tensor::from_floats([if finite { 0.5 } else { f32::NAN }], &plain);
        let finite = Tensor::<1, Bool>::from_data(TensorData::from([finite]), &plain);
        optimizer.step_where(finite, stack, gradients, scale, 0.01)
    }

    fn assert_close(a: &StateDict, b: &StateDict) {
        for (name, value) in a {
            for (a, b) in value.iter::<f32>().zip(b[name].iter::<f32>()) {
                assert!((a - b).abs() <= 1e-6 * (1.0 + b.abs()), "{name}: {a} {b}");
            }
        }
    }

    #[test]
    fn skipped_steps_leave_no_trace() {
        for settings in both() {
            let mut host = stack();
            let mut device = host.clone();
            let mut by_host = Optimizer::new(settings, &host);
            let mut by_device = by_host.clone();
            for finite in [false, true, true, false, false, true] {
                let before = named_parameters(&device);
                let moments = by_device.named_moments();
                device = step_where(&mut by_device, device, finite);
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
                stack = step_where(&mut optimizer, stack, taken % 4 != 1);
            }
            optimizer.settle(30);
            let moments = optimizer.named_moments();
            let restored = Optimizer::new(settings, &stack);
            let mut restored = restored.restore(30, moments, &device()).unwrap();
            let one = step_where(&mut optimizer, stack.clone(), true);
            let other = step_where(&mut restored, stack, true);
            assert_eq!(named_parameters(&one), named_parameters(&other));
        }
    }
}
