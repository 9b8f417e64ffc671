//! A step of attention as an operation on the CPU, which has no backward pass.

use burn::backend::Flex;
use burn::tensor::Tensor;

use super::cpu::{self, Heads, KeyValues};
use crate::attention::{AttentionInputs, Block};
use crate::cpu::{bools, contiguous, floats, primitive, tensor};

/// Attention of the queries of each batch entry to its keys; all tensors on the CPU without
/// gradients.
pub(super) fn shared(inputs: AttentionInputs) -> Tensor<3> {
    let AttentionInputs {
        query,
        key,
        value,
        heads,
        hidden,
    } = inputs;
    let [batch, queries, width] = query.dims();
    let [_, keys, value_width] = value.dims();
    let [query, key, value] = [query, key, value].map(|x| contiguous(primitive(x)));
    let hidden = hidden.map(|hidden| {
        let shared = hidden.dims()[0] == 1;
        (bools(hidden), shared)
    });
    let all_keys = floats(&key);
    let all_values = floats(&value);
    let sizes = Heads {
        count: heads,
        d_k: width / heads,
        d_v: value_width / heads,
    };
    let contexts = cpu::forward(sizes, floats(&query), |row, pairs| {
        let entry = row / queries;
        let positions = entry * keys..(entry + 1) * keys;
        extend(
            pairs,
            positions.clone(),
            (all_keys, width),
            (all_values, value_width),
        );
        if let Some((hidden, shared)) = &hidden {
            pairs.hidden = &hidden[if *shared { 0..keys } else { positions }];
        }
    });
    Tensor::from_primitive::<Flex>(tensor(contexts, [batch, queries, value_width]))
}

fn extend<'a>(
    pairs: &mut KeyValues<'a>,
    positions: std::ops::Range<usize>,
    (keys, width): (&'a [f32], usize),
    (values, value_width): (&'a [f32], usize),
) {
    let keys = &keys[positions.start * width..positions.end * width];
    let values = &values[positions.start * value_width..positions.end * value_width];
    pairs.keys.extend(keys.chunks_exact(width));
    pairs.values.extend(values.chunks_exact(value_width));
}

/// Attention of one query per row to the positions of `blocks`, one block after the other. All
/// tensors are on the CPU and without gradients.
pub(crate) fn over_blocks(query: Tensor<3>, blocks: &[Block], heads: usize) -> Tensor<3> {
    let [rows, _, width] = query.dims();
    let value_width = blocks[0].value.dims()[2];
    let query = contiguous(primitive(query));
    let data: Vec<_> = blocks
        .iter()
        .map(|block| [&block.key, &block.value].map(|x| contiguous(primitive(x.clone()))))
        .collect();
    let read: Vec<_> = data
        .iter()
        .zip(blocks)
        .map(|([key, value], block)| (floats(key), floats(value), block.key.dims()[1]))
        .collect();
    let sizes = Heads {
        count: heads,
        d_k: width / heads,
        d_v: value_width / heads,
    };
    let contexts = cpu::forward(sizes, floats(&query), |row, pairs| {
        for (block, &(keys, values, len)) in blocks.iter().zip(&read) {
            let row = block.ancestors.get(row).map_or(row, |&row| row as usize);
            extend(
                pairs,
                row * len..(row + 1) * len,
                (keys, width),
                (values, value_width),
            );
        }
    });
    Tensor::from_primitive::<Flex>(tensor(contexts, [rows, 1, value_width]))
}
