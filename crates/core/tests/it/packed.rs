//! Weights packed for inference: what is computed from them, and what is left of them.

use burn::module::Param;
use burn::tensor::{Device, Int, Tensor, TensorData};
use burnformer_core::{
    ComputeType, Linear, RandomKey, TokenEmbeddingConfig, named_parameters, with_parameters,
};

/// Outputs that fill whole vectors, and outputs that do not.
const WIDTHS: [usize; 3] = [48, 32, 33];

fn normal<const D: usize>(seed: u64, shape: [usize; D], device: &Device) -> Tensor<D> {
    let values = RandomKey::new(seed).normal(shape.iter().product());
    Tensor::from_data(TensorData::new(values, shape), device)
}

fn linear(output: usize) -> Linear {
    let mut linear = Linear::new(20, output, RandomKey::new(1), &Device::flex());
    linear.bias = Some(Param::from_tensor(normal(2, [output], &Device::flex())));
    linear
}

fn bits<const D: usize>(x: Tensor<D>) -> Vec<u32> {
    x.into_data().iter::<f32>().map(f32::to_bits).collect()
}

#[test]
fn a_packed_weight_can_still_be_read_and_saved() {
    for output in WIDTHS {
        let (plain, mut packed) = (linear(output), linear(output));
        packed.pack(ComputeType::Float32);
        assert_eq!(packed.weight.lazy_shape(), plain.weight.lazy_shape());
        let x = normal(3, [5, 20], &Device::flex());
        let before = bits(packed.forward(x.clone()));
        assert_eq!(
            bits(packed.weight.val()),
            bits(plain.weight.val()),
            "{output}"
        );
        let saved = |linear: &Linear| {
            named_parameters(linear)
                .into_values()
                .map(|it| it.try_to_vec::<f32>().unwrap())
                .collect()
        };
        let [of_plain, of_packed]: [Vec<Vec<f32>>; 2] = [saved(&plain), saved(&packed)];
        assert_eq!(of_packed, of_plain);
        assert_eq!(bits(packed.forward(x.clone())), before, "after it was read");
        assert_eq!(bits(packed.select(&[7, 0], None).forward(x.clone())), {
            bits(
                packed
                    .forward(x)
                    .select(1, Tensor::from_ints([7, 0], &Device::flex())),
            )
        });
    }
}

/// The memory is the packed one until the weight is read.
#[test]
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
fn an_unshared_weight_is_packed_in_place() {
    #[cfg(target_arch = "x86_64")]
    if !(is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma")) {
        return;
    }
    for output in WIDTHS {
        let mut packed = linear(output);
        packed.pack(ComputeType::Float32);
        packed.forward(normal(3, [5, 20], &Device::flex()));
        packed.pack(ComputeType::Float32);
        assert!(!packed.weight.is_initialized(), "{output}");
    }
    let mut packed = linear(48);
    let shared = packed.weight.val();
    packed.pack(ComputeType::Float32);
    assert_eq!(bits(packed.weight.val()), bits(shared));
}

#[test]
fn a_changed_weight_replaces_its_packed_copy() {
    for output in WIDTHS {
        for compute in ComputeType::ALL {
            let mut packed = linear(output);
            packed.pack(compute);
            let x = normal(3, [5, 20], &Device::flex());
            let new = normal(4, [output, 20], &Device::flex());
            let mut plain = linear(output);
            plain.weight = Param::from_tensor(new.clone());
            let expected = bits(plain.forward(x.clone()));
            let mut values = named_parameters(&packed);
            values.insert("weight".into(), new.clone().into_data());
            let loaded = with_parameters(packed.clone(), values).unwrap();
            assert_eq!(
                bits(loaded.forward(x.clone())),
                expected,
                "{output} {compute:?}"
            );
            packed.weight = Param::from_tensor(new);
            assert_eq!(bits(packed.forward(x)), expected, "{output} {compute:?}");
        }
    }
}

