//! Dropout's factors are the same bits on every device (`BURN_DEVICE` names one).

use burn::tensor::{Device, Tensor};
use burnformer_kernels::{DropoutMask, RandomKey};

#[test]
fn the_mask_is_a_function_of_the_key_on_every_device() {
    for (seed, rate, rows, columns) in [(5, 0.3, 5, 7001), (6, 0.0, 3, 3), (7, 0.999, 1, 1)] {
        for device in [Device::default(), Device::default().autodiff()] {
            let x = Tensor::<2>::zeros([rows, columns], &device);
            let mask = DropoutMask::new(RandomKey::new(seed), rate);
            let mut expected = vec![0.0; rows * columns];
            mask.fill_at(0, &mut expected);
            let factors = mask
                .tensor_like(&x)
                .into_data()
                .try_to_vec::<f32>()
                .expect("32 bits");
            assert_eq!(factors, expected);
        }
    }
}

/// The factors multiply what gradients flow through, and carry none themselves.
#[test]
fn dropout_gives_each_element_its_factor_and_its_gradient_too() {
    let device = Device::default().autodiff();
    let x = Tensor::<2>::ones([3, 40], &device).require_grad();
    let mask = DropoutMask::new(RandomKey::new(8), 0.4);
    let y = burnformer_kernels::dropout(x.clone() * 2.0, Some(mask));
    let factors = mask.tensor_like(&x).into_data();
    (y.clone().inner() / 2.0)
        .into_data()
        .assert_eq(&factors, false);
    let gradient = x.grad(&y.sum().backward()).expect("x is a leaf") / 2.0;
    gradient.into_data().assert_eq(&factors, false);
}
