use burn::tensor::{Device, Gradients, Tensor};
use burnformer_core::Parameters;
use burnformer_kernels::{global_norm, sum_of_squares};

/// The gradients of a module's trained parameters, flat, in the order of the module.
#[derive(Clone, Debug)]
pub struct FlatGradients(pub Vec<Tensor<1>>);

impl FlatGradients {
    /// Takes the gradient of every trained parameter out of `gradients`. A parameter without
    /// influence on the loss has a gradient of zeros.
    pub fn take(module: &impl Parameters, gradients: &mut Gradients) -> Self {
        let mut taken = Vec::new();
        module.each_parameter(&mut |_, param| {
            if param.is_trained() {
                let gradient = param.take_gradient(gradients);
                taken.push(gradient.unwrap_or_else(|| param.flat().zeros_like()));
            }
        });
        Self(taken)
    }

    /// The element-wise sum, for gradient accumulation.
    pub fn plus(self, other: Self) -> Self {
        Self(
            self.0
                .into_iter()
                .zip(other.0)
                .map(|(a, b)| a + b)
                .collect(),
        )
    }

    /// Returns the norm of all gradients as one vector, summed in a fixed order. It is infinite if
    /// its square overflows float32, because Adam squares the gradients in float32.
    pub fn global_norm(&self) -> f64 {
        norm_of(self.0.iter().map(|g| sum_of_squares(g.clone())).sum())
    }

    /// Computes the [`global_norm`](Self::global_norm) as a tensor `[1]` on the device of the
    /// gradients. The host does not wait.
    pub fn norm_on_device(&self) -> Tensor<1> {
        global_norm(&self.0)
    }

    /// The gradients, moved to `device`.
    pub fn moved_to(self, device: &Device) -> Self {
        Self(
            self.0
                .into_iter()
                .map(|gradient| gradient.to_device(device))
                .collect(),
        )
    }
}

/// The square root of a sum of squares; infinite if float32 cannot hold the sum.
fn norm_of(squares: f64) -> f64 {
    let narrow = squares as f32;
    if narrow.is_finite() {
        squares.sqrt()
    } else {
        f64::from(narrow)
    }
}

/// Returns the factor that scales gradients from norm `norm` down to norm `limit`. It is 1 if
/// `norm` is at most `limit`, or if `limit` is 0.
pub fn clip_factor(norm: f64, limit: f64) -> f64 {
    if limit > 0.0 {
        (limit / (norm + 1e-6)).min(1.0)
    } else {
        1.0
    }
}

/// The [`clip_factor`] of a norm `[1]` on the device.
pub(crate) fn clip_factor_on_device(norm: Tensor<1>, limit: f64) -> Tensor<1> {
    if limit > 0.0 {
        ((norm + 1e-6).recip() * limit).clamp_max(1.0)
    } else {
        norm.ones_like()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flat(values: &[&[f32]]) -> FlatGradients {
        let device = Device::default();
        FlatGradients(
            values
                .iter()
                .map(|v| Tensor::from_floats(*v, &device))
                .collect(),
        )
    }

    #[test]
    fn the_norm_is_over_all_parameters_together() {
        let gradients = flat(&[&[3.0], &[0.0, 4.0]]);
        assert_eq!(gradients.global_norm(), 5.0);
        assert_eq!(gradients.norm_on_device().into_scalar::<f32>(), 5.0);
    }

    #[test]
    fn a_norm_with_an_overflowing_square_is_infinite() {
        // 1.8446744e19 is the root of float32's largest number. The last case exceeds it only with
        // all three parts.
        let too_long: [&[&[f32]]; 3] = [
            &[&[2e19]],
            &[&[1.0, 2.0], &[-3e30]],
            &[&[1.2e19], &[1.2e19], &[1.2e19]],
        ];
        for values in too_long {
            let gradients = flat(values);
            assert_eq!(gradients.global_norm(), f64::INFINITY, "{values:?}");
            assert_eq!(
                gradients.norm_on_device().into_scalar::<f32>(),
                f32::INFINITY,
                "{values:?}"
            );
        }
        let long = flat(&[&[1.2e19], &[1.2e19]]);
        let on_device = f64::from(long.norm_on_device().into_scalar::<f32>());
        for norm in [long.global_norm(), on_device] {
            assert!((norm / 1.2e19 - 2f64.sqrt()).abs() < 1e-6, "{norm}");
        }
        assert!(flat(&[&[f32::NAN, 2e19]]).global_norm().is_nan());
    }

    #[test]
    fn clipping_scales_only_larger_norms() {
        assert!((clip_factor(4.0, 2.0) - 0.5).abs() < 1e-6);
        assert_eq!(clip_factor(1.0, 2.0), 1.0);
        assert_eq!(clip_factor(0.0, 2.0), 1.0);
        assert_eq!(clip_factor(9.0, 0.0), 1.0);
        for (norm, limit) in [(4.0, 2.0), (1.0, 2.0), (0.0, 2.0), (9.0, 0.0)] {
            let on_device = Tensor::from_floats([norm as f32], &Device::default());
            let factor = clip_factor_on_device(on_device, limit).into_scalar::<f32>();
            assert!(
                (f64::from(factor) - clip_factor(norm, limit)).abs() < 1e-6,
                "{norm} {limit}"
            );
        }
    }
}
