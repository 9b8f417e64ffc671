//! Products with packed weights, log-sum-exp and attention steps against their plain counterparts.

use crate::common::{assert_close, values};
use burn::tensor::{Bool, Device, Int, Tensor, TensorData};
use burnformer_kernels::{
    AttentionInputs, ComputeType, Epilogue, KvCache, PackedWeight, Precision, QuantizedRows,
    RandomKey, attention, linear_with, quantize_rows, step_attention,
};
use proptest::prelude::*;

fn normal<const D: usize>(seed: u64, shape: [usize; D]) -> Tensor<D> {
    let values = RandomKey::new(seed).normal(shape.iter().product());
    Tensor::from_data(TensorData::new(values, shape), &Device::flex())
}

fn bits<const D: usize>(x: Tensor<D>) -> Vec<u32> {
    values(x).into_iter().map(f32::to_bits).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn packed_products_equal_plain_ones(
        rows in 0usize..40, input in 1usize..70, output in 1usize..200, biased: bool, epilogue in 0usize..3,
    ) {
        let (x, weight) = (normal(1, [1, rows, input]), normal(2, [output, input]));
        let bias = biased.then(|| normal(3, [output]));
        let Some(packed) = PackedWeight::new(&weight, ComputeType::Float32) else { return Ok(()) }; // no AVX-512 here
        let epilogue = [Epilogue::None, Epilogue::Relu, Epilogue::Silu][epilogue];
        let actual = packed.linear(&x, bias.clone(), epilogue).expect("a plain tensor on flex");
        let rounded = PackedWeight::new(&weight, ComputeType::BFloat16).expect("as above");
        let rounded = rounded.linear(&x, bias.clone(), epilogue).expect("a plain tensor on flex");
        let product = |kind| linear_with(x.clone(), weight.clone(), bias.clone(), epilogue, kind);
        prop_assert_eq!(bits(rounded), bits(product(Precision::BFloat16)));
        let expected = product(Precision::Float32);
        assert_close(&[values(actual)], &[values(expected)]);
    }

    /// Quantised before it is packed, or by packing: the same product, and the rows can be read.
    #[test]
    fn a_quantised_weight_is_packed_as_it_is(
        rows in 1usize..9, input in 1usize..40, output in 1usize..130, epilogue in 0usize..3,
    ) {
        let (x, weight) = (normal(1, [rows, input]), normal(2, [output, input]));
        let Some(expected) = PackedWeight::new(&weight, ComputeType::Int8) else { return Ok(()) };
        let quantized = quantize_rows(&values(weight), input);
        let numbers = quantized.dequantized(input);
        let packed = PackedWeight::quantized(quantized, [output, input], &Device::flex());
        let packed = packed.expect("the rows are exact");
        let epilogue = [Epilogue::None, Epilogue::Relu, Epilogue::Silu][epilogue];
        let of = |packed: &PackedWeight| packed.linear(&x, None, epilogue).expect("plain");
        let all = of(&packed);
        prop_assert_eq!(bits(all.clone()), bits(of(&expected)));
        let chosen = [output - 1, 0, output / 2].map(|row| row as u32);
        let ids = Tensor::<1, Int>::from_ints(chosen.map(|row| row as i32), &Device::flex());
        for packed in [&packed, &expected] {
            let selected = of(&packed.select(&chosen));
            prop_assert_eq!(bits(selected), bits(all.clone().select(1, ids.clone())));
        }
        let found = packed.embedding(ids.unsqueeze(), 2.0);
        let row = |row: u32| &numbers[row as usize * input..][..input];
        let looked_up: Vec<f32> = chosen.iter().flat_map(|&id| row(id)).map(|x| 2.0 * x).collect();
        prop_assert_eq!(values(found), looked_up);
        prop_assert_eq!(values(packed.weight()), numbers);
    }

    #[test]
    fn a_packed_row_depends_on_itself_alone(rows in 1usize..40, row in 0usize..40, threads in 1usize..7) {
        let row = row % rows;
        let (x, weight) = (normal(1, [rows, 700]), normal(2, [130, 700]));
        let compute = ComputeType::ALL[threads % ComputeType::ALL.len()];
        let Some(packed) = PackedWeight::new(&weight, compute) else { return Ok(()) };
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
        let all = pool.install(|| packed.linear(&x, None, Epilogue::None)).expect("plain");
        let alone = packed.linear(&x.slice([row..row + 1, 0..700]), None, Epilogue::None).expect("plain");
        prop_assert_eq!(bits(all.slice([row..row + 1, 0..130])), bits(alone));
    }

    #[test]
    fn step_attention_equals_attention(
        batch in 1usize..5, queries in 1usize..6, keys in 1usize..20, heads in 1usize..4,
        d_k in 1usize..20, d_v in 1usize..20, hide in 0u8..3,
    ) {
        let query = normal(1, [batch, queries, heads * d_k]);
        let (key, value) = (normal(2, [batch, keys, heads * d_k]), normal(3, [batch, keys, heads * d_v]));
        let hidden: Vec<bool> = match hide {
            0 => vec![false; batch * keys],
            1 => vec![true; batch * keys],
            _ => RandomKey::new(4).uniform(batch * keys).iter().map(|&u| u < 0.5).collect(),
        };
        let hidden = Tensor::<4, Bool>::from_data(
            TensorData::new(hidden, [batch, 1, 1, keys]), &Device::flex());
        let hidden = (hide > 0).then_some(hidden);
        let inputs = AttentionInputs { query, key, value, heads, hidden };
        let step = step_attention(inputs.clone());
        let whole = attention(inputs, None);
        assert_close(&[values(step)], &[values(whole)]);
    }

    /// However hypotheses were reordered and old positions forgotten, the cache holds what copying
    /// would have given.
    #[test]
    fn a_cache_equals_copied_tensors(
        first in 1usize..4, kept in 1usize..12, reorderings in prop::collection::vec(prop::collection::vec(0usize..6, 1..6), 0..6),
    ) {
        let (heads, width, value_width) = (2, 8, 6);
        let mut rows = first;
        let mut cache = KvCache::new();
        let (mut keys, mut all_values) = (normal(1, [rows, 3, width]), normal(2, [rows, 3, value_width]));
        cache.append(keys.clone(), all_values.clone());
        for (step, order) in reorderings.into_iter().enumerate() {
            let order: Vec<usize> = order.into_iter().map(|row| row % rows).collect();
            rows = order.len();
            let ids: Vec<i32> = order.iter().map(|&row| row as i32).collect();
            let ids = Tensor::from_data(TensorData::new(ids, [rows]), &Device::flex());
            cache.select(&order);
            let new = (normal(10 + step as u64, [rows, 1, width]), normal(20 + step as u64, [rows, 1, value_width]));
            cache.append(new.0.clone(), new.1.clone());
            keys = Tensor::cat(vec![keys.select(0, ids.clone()), new.0], 1);
            all_values = Tensor::cat(vec![all_values.select(0, ids), new.1], 1);
            cache.keep_last(kept);
            let len = keys.dims()[1];
            let last = len.saturating_sub(kept)..len;
            keys = keys.slice([0..rows, last.clone(), 0..width]);
            all_values = all_values.slice([0..rows, last, 0..value_width]);
            prop_assert_eq!(cache.len(), keys.dims()[1]);
            let query = normal(30, [rows, 1, width]);
            let actual = cache.attend(query.clone(), heads, None, None);
            let expected = attention(AttentionInputs::new([query, keys.clone(), all_values.clone()], heads), None);
            assert_close(&[values(actual)], &[values(expected)]);
        }
        let (key, value) = cache.key_values();
        prop_assert_eq!((bits(key), bits(value)), (bits(keys), bits(all_values)));
    }
}

