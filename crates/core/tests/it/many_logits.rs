//! The loss over so many logits that they are not in memory all at once.

use burn::tensor::{Device, Int, Tensor, TensorData};
use burnformer_core::{
    EmbeddingSharing, LossSums, OutputBias, RandomKey, Seq2Seq, TransformerConfig,
    label_smoothed_cross_entropy, named_gradients,
};

const SENTENCES: usize = 2;
const LEN: usize = 256;
/// With the positions, more than 2²⁵ logits.
const VOCAB: usize = 65_600;

/// The loss of random states, and its gradients of them and of all parameters.
fn run(config: &TransformerConfig, is_whole: bool) -> Vec<(String, Vec<f32>)> {
    let device = Device::flex().autodiff();
    let model = config.init(1, &device).expect("a valid configuration");
    let shape = [SENTENCES, LEN, config.d_model];
    let states = RandomKey::new(2).normal(shape.iter().product());
    let states = Tensor::<3>::from_data(TensorData::new(states, shape), &device).require_grad();
    let targets: Vec<i32> = (0..SENTENCES * LEN)
        .map(|i| (i * 127 % VOCAB) as i32)
        .collect();
    let targets = TensorData::new(targets, [SENTENCES, LEN]);
    let targets = Tensor::<2, Int>::from_data(targets, &device);
    let LossSums { smoothed, nll } = if is_whole {
        label_smoothed_cross_entropy(model.logits(states.clone()), targets, 0, 0.1)
    } else {
        model.loss(states.clone(), targets, 0, 0.1)
    };
    let gradients = (smoothed.clone() / 511.0).backward();
    let mut all = named_gradients(&model, &gradients);
    all.insert("smoothed".into(), smoothed.into_data());
    all.insert("nll".into(), nll.into_data());
    let states_gradient = states.grad(&gradients).expect("a gradient");
    all.insert("states".into(), states_gradient.into_data());
    all.into_iter()
        .map(|(name, data)| (name, data.iter::<f32>().collect()))
        .collect()
}

#[test]
fn its_parts_give_the_loss_and_the_gradients_of_the_whole() {
    // A gradient of a state sums a term for each token, in another order. Its rounding errors grow
    // as a random walk.
    let rounding = (VOCAB as f32).sqrt() * f32::EPSILON;
    for sharing in [EmbeddingSharing::All, EmbeddingSharing::None] {
        let mut config = TransformerConfig::tiny(VOCAB).with_width(16, 1);
        config.sharing = sharing;
        config.conventions.output_bias = OutputBias::PerPiece;
        let whole = run(&config, true);
        let parts = run(&config, false);
        assert_eq!(whole.len(), parts.len());
        for ((name, whole), (_, parts)) in whole.iter().zip(&parts) {
            let largest = whole.iter().fold(0.0f32, |largest, x| largest.max(x.abs()));
            for (a, b) in whole.iter().zip(parts) {
                assert!(
                    (a - b).abs() <= rounding * largest,
                    "{name} of {sharing:?}: {a}, {b}"
                );
            }
        }
    }
}
