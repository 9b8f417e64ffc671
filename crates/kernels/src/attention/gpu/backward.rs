//! The backward pass. A cube works on one tile of queries, or of keys, of one head of one sentence.
//! A unit works on one score of each pair of tiles, and on every eighth feature of one row of sums.
//!
//! With w the weight of a key and p the scalar product of the context's gradient and the key's
//! value (times dropout's factor), the gradient of the score is w·(p − Σ w·p). Σ w·p is called the
//! centre of the query; it is the scalar product of its context and the context's gradient.

use cubecl::prelude::*;

use super::scores::{factor_of_weight, sees};
use super::tiles::{
    Head, Plan, TILE, add_product, clear, dot, load, offset_of_row, store, sum_over_row,
    tile_of_keys, tile_of_queries,
};

/// BackwardOperands of the backward kernels; [`centres_of_queries`] computes `by_query`.
#[derive(CubeType, CubeLaunch)]
pub(super) struct BackwardOperands {
    pub grad: Box<[f32]>,
    pub query: Box<[f32]>,
    pub key: Box<[f32]>,
    pub value: Box<[f32]>,
    pub by_query: Box<[f32]>,
}

/// Collects what both gradients need of each query in one tensor `[2, batch·heads·query_len]`: its
/// log Σ e^score, and its centre.
#[cube(launch, address_type = "dynamic")]
pub(super) fn centres_of_queries(
    grad: &[f32],
    context: &[f32],
    log_sums: &[f32],
    by_query: &mut [f32],
    heads: usize,
    query_len: usize,
    #[comptime] head: Head,
) {
    let d_v = comptime!(head.d_v);
    let tiles = query_len.div_ceil(TILE);
    let pair = CUBE_POS / tiles;
    if pair * query_len >= log_sums.len() {
        terminate!();
    }
    let unit = UNIT_POS as usize;
    let (row, column) = (unit / TILE, unit % TILE);
    let q = CUBE_POS % tiles * TILE + row;
    let mut parts = Shared::<[f32]>::new_slice(TILE * TILE);
    let mut part = f32::new(0.0);
    if q < query_len {
        let start = offset_of_row(pair, q, query_len, heads, d_v);
        let mut feature = unit % TILE;
        while feature < d_v {
            part += grad[start + feature] * context[start + feature];
            feature += TILE;
        }
    }
    let centre = sum_over_row(&mut parts, part);
    if q < query_len && column == 0 {
        let at = pair * query_len + q;
        by_query[at] = log_sums[at];
        by_query[log_sums.len() + at] = centre;
    }
}

/// The tiles whose scores the units compute again.
#[derive(CubeType)]
struct Tiles {
    queries: Shared<[f32]>,
    keys: Shared<[f32]>,
    values: Shared<[f32]>,
    /// Gradients of the contexts.
    grads: Shared<[f32]>,
}

/// Memory for the tiles of a cube.
#[cube]
fn tiles(#[comptime] head: Head) -> Tiles {
    let d_k = comptime!(head.d_k);
    let d_v = comptime!(head.d_v);
    Tiles {
        queries: Shared::<[f32]>::new_slice(TILE * (d_k + 1)),
        keys: Shared::<[f32]>::new_slice(TILE * (d_k + 1)),
        values: Shared::<[f32]>::new_slice(TILE * (d_v + 1)),
        grads: Shared::<[f32]>::new_slice(TILE * (d_v + 1)),
    }
}

/// The weight of a score before dropout, and the gradient of the product of query and key; the
/// score is that of row `row` of the queries and row `column` of the keys.
#[cube]
fn weight_and_slope(
    tiles: &Tiles,
    log_sum: f32,
    centre: f32,
    factor: f32,
    #[comptime] head: Head,
) -> (f32, f32) {
    let row = UNIT_POS as usize / TILE;
    let column = UNIT_POS as usize % TILE;
    let scale = f32::new(comptime!(head.scale()));
    let score = dot(&tiles.queries, row, &tiles.keys, column, comptime!(head.d_k)) * scale;
    let weight = (score - log_sum).exp();
    let product = dot(&tiles.grads, row, &tiles.values, column, comptime!(head.d_v)) * factor;
    (weight, weight * (product - centre) * scale)
}

