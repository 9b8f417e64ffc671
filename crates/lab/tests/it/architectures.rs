//! Properties of a model of every architecture.

use std::collections::BTreeMap;

use burn::tensor::{DType, Device, Int, Tensor};
use burnformer_core::model_dir::{load, save, seal};
use burnformer_core::rnn::RnnConfig;
use burnformer_core::{
    ComputeType, Mode, Model, ModelConfig, Precision, TransformerConfig, named_parameters,
    parameter_sizes,
};

fn every(vocab: usize) -> [ModelConfig; 2] {
    [
        TransformerConfig::tiny(vocab).into(),
        RnnConfig::tiny(vocab).into(),
    ]
}

fn ids<const ROWS: usize, const LEN: usize>(ids: [[i32; LEN]; ROWS]) -> Tensor<2, Int> {
    Tensor::from_ints(ids, &Device::default())
}

fn build(config: &ModelConfig) -> Model {
    config
        .build(3, &Device::default())
        .expect("a preset is valid")
}

#[test]
fn a_saved_model_loads_with_the_same_outputs() {
    for config in every(20) {
        let model = build(&config);
        let folder = tempfile::tempdir().expect("a temporary folder");
        save(folder.path(), config.as_ref(), &model).expect("saves");
        seal(folder.path()).expect("seals");
        let (loaded_config, loaded) = load(folder.path(), &Device::default()).expect("loads");
        assert!(*loaded_config == *config);
        let logits = |m: &Model| {
            m.forward(ids([[5, 6, 2]]), ids([[1, 7]]), Mode::Inference)
                .into_data()
        };
        logits(&loaded).assert_eq(&logits(&model), true);
    }
}

#[test]
fn parameters_keep_the_names_of_the_architecture() {
    let device = Device::default();
    let plain = TransformerConfig::tiny(20)
        .init(1, &device)
        .expect("a preset is valid");
    let expected = named_parameters(&plain);
    assert_eq!(named_parameters(&Model::from(plain)), expected);
    let rnn = RnnConfig::tiny(20)
        .init(1, &device)
        .expect("a preset is valid");
    let expected = named_parameters(&rnn);
    assert_eq!(named_parameters(&Model::from(rnn)), expected);
}

#[test]
fn parameters_are_counted_without_building_the_model() {
    for config in every(20) {
        let sizes: BTreeMap<String, usize> = parameter_sizes(&build(&config)).into_iter().collect();
        assert_eq!(sizes.values().sum::<usize>(), config.parameter_count());
    }
}

#[test]
fn logits_weights_and_attention_maps_are_float32() {
    let source = ids([[5, 6, 2]]);
    let target = ids([[1, 8, 9]]);
    for mut model in every(12).map(|config| build(&config)) {
        for precision in Precision::ALL {
            model.set_precision(precision);
            let logits = model.forward(source.clone(), target.clone(), Mode::Inference);
            assert_eq!(logits.dtype(), DType::F32);
            let maps = model.attention(source.clone(), target.clone());
            for weights in [maps.encoder_self, maps.decoder_self, maps.cross].concat() {
                assert_eq!(weights.dtype(), DType::F32);
                let sums = weights.sum_dim(3);
                let worst: f32 = (sums - 1.0).abs().max().into_scalar();
                assert!(
                    worst < 1e-6,
                    "{precision}: a row of weights sums to 1 but for {worst}"
                );
            }
            assert!(
                named_parameters(&model)
                    .values()
                    .all(|w| w.dtype() == DType::F32)
            );
        }
    }
}

#[test]
fn cached_steps_match_the_whole_pass_in_16_bits() {
    let source = ids([[5, 6, 2], [7, 2, 0]]);
    let target = ids([[1, 8, 9], [1, 4, 5]]);
    for mut model in every(12).map(|config| build(&config)) {
        model.set_precision(Precision::BFloat16);
        // The weights packed in float32 must not be used instead.
        model.pack(ComputeType::Float32);
        let whole = model.forward(source.clone(), target.clone(), Mode::Inference);
        let mut cache = model.start(source.clone());
        for position in 0..3 {
            let token = target.clone().slice([0..2, position..position + 1]);
            let step = model.decode_step(token, &mut *cache);
            let expected = whole
                .clone()
                .slice([0..2, position..position + 1])
                .reshape(step.dims());
            let worst: f64 = (step - expected).abs().max().into_scalar();
            assert!(worst < 2e-2, "{position} {worst}");
        }
    }
}

#[test]
#[should_panic(expected = "the cache belongs to a model of another architecture")]
fn the_cache_of_another_architecture_panics() {
    let [transformer, rnn] = every(12).map(|config| build(&config));
    let mut cache = rnn.start(ids([[5, 6, 2]]));
    transformer.decode_step(ids([[1]]), &mut *cache);
}