#[test]
fn a_packed_weight_does_not_match_a_changed_weight() {
    let weight = normal(1, [16, 16]);
    let Some(packed) = PackedWeight::new(&weight, ComputeType::Float32) else {
        return;
    };
    assert!(packed.is_of(&weight) && packed.is_of(&weight.clone()));
    assert!(!packed.is_of(&(weight.clone() * 2.0)));
    assert!(!packed.is_of(&weight.transpose()));
    assert!(
        !packed.is_of(&normal(1, [16, 16])),
        "equal numbers elsewhere are another weight"
    );
}

#[test]
fn a_weight_packed_in_place_matches_its_unpacked_weight() {
    let (weight, x) = (normal(1, [48, 20]), normal(2, [5, 20]));
    let Some(beside) = PackedWeight::new(&weight, ComputeType::Float32) else {
        return;
    };
    assert!(
        PackedWeight::in_place(weight.clone()).is_err(),
        "two tensors share the memory"
    );
    let packed = PackedWeight::in_place(normal(1, [48, 20])).expect("whole vectors, not shared");
    assert!(!packed.is_of(&weight));
    let product =
        |packed: &PackedWeight| bits(packed.linear(&x, None, Epilogue::None).expect("plain"));
    assert_eq!(product(&packed), product(&beside));
    let unpacked = packed.weight();
    assert_eq!(bits(unpacked.clone()), bits(weight));
    assert!(packed.is_of(&unpacked) && packed.is_of(&packed.weight()));
}