/// The gradients of a tile of queries.
#[cube(launch, address_type = "dynamic")]
pub(super) fn gradients_of_queries<H: Int>(
    operands: &BackwardOperands,
    hidden: &Tensor<H>,
    d_query: &mut [f32],
    plan: Plan,
    #[comptime] head: Head,
    #[define(H)] _bools: ElemType,
) {
    let d_k = comptime!(head.d_k);
    let d_v = comptime!(head.d_v);
    let count = plan.query_len.div_ceil(TILE);
    let pair = CUBE_POS / count;
    let all_queries = operands.by_query.len() / 2;
    if pair * plan.query_len >= all_queries {
        terminate!();
    }
    let unit = UNIT_POS as usize;
    let (row, column) = (unit / TILE, unit % TILE);
    let tile = tile_of_queries(pair, CUBE_POS % count * TILE, &plan);
    let q = tile.first + row;
    let mut tiles = tiles(head);
    let mut sums = Shared::<[f32]>::new_slice(TILE * d_k);
    let mut slopes = Shared::<[f32]>::new_slice(TILE * TILE);
    load(&operands.query, &mut tiles.queries, &tile, d_k);
    load(&operands.grad, &mut tiles.grads, &tile, d_v);
    clear(&mut sums, d_k);
    sync_cube();

    let at = pair * plan.query_len + q;
    let mut log_sum = f32::new(0.0);
    let mut centre = f32::new(0.0);
    if q < plan.query_len {
        log_sum = operands.by_query[at];
        centre = operands.by_query[all_queries + at];
    }

    let mut first_key = 0usize;
    while first_key < plan.key_len {
        let key_tile = tile_of_keys(pair, first_key, &plan);
        load(&operands.key, &mut tiles.keys, &key_tile, d_k);
        load(&operands.value, &mut tiles.values, &key_tile, d_v);
        sync_cube();
        let k = first_key + column;
        slopes[unit] = 0.0;
        if sees::<H>(hidden, pair, q, k, &plan) {
            let factor = factor_of_weight(at, k, &plan, head);
            let (_, slope) = weight_and_slope(&tiles, log_sum, centre, factor, head);
            slopes[unit] = slope;
        }
        sync_cube();
        add_product(&mut sums, 1.0, &slopes, false, &tiles.keys, d_k);
        sync_cube();
        first_key += TILE;
    }
    store(&sums, 1.0, d_query, 0usize, &tile, d_k);
}

/// The gradients of a tile of keys and of their values. A unit's score is that of query `row` and
/// key `column` of their tiles; its features are those of key `row`. `d_key_value` holds the
/// gradient of the keys at its start and that of the values from element `second` on.
#[cube(launch, address_type = "dynamic")]
pub(super) fn gradients_of_keys<H: Int>(
    operands: &BackwardOperands,
    hidden: &Tensor<H>,
    d_key_value: &mut [f32],
    second: usize,
    plan: Plan,
    #[comptime] head: Head,
    #[define(H)] _bools: ElemType,
) {
    let d_k = comptime!(head.d_k);
    let d_v = comptime!(head.d_v);
    let count = plan.key_len.div_ceil(TILE);
    let pair = CUBE_POS / count;
    let all_queries = operands.by_query.len() / 2;
    if pair * plan.query_len >= all_queries {
        terminate!();
    }
    let unit = UNIT_POS as usize;
    let (row, column) = (unit / TILE, unit % TILE);
    let tile = tile_of_keys(pair, CUBE_POS % count * TILE, &plan);
    let k = tile.first + column;
    let mut tiles = tiles(head);
    let mut key_sums = Shared::<[f32]>::new_slice(TILE * d_k);
    let mut value_sums = Shared::<[f32]>::new_slice(TILE * d_v);
    let mut slopes = Shared::<[f32]>::new_slice(TILE * TILE);
    let mut weights = Shared::<[f32]>::new_slice(TILE * TILE);
    load(&operands.key, &mut tiles.keys, &tile, d_k);
    load(&operands.value, &mut tiles.values, &tile, d_v);
    clear(&mut key_sums, d_k);
    clear(&mut value_sums, d_v);

    let mut first_query = 0usize;
    while first_query < plan.query_len {
        let queries_place = tile_of_queries(pair, first_query, &plan);
        load(&operands.query, &mut tiles.queries, &queries_place, d_k);
        load(&operands.grad, &mut tiles.grads, &queries_place, d_v);
        sync_cube();
        let q = first_query + row;
        slopes[unit] = 0.0;
        weights[unit] = 0.0;
        if sees::<H>(hidden, pair, q, k, &plan) {
            let at = pair * plan.query_len + q;
            let (log_sum, centre) = (operands.by_query[at], operands.by_query[all_queries + at]);
            let factor = factor_of_weight(at, k, &plan, head);
            let (weight, slope) = weight_and_slope(&tiles, log_sum, centre, factor, head);
            slopes[unit] = slope;
            weights[unit] = weight * factor;
        }
        sync_cube();
        add_product(&mut key_sums, 1.0, &slopes, true, &tiles.queries, d_k);
        add_product(&mut value_sums, 1.0, &weights, true, &tiles.grads, d_v);
        sync_cube();
        first_query += TILE;
    }
    store(&key_sums, 1.0, d_key_value, 0usize, &tile, d_k);
    store(&value_sums, 1.0, d_key_value, second, &tile, d_v);
}
