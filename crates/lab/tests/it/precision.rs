//! The recurrent baseline's products in 16 bits against float32, on the reference's model
//! (`tests/reference/README.md`).

use crate::of_core::case::scalar;
use crate::of_core::half::{HALVES, Loss, assert_near};
use crate::of_core::{folder, tensors};
use burn::tensor::{Device, Int, Tensor};
use burnformer_core::rnn::{Rnn, RnnConfig};
use burnformer_core::{
    Mode, Precision, Seq2Seq, label_smoothed_cross_entropy, named_gradients, with_parameters,
};

fn loss(precision: Precision) -> Loss {
    let device = Device::default().autodiff();
    let mut model = model(&device);
    let case = tensors("rnn.case.safetensors");
    model.set_precision(precision);
    let ids = |key: &str| Tensor::<2, Int>::from_data(case[key].clone(), &device);
    let logits = model.forward(ids("source"), ids("target_input"), Mode::training(0, 0));
    let tokens = case["target_output"]
        .iter::<i64>()
        .filter(|&id| id != 0)
        .count() as f64;
    let loss = label_smoothed_cross_entropy(logits, ids("target_output"), 0, 0.1).smoothed / tokens;
    (scalar(&loss), named_gradients(&model, &loss.backward()))
}

fn model(device: &Device) -> Rnn {
    let json = std::fs::read(folder().join("rnn.json")).unwrap();
    let json: serde_json::Value = serde_json::from_slice(&json).unwrap();
    let size = |key: &str| json[key].as_u64().unwrap() as usize;
    let config = RnnConfig {
        d_model: size("d_model"),
        d_hidden: size("d_hidden"),
        d_attention: size("d_attention"),
        dropout: 0.0,
        ..RnnConfig::tiny(size("vocab_size"))
    };
    with_parameters(
        config.init(0, device).unwrap(),
        tensors("rnn.init.safetensors"),
    )
    .unwrap()
}

#[test]
fn products_in_16_bits_barely_move_loss_and_gradients() {
    let exact = loss(Precision::Float32);
    for precision in HALVES {
        assert_near("rnn", precision, loss(precision), &exact, 1.0);
    }
}
