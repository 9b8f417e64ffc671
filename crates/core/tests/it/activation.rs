//! Activation functions on every device.

use burn::tensor::{Device, Tensor, TensorData};
use burnformer_core::Activation;

/// The distance between two arguments.
const STEP: f32 = 0.01;

/// Burn's own gradient of GELU differs from the slope by 9e-4 on other devices than the CPU.
#[test]
fn gradients_are_the_slopes_of_the_values() {
    let device = Device::default().autodiff();
    let places: Vec<f32> = (-400..=400).map(|i| i as f32 * STEP).collect();
    for function in [Activation::Gelu, Activation::Silu] {
        let data = TensorData::new(places.clone(), [places.len()]);
        let x = Tensor::<1>::from_data(data, &device).require_grad();
        let output = function.forward(x.clone());
        let values: Vec<f32> = output.clone().into_data().iter().collect();
        let gradients = output.sum().backward();
        let found = x.grad(&gradients).expect("a gradient").into_data();
        let found: Vec<f32> = found.iter().collect();
        for i in 1..places.len() - 1 {
            let slope = (values[i + 1] - values[i - 1]) / (2.0 * STEP);
            let place = places[i];
            assert!(
                (found[i] - slope).abs() < 2e-4,
                "{function:?} at {place}: {} and {slope}",
                found[i]
            );
        }
    }
}
