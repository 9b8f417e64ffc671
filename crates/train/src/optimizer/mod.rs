//! The optimiser: Adam, or Muon for the matrices of the stacks and Adam for the rest.

pub(crate) mod gradients;
mod moments;
mod muon;
mod on_device;
pub(crate) mod settings;

use std::collections::BTreeMap;

use burn::tensor::{Device, Tensor, TensorData};
use burnformer_core::{Parameters, Precision, trained_parameter_shapes};
use burnformer_kernels::{AdamStep, adam_step};

use self::gradients::FlatGradients;
use self::moments::Moments;
pub(crate) use self::moments::is_finite;
use self::muon::{MOMENTUM, Matrix};
pub use self::settings::{Algorithm, OptimizerSettings};

/// The optimiser of the trained parameters of one module, with their moments. Frozen parameters
/// have none.
#[derive(Clone, Debug)]
pub struct Optimizer {
    settings: OptimizerSettings,
    /// The number type of the products in Muon's steps.
    precision: Precision,
    pub(crate) moments: Moments,
    step: u64,
    /// 1 − βᵗ of both moments of Adam, each `[1]`, if the device decides about steps, so that only
    /// the device knows t.
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
        Self { settings, precision: Precision::Float32, moments, step: 0, bias: None }
    }

    /// The optimiser with the matrix products of Muon in `precision`: bfloat16 on a CPU that is
    /// faster in it, float32 otherwise.
    pub fn in_precision(self, precision: Precision) -> Self {
        Self { precision, ..self }
    }

    /// The number of steps made, without those that the device decided about and the host has not
    /// read yet.
    pub fn steps(&self) -> u64 {
        self.step
    }

    /// Makes one step along `gradients` times `scale` (see [`clip_factor`](crate::clip_factor))
    /// with the learning rate `rate`, in place if nothing else shares the module's parameters.
    pub fn step<M: Parameters>(
        &mut self,
        module: M,
        gradients: FlatGradients,
        scale: f64,
        rate: f64,
    ) -> M {
        self.step += 1;
        self.bias = None;
        let OptimizerSettings { beta1, beta2, epsilon, muon_factor, .. } = self.settings;
        let step = AdamStep {
            rate,
            beta_1: beta1,
            beta_2: beta2,
            epsilon,
            time: self.step,
            gradient_scale: scale,
        };
        let precision = self.precision;
        let adam = |moving, gradient| adam_step(moving, gradient, step);
        let muon = |matrix: Matrix, gradient: Tensor<1>| {
            matrix.step(gradient * scale, MOMENTUM, rate * muon_factor, precision)
        };
        self.moments.map(module, gradients, adam, muon)
    }

    /// The moments by name, flat: `first.NAME` and `second.NAME` of Adam, `momentum.NAME` of Muon.
    pub fn named_moments(&self) -> BTreeMap<String, TensorData> {
        self.moments.named()
    }

    /// Continues from saved moments after `step` steps. Returns `None` if the moments belong to
    /// another module or to another algorithm.
    pub fn restore(
        mut self,
        step: u64,
        moments: BTreeMap<String, TensorData>,
        device: &Device,
    ) -> Option<Self> {
        self.moments = self.moments.restore(moments, device)?;
        self.step = step;
        Some(self)
    }
}

#[cfg(test)]
mod tests {
    use burn::module::Module;
    use burnformer_core::{Linear, RandomKey, named_parameters};

    use super::*;

    /// A matrix that Muon moves, and one that it leaves to Adam.
    #[derive(Module, Debug)]
    pub(super) struct Stack {
        encoder: Linear,
        generator: Linear,
    }

    pub(super) fn stack() -> Stack {
        let linear =
            |seed, inputs, outputs| Linear::new(inputs, outputs, RandomKey::new(seed), &device());
        Stack { encoder: linear(1, 3, 4), generator: linear(2, 4, 2) }
    }

    pub(super) fn device() -> Device {
        Device::default().autodiff()
    }

    /// The default settings with either algorithm.
    pub(super) fn both() -> [OptimizerSettings; 2] {
        let with = |algorithm| OptimizerSettings { algorithm, ..OptimizerSettings::default() };
        [Algorithm::Adam, Algorithm::Muon].map(with)
    }

    /// Gradients of the squares of `stack`'s outputs.
    pub(super) fn gradients(stack: &Stack) -> FlatGradients {
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
            let mut restored = fresh.restore(1, optimizer.named_moments(), &device()).unwrap();
            let one = named_parameters(&step(&mut optimizer, stack.clone()));
            let other = named_parameters(&step(&mut restored, stack));
            for (name, value) in one {
                value.assert_eq(&other[&name], true);
            }
        }
    }

    #[test]
    fn muon_moves_the_matrices_of_the_stacks_alone() {
        let [adam, muon] =
            both().map(|settings| Optimizer::new(settings, &stack()).named_moments());
        let kinds = |moments: BTreeMap<String, TensorData>| {
            let kinds = moments.into_keys().filter(|name| name.ends_with("weight"));
            kinds.collect::<Vec<_>>()
        };
        assert_eq!(
            kinds(adam),
            [
                "first.encoder.weight",
                "first.generator.weight",
                "second.encoder.weight",
                "second.generator.weight"
            ]
        );
        assert_eq!(
            kinds(muon),
            ["first.generator.weight", "momentum.encoder.weight", "second.generator.weight"]
        );
    }

    #[test]
    fn moments_of_the_other_algorithm_are_refused() {
        let [adam, muon] = both().map(|settings| Optimizer::new(settings, &stack()));
        assert!(adam.clone().restore(1, muon.named_moments(), &device()).is_none());
        assert!(muon.restore(1, adam.named_moments(), &device()).is_none());
    }
}
