//! The forward pass. A cube works on one tile of queries of one head of one sentence. A unit works on one score of
//! each pair of tiles, and on every eighth feature of one row of sums.

use cubecl::prelude::*;

use super::scores::{factor_of_weight, sees};
use super::tiles::{Head, TILE, add_product, clear, dot, load, store, sum_of_row};
use crate::gpu::philox::Draw;

/// The contexts of a tile of queries: the tiles of keys are visited in turn, and the sum so far is rescaled
/// where a higher score is found.
#[cube(launch, address_type = "dynamic")]
pub(super) fn contexts<H: Int>(
    query: &[f32],
    key: &[f32],
    value: &[f32],
    hidden: &Tensor<H>,
    context: &mut [f32],
    log_sums: &mut [f32],
    heads: usize,
    query_len: usize,
    key_len: usize,
    draw: Draw,
    #[comptime] head: Head,
    #[define(H)] _bools: ElemType,
) {
    let d_k = comptime!(head.d_k);
    let d_v = comptime!(head.d_v);
    let tiles = query_len.div_ceil(TILE);
    let pair = CUBE_POS / tiles;
    if pair * query_len >= log_sums.len() {
        terminate!();
    }
    let unit = UNIT_POS as usize;
    let row = unit / TILE;
    let column = unit % TILE;
    let first_query = CUBE_POS % tiles * TILE;
    let q = first_query + row;
    let mut queries = Shared::<[f32]>::new_slice(TILE * (d_k + 1));
    let mut keys = Shared::<[f32]>::new_slice(TILE * (d_k + 1));
    let mut values = Shared::<[f32]>::new_slice(TILE * (d_v + 1));
    let mut sums = Shared::<[f32]>::new_slice(TILE * d_v);
    let mut scores = Shared::<[f32]>::new_slice(TILE * TILE);
    load(query, &mut queries, pair, first_query, query_len, heads, d_k);
    clear(&mut sums, d_v);

    let mut highest = f32::new(comptime!(f32::MIN));
    // Over the keys of this unit alone.
    let mut weight_sum = f32::new(0.0);
    let mut first_key = 0usize;
    while first_key < key_len {
        load(key, &mut keys, pair, first_key, key_len, heads, d_k);
        load(value, &mut values, pair, first_key, key_len, heads, d_v);
        sync_cube();
        let k = first_key + column;
        let sees = sees::<H>(hidden, pair, q, k, heads, query_len, key_len);
        let mut score = f32::new(comptime!(f32::MIN));
        if sees {
            score = dot(&queries, row, &keys, column, d_k) * f32::new(comptime!(head.scale()));
        }
        scores[unit] = score;
        sync_cube();
        // A copy, not another name of the variable.
        let before = highest + 0.0;
        for other in 0..TILE {
            highest = max(highest, scores[row * TILE + other]);
        }
        let shrink = (before - highest).exp();
        let mut weight = f32::new(0.0);
        if sees {
            weight = (score - highest).exp();
        }
        weight_sum = weight_sum * shrink + weight;
        // Every unit has read the scores.
        sync_cube();
        scores[unit] = weight * factor_of_weight(pair * query_len + q, key_len, k, &draw, head);
        sync_cube();
        add_product(&mut sums, shrink, &scores, false, &values, d_v);
        // Before the next keys are loaded.
        sync_cube();
        first_key += TILE;
    }

    scores[unit] = weight_sum;
    sync_cube();
    let total = sum_of_row(&scores, row);
    store(&sums, total, context, 0usize, pair, first_query, query_len, heads, d_v);
    if q < query_len && column == 0 {
        log_sums[pair * query_len + q] = highest + total.ln();
    }
}
