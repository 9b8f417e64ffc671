//! The forward pass. A cube works on one tile of queries of one head of one sentence. A unit works
//! on one score of each pair of tiles, and on every eighth feature of one row of sums.

use cubecl::prelude::*;

use super::scores::{factor_of_weight, sees};
use super::tiles::{
    Head, Plan, TILE, add_product, clear, dot, load, store, sum_over_row, tile_of_keys,
    tile_of_queries,
};

/// Operands of the forward kernel.
#[derive(CubeType, CubeLaunch)]
pub(super) struct ForwardOperands {
    pub query: Box<[f32]>,
    pub key: Box<[f32]>,
    pub value: Box<[f32]>,
}

/// The contexts of a tile of queries: the tiles of keys are visited in turn, and the sum so far is
/// rescaled where a higher score is found.
#[cube(launch, address_type = "dynamic")]
pub(super) fn contexts<H: Int>(
    operands: &ForwardOperands,
    hidden: &Tensor<H>,
    context: &mut [f32],
    log_sums: &mut [f32],
    plan: Plan,
    #[comptime] head: Head,
    #[define(H)] _bools: ElemType,
) {
    let d_k = comptime!(head.d_k);
    let d_v = comptime!(head.d_v);
    let tiles = plan.query_len.div_ceil(TILE);
    let pair = CUBE_POS / tiles;
    if pair * plan.query_len >= log_sums.len() {
        terminate!();
    }
    let unit = UNIT_POS as usize;
    let (row, column) = (unit / TILE, unit % TILE);
    let tile = tile_of_queries(pair, CUBE_POS % tiles * TILE, &plan);
    let q = tile.first + row;
    let mut queries = Shared::<[f32]>::new_slice(TILE * (d_k + 1));
    let mut keys = Shared::<[f32]>::new_slice(TILE * (d_k + 1));
    let mut values = Shared::<[f32]>::new_slice(TILE * (d_v + 1));
    let mut sums = Shared::<[f32]>::new_slice(TILE * d_v);
    let mut scores = Shared::<[f32]>::new_slice(TILE * TILE);
    load(&operands.query, &mut queries, &tile, d_k);
    clear(&mut sums, d_v);

    let mut highest = f32::new(comptime!(f32::MIN));
    // Over the keys of this unit alone.
    let mut weight_sum = f32::new(0.0);
    let mut first_key = 0usize;
    while first_key < plan.key_len {
        let key_tile = tile_of_keys(pair, first_key, &plan);
        load(&operands.key, &mut keys, &key_tile, d_k);
        load(&operands.value, &mut values, &key_tile, d_v);
        sync_cube();
        let k = first_key + column;
        let sees = sees::<H>(hidden, pair, q, k, &plan);
        let mut score = f32::new(comptime!(f32::MIN));
        if sees {
            score = dot(&queries, row, &keys, column, d_k) * f32::new(comptime!(head.scale()));
        }
        // A copy, not another name of the variable.
        let before = highest + 0.0;
        highest = highest_over_row(&mut scores, score, before);
        let shrink = (before - highest).exp();
        let weight = select(sees, (score - highest).exp(), 0.0);
        weight_sum = weight_sum * shrink + weight;
        scores[unit] = weight * factor_of_weight(pair * plan.query_len + q, k, &plan, head);
        sync_cube();
        add_product(&mut sums, shrink, &scores, false, &values, d_v);
        // All units must be done with these keys before the next ones are loaded.
        sync_cube();
        first_key += TILE;
    }

    let total = sum_over_row(&mut scores, weight_sum);
    store(&sums, total, context, 0usize, &tile, d_v);
    if q < plan.query_len && column == 0 {
        log_sums[pair * plan.query_len + q] = highest + total.ln();
    }
}

/// The highest of `start` and the `score` of each unit of this unit's row, by way of the matrix
/// `scores` `[TILE, TILE]`.
#[cube]
fn highest_over_row(scores: &mut Shared<[f32]>, score: f32, start: f32) -> f32 {
    scores[UNIT_POS as usize] = score;
    sync_cube();
    let row = UNIT_POS as usize / TILE;
    let mut highest = start + 0.0;
    for column in 0..TILE {
        highest = max(highest, scores[row * TILE + column]);
    }
    // All units must have read the scores before one of them writes again.
    sync_cube();
    highest
}
