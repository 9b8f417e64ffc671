//! Differences between models of other systems and the paper.

use burn::tensor::{Device, Int, Tensor, TensorData};
use burnformer_core::{
    ComputeType, Conventions, DecoderStart, EmbeddingScale, EmbeddingSharing, Mode, OutputBias,
    Seq2Seq, SourceEnd, TargetHistory, Transformer, TransformerConfig, named_gradients,
    named_parameters, with_parameters,
};

fn config(conventions: Conventions) -> TransformerConfig {
    TransformerConfig {
        conventions,
        dropout: 0.0,
        ..TransformerConfig::tiny(20).with_width(16, 2)
    }
}

fn logits(model: &Transformer, target: [i32; 4]) -> Tensor<3> {
    let device = Device::default();
    let source = Tensor::<2, Int>::from_ints([[5, 6, 7, 2]], &device);
    model.forward(
        source,
        Tensor::<2, Int>::from_ints([target], &device),
        Mode::Inference,
    )
}

fn same(a: Tensor<3>, b: Tensor<3>) -> bool {
    a.into_data() == b.into_data()
}

#[test]
fn a_zero_start_hides_the_opening_token() {
    let device = Device::default();
    let zero = Conventions {
        decoder_start: DecoderStart::Zero,
        ..Conventions::default()
    };
    let model = config(zero).init(1, &device).unwrap();
    assert!(same(
        logits(&model, [1, 8, 9, 4]),
        logits(&model, [7, 8, 9, 4])
    ));
    assert!(!same(
        logits(&model, [1, 8, 9, 4]),
        logits(&model, [1, 7, 9, 4])
    ));
    // A step at a time, the first token after the start is seen.
    let source = Tensor::<2, Int>::from_ints([[5, 6, 7, 2]], &device);
    let mut cache = model.start_decoding(&model.encode(source, Mode::Inference));
    let whole = logits(&model, [1, 8, 9, 4]);
    for (index, token) in [1, 8, 9, 4].into_iter().enumerate() {
        let step = model.decode_step(Tensor::from_ints([[token]], &device), &mut cache);
        let expected = whole
            .clone()
            .slice([0..1, index..index + 1, 0..20])
            .reshape([1, 20]);
        let worst: f32 = (step - expected).abs().max().into_scalar();
        assert!(worst < 1e-5, "{index}: {worst}");
    }
}

#[test]
fn unscaled_embeddings_equal_scaled_ones_of_a_smaller_matrix() {
    let device = Device::default();
    let one = Conventions {
        embedding_scale: EmbeddingScale::One,
        ..Conventions::default()
    };
    let untied = |conventions| TransformerConfig {
        sharing: EmbeddingSharing::None,
        ..config(conventions)
    };
    let paper = untied(Conventions::default()).init(1, &device).unwrap();
    let mut values = named_parameters(&paper);
    for name in ["source_embedding.weight", "target_embedding.weight"] {
        let data = &values[name];
        // √16, exact in float32.
        let scaled = data.iter::<f32>().map(|x| 4.0 * x).collect();
        let scaled = TensorData::new::<f32, _>(scaled, data.shape().to_vec());
        values.insert(name.into(), scaled);
    }
    let other = with_parameters(untied(one).init(2, &device).unwrap(), values).unwrap();
    assert!(same(
        logits(&paper, [1, 8, 9, 4]),
        logits(&other, [1, 8, 9, 4])
    ));
}