#[test]
fn nan_stays_nan() {
    let weight = normal(1, [20, 4]);
    let Some(packed) = PackedWeight::new(&weight, ComputeType::Float32) else {
        return;
    };
    let x = Tensor::<2>::from_floats([[f32::NAN, 0.0, 0.0, 0.0]], &Device::flex());
    assert!(
        values(packed.linear(&x, None, Epilogue::Relu).expect("plain"))
            .iter()
            .all(|x| x.is_nan())
    );
}

/// The same numbers at the same address, read as other rows.
#[test]
fn a_packed_weight_does_not_match_another_shape_of_its_memory() {
    let weight = normal(1, [16, 32]);
    let Some(packed) = PackedWeight::new(&weight, ComputeType::Float32) else {
        return;
    };
    assert!(!packed.is_of(&weight.clone().reshape([32, 16])));
    assert!(packed.is_of(&weight));
}

/// The input has as many numbers as rows that fit would have.
#[test]
#[should_panic(expected = "the last axis of x does not fit a weight [16, 6]")]
fn a_packed_weight_refuses_rows_of_another_length() {
    let packed = PackedWeight::new(&normal(1, [16, 6]), ComputeType::Int8).expect("flex");
    packed.linear(&normal::<2>(2, [6, 4]), None, Epilogue::None);
}

/// Two threads ask for a weight that neither has yet, each while it waits for a part of other work.
#[test]
fn a_weight_packed_in_place_is_unpacked_by_many_threads_at_once() {
    let (done, waiting) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        for round in 0..200 {
            let Ok(packed) = PackedWeight::in_place(normal(round, [480, 64])) else {
                break;
            };
            rayon::scope(|scope| {
                (0..32).for_each(|_| scope.spawn(|_| drop(packed.weight())));
            });
        }
        done.send(()).expect("the test waits");
    });
    let limit = std::time::Duration::from_secs(60);
    assert!(
        waiting.recv_timeout(limit).is_ok(),
        "threads wait for one another"
    );
}

/// `vpmaddubsw` would saturate.
#[test]
fn rows_of_another_program_that_are_not_exact_are_refused() {
    for values in [[100, 100], [-100, -100], [0, -128]] {
        let rows = QuantizedRows {
            values: values.to_vec(),
            scales: vec![1.0],
        };
        assert!(PackedWeight::quantized(rows, [1, 2], &Device::flex()).is_err());
    }
}
