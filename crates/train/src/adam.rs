mod on_device;

use std::collections::BTreeMap;

use burn::module::{Module, ModuleMapper, Param};
use burn::tensor::{Device, Tensor, TensorData};
use burnformer_core::{data_now, trained_parameter_sizes};
use burnformer_kernels::{AdamStep, Moving, adam_step};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::gradients::FlatGradients;

/// Adam's constants (Kingma and Ba, 2015) with the paper's values (§5.3).
#[derive(Clone, Copy, Debug, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AdamSettings {
    /// The decay rate of the first moment, the running mean of the gradients; from 0 to below 1.
    pub beta1: f64,
    /// The decay rate of the second moment, the running mean of the squared gradients; from 0 to below 1. The
    /// paper has 0.98, where most libraries have 0.999: shorter memory suits its rising learning rate.
    pub beta2: f64,
    /// The number added to the root of the second moment, so that it is never divided by zero; above 0. The
    /// paper has 1e-9, where most libraries have 1e-8.
    pub epsilon: f64,
    /// The largest norm of the gradient over all parameters together; a gradient with a larger norm is scaled
    /// down to it. 0 clips nothing, as in the paper. Set it to about 1 if the loss jumps; recurrent models need it.
    pub clip_norm: f64,
}

impl Default for AdamSettings {
    fn default() -> Self {
        Self { beta1: 0.9, beta2: 0.98, epsilon: 1e-9, clip_norm: 0.0 }
    }
}

/// Adam over the trained parameters of one module, its moments flat and in visiting order. Frozen parameters have none.
#[derive(Clone, Debug)]
pub struct Adam {
    settings: AdamSettings,
    names: Vec<String>,
    first: Vec<Tensor<1>>,
    second: Vec<Tensor<1>>,
    step: u64,
    /// 1 − βᵗ of both moments, each `[1]`, if the device decides about steps, so that only the device knows t.
    bias: Option<[Tensor<1>; 2]>,
}

impl Adam {
    /// An optimiser for `module` before its first step.
    pub fn new<M: Module>(settings: AdamSettings, module: &M) -> Self {
        let (names, sizes): (Vec<_>, Vec<_>) = trained_parameter_sizes(module).into_iter().unzip();
        let device = module.devices().into_iter().next().unwrap_or_default();
        let zeros = |sizes: &[usize]| {
            sizes.iter().map(|&size| Tensor::<1>::zeros([size], &device).inner()).collect()
        };
        let (first, second) = (zeros(&sizes), zeros(&sizes));
        Self { settings, names, first, second, step: 0, bias: None }
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
        let AdamSettings { beta1, beta2, epsilon, .. } = self.settings;
        let step = AdamStep {
            rate,
            beta_1: beta1,
            beta_2: beta2,
            epsilon,
            time: self.step,
            gradient_scale: scale,
        };
        self.map(module, gradients, |moving, gradient| adam_step(moving, gradient, step))
    }

    /// Changes each parameter of `module` and its moments by `step`, in the order in which the module visits them.
    fn map<M: Module>(
        &mut self,
        module: M,
        gradients: FlatGradients,
        step: impl FnMut(Moving<1>, Tensor<1>) -> Moving<1>,
    ) -> M {
        let mut mapper = StepMapper {
            gradients: gradients.into_inner().into_iter(),
            first: std::mem::take(&mut self.first).into_iter(),
            second: std::mem::take(&mut self.second).into_iter(),
            moved: (Vec::new(), Vec::new()),
            step,
        };
        let module = module.map(&mut mapper);
        (self.first, self.second) = mapper.moved;
        module
    }

    /// The moments by name, `first.NAME` and `second.NAME`, each flat.
    pub fn named_moments(&self) -> BTreeMap<String, TensorData> {
        let named = |prefix: &'static str, moments: &[Tensor<1>]| {
            let pairs = self.names.iter().zip(moments.to_vec());
            pairs
                .map(move |(name, m)| (format!("{prefix}.{name}"), data_now(m)))
                .collect::<Vec<_>>()
        };
        let first = named("first", &self.first);
        first.into_iter().chain(named("second", &self.second)).collect()
    }

    /// Continues from saved moments after `step` steps. Returns `None` if the moments belong to another module.
    pub fn restore(
        mut self,
        step: u64,
        mut moments: BTreeMap<String, TensorData>,
        device: &Device,
    ) -> Option<Self> {
        let sides = [("first", &mut self.first), ("second", &mut self.second)];
        for (prefix, side) in sides {
            for (name, moment) in self.names.iter().zip(side.iter_mut()) {
                let data = moments.remove(&format!("{prefix}.{name}"))?;
                if data.shape().to_vec() != moment.dims() {
                    return None;
                }
                *moment = Tensor::<1>::from_data(data, device).inner();
            }
        }
        self.step = step;
        moments.is_empty().then_some(self)
    }
}

/// Makes a step of each parameter in turn, and moves its moments from one list to the other.
struct StepMapper<F> {
    gradients: std::vec::IntoIter<Tensor<1>>,
    first: std::vec::IntoIter<Tensor<1>>,
    second: std::vec::IntoIter<Tensor<1>>,
    moved: (Vec<Tensor<1>>, Vec<Tensor<1>>),
    step: F,
}

impl<F: FnMut(Moving<1>, Tensor<1>) -> Moving<1>> ModuleMapper for StepMapper<F> {
    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        if !param.val().is_require_grad() {
            return param;
        }
        let (gradient, first, second) =
            (self.gradients.next(), self.first.next(), self.second.next());
        let expected = "a gradient and two moments for each trained parameter";
        param.map(|old| {
            let shape = old.dims();
            let moving = Moving {
                parameter: old.inner().reshape([-1]),
                first: first.expect(expected),
                second: second.expect(expected),
            };
            let Moving { parameter, first, second } =
                (self.step)(moving, gradient.expect(expected));
            self.moved.0.push(first);
            self.moved.1.push(second);
            Tensor::from_inner(parameter.reshape(shape)).require_grad()
        })
    }
}

#[cfg(test)]
mod tests {
    use burnformer_core::{Linear, RandomKey, named_parameters};

    use super::*;

    pub(super) fn device() -> Device {
        Device::default().autodiff()
    }

    /// Gradients of the squares of `linear`'s outputs.
    pub(super) fn gradients(linear: &Linear) -> FlatGradients {
        let x = Tensor::<3>::ones([1, 2, 3], &device());
        let mut gradients = linear.forward(x).powf_scalar(2.0).sum().backward();
        FlatGradients::take(linear, &mut gradients)
    }

    #[test]
    fn restored_moments_continue_bit_for_bit() {
        let mut linear = Linear::new(3, 2, RandomKey::new(1), &device());
        let mut adam = Adam::new(AdamSettings::default(), &linear);
        let step = |adam: &mut Adam, linear: Linear| {
            let gradients = gradients(&linear);
            adam.step(linear, gradients, 1.0, 0.01)
        };
        linear = step(&mut adam, linear);
        let fresh = Adam::new(AdamSettings::default(), &linear);
        let mut restored = fresh.restore(1, adam.named_moments(), &device()).unwrap();
        let one = named_parameters(&step(&mut adam, linear.clone()));
        let other = named_parameters(&step(&mut restored, linear));
        for (name, value) in one {
            value.assert_eq(&other[&name], true);
        }
    }
}
