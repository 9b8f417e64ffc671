//! Visibility and dropout of single scores.

use cubecl::prelude::*;

use super::tiles::{Head, Plan};
use crate::gpu::philox::{dropout_factor, element_index, index_in_block, words_of_block};

/// Returns whether query `q` and key `k` exist and the query may see the key.
#[cube]
pub(super) fn sees<H: Int>(
    hidden: &Tensor<H>,
    pair: usize,
    q: usize,
    k: usize,
    plan: &Plan,
) -> bool {
    let mut sees = false;
    if q < plan.query_len && k < plan.key_len {
        let at = offset_along::<H>(hidden, 0usize, pair / plan.heads)
            + offset_along::<H>(hidden, 1usize, pair % plan.heads)
            + offset_along::<H>(hidden, 2usize, q)
            + offset_along::<H>(hidden, 3usize, k);
        sees = u32::cast_from(hidden[at]) == 0;
    }
    sees
}

/// The offset of `index` along an axis of the mask, 0 if the mask is broadcast along it.
#[cube]
fn offset_along<H: Int>(hidden: &Tensor<H>, #[comptime] axis: usize, index: usize) -> usize {
    select(hidden.shape(axis) == 1, 0, index * hidden.stride(axis))
}

/// Dropout's factor of the weight in column `k` of row `row` of all weights,
/// `[batch·heads·query_len, key_len]`.
#[cube]
pub(super) fn factor_of_weight(row: usize, k: usize, plan: &Plan, #[comptime] head: Head) -> f32 {
    if comptime!(head.drops) {
        let index = element_index(row as u32, plan.key_len as u32, k as u32);
        dropout_factor(&words_of_block(&index, &plan.draw), index_in_block(&index), &plan.draw)
    } else {
        f32::new(1.0)
    }
}
