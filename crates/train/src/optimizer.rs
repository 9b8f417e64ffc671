//! The optimiser: Adam, or Muon for the matrices of the stacks and Adam for the rest.

mod moments;
mod muon;
mod on_device;

use std::collections::BTreeMap;

use burn::module::Module;
use burn::tensor::{Device, Tensor, TensorData};
use burnformer_core::{Precision, trained_parameter_shapes};
use burnformer_kernels::{AdamStep, adam_step};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use self::moments::Moments;
use self::muon::Matrix;
use crate::gradients::FlatGradients;

/// Which rule moves the parameters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Algorithm {
    /// Adam for every parameter (Kingma and Ba, 2015), as in the paper (§5.3).
    #[default]
    Adam,
    /// Muon (Jordan et al., 2024) for the matrices of the encoder and the decoder, Adam for embeddings, biases and norms.
    Muon,
}

/// The constants of the optimiser. Those of Adam have the paper's values (§5.3).
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct OptimizerSettings {
    /// The rule that moves the parameters: `adam` for all of them, as in the paper, or `muon` for the matrices of the
    /// encoder and the decoder and Adam for the rest. Muon steps along the orthogonal matrix nearest to the running sum of
    /// the gradients, which makes all directions of a matrix learn at the same speed. In short runs of small models it
    /// reaches the loss of Adam in about two thirds of the updates; an update takes little longer.
    pub algorithm: Algorithm,
    /// The decay rate of Adam's first moment, the running mean of the gradients; from 0 to below 1.
    pub beta1: f64,
    /// The decay rate of Adam's second moment, the running mean of the squared gradients; from 0 to below 1. The
    /// paper has 0.98, where most libraries have 0.999: shorter memory suits its rising learning rate.
    pub beta2: f64,
    /// The number added to the root of the second moment, so that it is never divided by zero; above 0. The
    /// paper has 1e-9, where most libraries have 1e-8.
    pub epsilon: f64,
    /// The decay rate of Muon's running sum of the gradients; from 0 to below 1.
    pub momentum: f64,
    /// The factor by which the learning rate is multiplied for the matrices that Muon moves; above 0. With 1 their entries
    /// move about as far as Adam would move them.
    pub muon_factor: f64,
    /// The largest norm of the gradient over all parameters together; a gradient with a larger norm is scaled
    /// down to it. 0 clips nothing, as in the paper. Set it to about 1 if the loss jumps; recurrent models need it.
    pub clip_norm: f64,
}

impl Default for OptimizerSettings {
    fn default() -> Self {
        Self {
            algorithm: Algorithm::Adam,
            beta1: 0.9,
            beta2: 0.98,
            epsilon: 1e-9,
            momentum: 0.95,
            muon_factor: 1.0,
            clip_norm: 0.0,
        }
    }
}

/// Whether all entries of `x` are finite.
pub(crate) fn is_finite<const D: usize>(x: Tensor<D>) -> bool {
    x.is_finite().all().into_scalar::<bool>()
}

/// The optimiser of the trained parameters of one module, with their moments. Frozen parameters have none.
#[derive(Clone, Debug)]
pub struct Optimizer {
    settings: OptimizerSettings,
    /// The number type of the products in Muon's steps.
    precision: Precision,
    moments: Moments,
    step: u64,
    /// 1 − βᵗ of both moments of Adam, each `[1]`, if the device decides about steps, so that only the device knows t.
    bias: Option<[Tensor<1>; 2]>,
}

impl Optimizer {
    /// An optimiser for `module` before its first step.
    pub fn new<M: Module>(settings: OptimizerSettings, module: &M) -> Self {
        let device = module.devices().into_iter().next().unwrap_or_default();
        let shapes = trained_parameter_shapes(module);
        let moments = Moments::new(shapes, settings.algorithm, &device);
        Self { settings, precision: Precision::Float32, moments, step: 0, bias: None }
    }

    /// The optimiser with the matrix products of Muon in `precision`: bfloat16 on a CPU that is faster in it, float32
    /// otherwise.
    pub fn in_precision(self, precision: Precision) -> Self {
        Self { precision, ..self }
    }

    /// The number of steps made, without those that the device decided about and the host has not read yet.
    pub fn steps(&self) -> u64 {
        self.step
    }

    /// Makes one step along `gradients` times `scale` (see [`clip_factor`](crate::clip_factor)) with the learning rate
    /// `rate`, in place if nothing else shares the module's parameters.
    pub fn step<M: Module>(
        &mut self,
        module: M,
        gradients: FlatGradients,
        scale: f64,
        rate: f64,
    ) -> M {
        self.step += 1;
        self.bias = None;
        let OptimizerSettings { beta1, beta2, epsilon, momentum, muon_factor, .. } = self.settings;
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
            matrix.step(gradient * scale, momentum, rate * muon_factor, precision)
        };
        self.moments.map(module, gradients, adam, muon)
    }

    /// Whether all moments are finite. A parameter of an infinite moment would never move again.
    pub(crate) fn has_finite_moments(&self) -> bool {
        self.moments.are_finite()
    }

    /// The moments by name, flat: `first.NAME` and `second.NAME` of Adam, `momentum.NAME` of Muon.
    pub fn named_moments(&self) -> BTreeMap<String, TensorData> {
        self.moments.named()
    }

    /// Continues from saved moments after `step` steps. Returns `None` if the moments belong to another module or to
    /// another algorithm.
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
