//! Adam's step on every device (`BURN_DEVICE` names one).

use burn::tensor::{Device, Tensor};
use burnformer_core::{Linear, named_parameters};
use burnformer_kernels::RandomKey;
use burnformer_train::{FlatGradients, Optimizer, OptimizerSettings};

/// Values that were read before a step stay the same, though the step is taken in place.
#[test]
fn the_first_step_moves_every_weight_by_the_rate_against_its_gradient() {
    let device = Device::default().autodiff();
    let linear = Linear::new(3, 2, RandomKey::new(1), &device);
    let before = named_parameters(&linear);
    let x = Tensor::<3>::ones([1, 2, 3], &device);
    let mut gradients = linear.forward(x).powf_scalar(2.0).sum().backward();
    let gradients = FlatGradients::take(&linear, &mut gradients);
    let signs = gradients.clone().0.remove(0).sign().into_data();
    let mut optimizer = Optimizer::new(OptimizerSettings::default(), &linear);
    let after = named_parameters(&optimizer.step(linear, gradients, 1.0, 0.01));
    let [old, new] = [&before, &after].map(|named| named["weight"].iter::<f32>());
    for ((old, new), sign) in old.zip(new).zip(signs.iter::<f32>()) {
        assert!((old - new - 0.01 * sign).abs() < 1e-6, "{old} {new} {sign}");
    }
}
