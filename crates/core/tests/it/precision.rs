//! Products in 16 bits beside those in float32, on the reference's models
//! (`tests/reference/README.md`): how far loss and gradients move, and what stays in 32 bits.

use crate::common::case::{Case, NAMES, scalar};
use crate::common::half::{HALVES, Loss, assert_near};
use burn::tensor::{Bool, DType, Device, Distribution, Tensor};
use burnformer_core::{
    Activation, AttentionInputs, Dropout, Mode, Precision, Seq2Seq, Window, WindowBlocks,
    named_gradients, window_attention,
};

fn transformer(case: &Case, precision: Precision) -> Loss {
    let device = Device::default().autodiff();
    let mut model = case.model(&device);
    model.set_precision(precision);
    let loss = case.loss(&model, &device).smoothed / case.tokens();
    (scalar(&loss), named_gradients(&model, &loss.backward()))
}

#[test]
fn products_in_16_bits_barely_move_loss_and_gradients() {
    for mut case in NAMES.map(Case::load) {
        for (activation, jumps) in [(case.config.activation, 5.0), (Activation::Gelu, 1.0)] {
            case.config.activation = activation;
            let exact = transformer(&case, Precision::Float32);
            for precision in HALVES {
                let model = transformer(&case, precision);
                assert_near(case.name, precision, model, &exact, jumps);
            }
        }
    }
}

#[test]
fn setting_float32_again_restores_the_bits() {
    for case in NAMES.map(Case::load) {
        let device = Device::default().autodiff();
        let fresh = case.model(&device);
        let mut model = fresh.clone();
        model.set_precision(Precision::BFloat16);
        model.set_precision(Precision::Float32);
        let bits = |model| case.logits(model, &device).into_data();
        bits(&model).assert_eq(&bits(&fresh), true);
    }
}

#[test]
fn attention_in_blocks_works_in_16_bits_with_and_without_gradients() {
    let window = Window {
        radius: 3,
        causal: false,
    };
    for device in [Device::default(), Device::default().autodiff()] {
        let padding = Tensor::<4, Bool>::full([2, 1, 1, 70], false, &device);
        let blocks = WindowBlocks::new(window, 70, Some(&padding), &device);
        let x = Tensor::<3>::random([2, 70, 8], Distribution::Normal(0.0, 1.0), &device);
        let run = |dtype: DType| {
            let x = x.clone().cast(dtype);
            let (dropout, mode) = (Dropout::new(0.0), Mode::Inference);
            let inputs = AttentionInputs::new([x.clone(), x.clone(), x], 2);
            window_attention(inputs, &blocks, &dropout, mode)
        };
        let half = run(DType::BF16);
        assert_eq!(half.dtype(), DType::BF16);
        let worst: f32 = (half.cast(DType::F32) - run(DType::F32))
            .abs()
            .max()
            .into_scalar();
        assert!(worst > 0.0 && worst < 5e-2, "{worst}");
    }
}

#[test]
fn the_cpu_computes_in_every_precision() {
    assert!(
        Precision::ALL
            .iter()
            .all(|p| p.is_supported_on(&Device::default()))
    );
    assert!(
        Precision::ALL
            .iter()
            .all(|p| p.is_supported_on(&Device::default().autodiff()))
    );
}