#[test]
fn a_weight_can_be_packed_again_in_another_type() {
    for output in WIDTHS {
        let x = normal(3, [5, 20], &Device::flex());
        let [mut once, mut twice] = [linear(output), linear(output)];
        once.pack(ComputeType::Int8);
        twice.pack(ComputeType::Float32);
        twice.pack(ComputeType::Int8);
        assert_eq!(
            bits(once.forward(x.clone())),
            bits(twice.forward(x.clone()))
        );
        let mut float = linear(output);
        float.pack(ComputeType::Float32);
        once.pack(ComputeType::Float32);
        assert_eq!(bits(once.forward(x.clone())), bits(float.forward(x)));
    }
}

/// The gradients flow to the weight, which is unpacked for them.
#[test]
fn a_packed_map_can_be_trained_again() {
    let device = Device::flex().autodiff();
    let mut packed = linear(48);
    packed.pack(ComputeType::Float32);
    let x = normal(3, [5, 20], &device);
    let trained = burn::module::Module::train(packed);
    let gradients = trained.forward(x.clone()).sum().backward();
    let gradient = trained
        .weight
        .grad(&gradients)
        .expect("the weight took part");
    let rows = x.inner().sum_dim(0).expand([48, 20]);
    let worst: f32 = (gradient - rows).abs().max().into_scalar();
    assert!(worst < 1e-5, "{worst}");
}

/// Rows are read from the packed matrix, which takes the place of the weight.
#[test]
fn a_packed_embedding_gives_the_same_rows() {
    let device = Device::flex();
    for vocab in WIDTHS {
        let config = TokenEmbeddingConfig::new(vocab, 20);
        let plain = config.init_with_key(RandomKey::new(1), &device);
        let mut packed = config.init_with_key(RandomKey::new(1), &device);
        packed.pack(ComputeType::Float32);
        let ids = Tensor::<2, Int>::from_ints([[7, 0], [vocab as i32 - 1, 7]], &device);
        assert_eq!(bits(packed.forward(ids.clone())), bits(plain.forward(ids)));
        assert!(!packed.weight.is_initialized(), "{vocab}");
        assert_eq!(bits(packed.weight.val()), bits(plain.weight.val()));
    }
}

/// Packing stores rows of unit length, and weights that change later are not lost.
#[test]
fn packed_unit_embeddings_give_the_same_logits() {
    let device = Device::flex();
    let config = TokenEmbeddingConfig::new(33, 20).with_fix_norm(true);
    let plain = config.init_with_key(RandomKey::new(1), &device);
    let ids = Tensor::<2, Int>::from_ints([[7, 0, 32]], &device);
    let x = normal(3, [5, 20], &device);
    let near = |a: Tensor<2>, b: Tensor<2>| {
        let worst: f32 = (a - b).abs().max().into_scalar();
        assert!(worst < 1e-5, "{worst}");
    };
    let rows = |x: Tensor<3>| x.reshape([3, 20]);
    let lengths = rows(plain.forward(ids.clone())).square().sum_dim(1);
    near(lengths, Tensor::full([3, 1], 20.0, &device));
    let mut packed = plain.clone();
    for _ in 0..2 {
        packed.pack(ComputeType::Float32);
        near(
            rows(packed.forward(ids.clone())),
            rows(plain.forward(ids.clone())),
        );
        near(
            packed.logits(x.clone(), None),
            plain.logits(x.clone(), None),
        );
        let chosen = plain
            .logits(x.clone(), None)
            .select(1, Tensor::from_ints([7, 0], &device));
        for embedding in [&plain, &packed] {
            near(
                embedding.select(&[7, 0], None).forward(x.clone()),
                chosen.clone(),
            );
        }
    }
    // Rows of any length give the same logits.
    let longer = |(name, data): (String, TensorData)| {
        let rows = data
            .iter::<f32>()
            .enumerate()
            .map(|(i, v)| v * (1 + i / 20) as f32);
        (
            name,
            TensorData::new::<f32, _>(rows.collect(), data.shape().to_vec()),
        )
    };
    let values = named_parameters(&plain).into_iter().map(longer).collect();
    let changed = with_parameters(packed, values).unwrap();
    near(changed.logits(x.clone(), None), plain.logits(x, None));
}
