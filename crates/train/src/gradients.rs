use burn::module::{Module, ModuleVisitor, Param};
use burn::tensor::{Gradients, Tensor};

/// The gradients of a module's parameters, flat, in the order in which the module is visited.
#[derive(Clone, Debug)]
pub struct FlatGradients(Vec<Tensor<1>>);

impl FlatGradients {
    /// Takes every parameter's gradient out of `gradients`; zeros for one that took no part.
    pub fn take<M: Module>(module: &M, gradients: &mut Gradients) -> Self {
        struct Take<'a>(Vec<Tensor<1>>, &'a mut Gradients);
        impl ModuleVisitor for Take<'_> {
            fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
                let value = param.val();
                let count = value.shape().num_elements();
                let gradient = match value.grad_remove(self.1) {
                    Some(gradient) => gradient.reshape([count]),
                    None => Tensor::zeros([count], &value.inner().device()),
                };
                self.0.push(gradient);
            }
        }
        let mut take = Take(Vec::new(), gradients);
        module.visit(&mut take);
        Self(take.0)
    }

    /// The sum of both, element by element: gradient accumulation.
    pub fn add(self, other: Self) -> Self {
        Self(self.0.into_iter().zip(other.0).map(|(a, b)| a + b).collect())
    }

    /// The norm of all gradients taken as one vector, `[1]`, left on the device.
    pub fn global_norm(&self) -> Tensor<1> {
        let squares = self.0.iter().map(|g| (g.clone() * g.clone()).sum()).collect();
        Tensor::cat(squares, 0).sum().sqrt()
    }

    /// The gradients in visiting order.
    pub fn into_inner(self) -> Vec<Tensor<1>> {
        self.0
    }
}

/// What to multiply gradients of norm `norm` (`[1]`) by so that it does not exceed `limit`.
pub fn clip_factor(norm: Tensor<1>, limit: f64) -> Tensor<1> {
    ((norm + 1e-6).recip() * limit).clamp_max(1.0)
}

#[cfg(test)]
mod tests {
    use burn::tensor::Device;

    use super::*;

    fn flat(values: &[&[f32]]) -> FlatGradients {
        let device = Device::default();
        FlatGradients(values.iter().map(|v| Tensor::from_floats(*v, &device)).collect())
    }

    #[test]
    fn the_norm_is_over_all_parameters_together() {
        let norm: f32 = flat(&[&[3.0], &[0.0, 4.0]]).global_norm().into_scalar();
        assert_eq!(norm, 5.0);
    }

    #[test]
    fn clipping_scales_only_what_is_too_long() {
        let factor = |norm: f32| -> f32 {
            let norm = Tensor::from_floats([norm], &Device::default());
            clip_factor(norm, 2.0).into_scalar()
        };
        assert!((factor(4.0) - 0.5).abs() < 1e-6);
        assert_eq!(factor(1.0), 1.0);
        assert_eq!(factor(0.0), 1.0);
    }
}