#[test]
fn the_output_bias_is_added_and_trained_for_every_sharing() {
    for sharing in [
        EmbeddingSharing::All,
        EmbeddingSharing::Target,
        EmbeddingSharing::None,
    ] {
        let conventions = Conventions {
            output_bias: OutputBias::PerPiece,
            ..Default::default()
        };
        let config = TransformerConfig {
            sharing,
            ..config(conventions)
        };
        let device = Device::default().autodiff();
        let model = config.init(1, &device).unwrap();
        let mut values = named_parameters(&model);
        let count: usize = values.values().map(TensorData::num_elements).sum();
        assert_eq!(config.parameter_count(), count);
        let bias: Vec<f32> = (0..20).map(|i| i as f32).collect();
        values.insert("output_bias".into(), TensorData::new(bias.clone(), [20]));
        let mut biased =
            with_parameters(config.init(1, &Device::default()).unwrap(), values).unwrap();
        let plain = config.init(1, &Device::default()).unwrap();
        for _ in 0..2 {
            let difference = logits(&biased, [1, 8, 9, 4]) - logits(&plain, [1, 8, 9, 4]);
            let difference = difference.into_data();
            let near = |(index, x): (usize, f32)| (x - bias[index % 20]).abs() < 1e-4;
            assert!(
                difference.iter::<f32>().enumerate().all(near),
                "{sharing:?}"
            );
            biased.pack(ComputeType::Float32);
        }
        let source = Tensor::<2, Int>::from_ints([[5, 2]], &device);
        let target = Tensor::<2, Int>::from_ints([[1, 8]], &device);
        let loss = model.forward(source, target, Mode::training(0, 0)).sum();
        let gradients = named_gradients(&model, &loss.backward());
        assert!(
            gradients["output_bias"].iter::<f32>().all(|g| g == 2.0),
            "{sharing:?}"
        );
    }
}

#[test]
fn recurrent_steps_equal_the_whole_sequence_and_learn() {
    let history = Conventions {
        target_history: TargetHistory::Ssru,
        ..Conventions::default()
    };
    let config = config(history);
    let model = config.init(1, &Device::default()).unwrap();
    let whole = logits(&model, [1, 8, 9, 4]);
    let device = Device::default();
    let source = Tensor::<2, Int>::from_ints([[5, 6, 7, 2]], &device);
    let mut cache = model.start_decoding(&model.encode(source, Mode::Inference));
    for (index, token) in [1, 8, 9, 4].into_iter().enumerate() {
        let step = model.decode_step(Tensor::from_ints([[token]], &device), &mut cache);
        let expected = whole
            .clone()
            .slice([0..1, index..index + 1, 0..20])
            .reshape([1, 20]);
        let worst: f32 = (step - expected).abs().max().into_scalar();
        assert!(worst < 1e-5, "{index}: {worst}");
    }
    let device = device.autodiff();
    let model = config.init(1, &device).unwrap();
    let count: usize = named_parameters(&model)
        .values()
        .map(TensorData::num_elements)
        .sum();
    assert_eq!(config.parameter_count(), count);
    let ids = |ids: [i32; 3]| Tensor::<2, Int>::from_ints([ids], &device);
    let logits = model.forward(ids([5, 6, 2]), ids([1, 8, 9]), Mode::training(0, 0));
    let gradients = named_gradients(&model, &(logits.clone() * logits).sum().backward());
    for name in ["candidate.weight", "gate.weight", "gate.bias"] {
        let gradient = &gradients[&format!("decoder.layers.0.ssru.{name}")];
        assert!(gradient.iter::<f32>().any(|g| g.abs() > 1e-6), "{name}");
    }
}

#[test]
fn a_hidden_source_end_does_not_change_the_output() {
    let end = Conventions {
        source_end: SourceEnd::Hidden,
        ..Conventions::default()
    };
    let device = Device::default();
    let hidden = config(end).init(1, &device).unwrap();
    let seen = config(Conventions::default()).init(1, &device).unwrap();
    let logits = |model: &Transformer, source: &[i32]| {
        let shape = [1, source.len()];
        let source = Tensor::<2, Int>::from_data(TensorData::new(source.to_vec(), shape), &device);
        let target = Tensor::<2, Int>::from_ints([[1, 8, 9]], &device);
        model.forward(source, target, Mode::Inference)
    };
    let worst = |a: Tensor<3>, b: Tensor<3>| (a - b).abs().max().into_scalar::<f32>();
    let expected = logits(&seen, &[5, 6, 7]);
    assert!(worst(logits(&hidden, &[5, 6, 7, 2]), expected.clone()) < 1e-5);
    assert!(worst(logits(&hidden, &[5, 6, 7, 2, 0]), expected.clone()) < 1e-5);
    assert!(worst(logits(&seen, &[5, 6, 7, 2]), expected) > 1e-3);
    // A source of nothing else keeps it, so that there is something to attend to.
    assert!(worst(logits(&hidden, &[2]), logits(&seen, &[2])) < 1e-5);
}
