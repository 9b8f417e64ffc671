//! A cube works on a tile of queries, or of keys, of one head; a unit on one score of each tile, and on every eighth
//! feature of one row.

use cubecl::prelude::*;

use crate::gpu::philox::{
    ElementIndex, dropout_factor, element_index, index_in_block, words_of_block,
};

/// Queries, and keys, of a tile.
pub(super) const TILE: usize = 8;

/// What the kernels are compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Head {
    pub d_k: usize,
    pub d_v: usize,
    /// Whether weights are dropped.
    pub drops: bool,
}

impl Head {
    fn scale(self) -> f32 {
        (self.d_k as f64).powf(-0.5) as f32
    }
}

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
    key_0: u32,
    key_1: u32,
    threshold: u32,
    keep: f32,
    #[comptime] head: Head,
    #[define(H)] _bools: ElemType,
) {
    let d_k = comptime!(head.d_k);
    let d_v = comptime!(head.d_v);
    let tiles = query_len.div_ceil(TILE);
    // Which head of which sentence.
    let which = CUBE_POS / tiles;
    if which * query_len >= log_sums.len() {
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
    load(query, &mut queries, which, first_query, query_len, heads, d_k);
    clear(&mut sums, d_v);

    let mut highest = f32::new(comptime!(f32::MIN));
    // Of this unit's keys alone.
    let mut weight_sum = f32::new(0.0);
    let mut first_key = 0usize;
    while first_key < key_len {
        load(key, &mut keys, which, first_key, key_len, heads, d_k);
        load(value, &mut values, which, first_key, key_len, heads, d_v);
        sync_cube();
        let k = first_key + column;
        let sees = sees::<H>(hidden, which, q, k, heads, query_len, key_len);
        let mut score = f32::new(comptime!(f32::MIN));
        if sees {
            score = dot(&queries, row, &keys, column, d_k) * f32::new(comptime!(head.scale()));
        }
        scores[unit] = score;
        sync_cube();
        let before = highest + 0.0;
        for other in 0..TILE {
            highest = max(highest, scores[row * TILE + other]);
        }
        let shrunk = (before - highest).exp();
        let mut weight = f32::new(0.0);
        if sees {
            weight = (score - highest).exp();
        }
        weight_sum = weight_sum * shrunk + weight;
        // All have read the scores.
        sync_cube();
        let place = element_index((which * query_len + q) as u32, key_len as u32, k as u32);
        scores[unit] = weight * kept(&place, key_0, key_1, threshold, keep, head);
        sync_cube();
        add(&mut sums, shrunk, &scores, false, &values, d_v);
        // Before the next keys are loaded.
        sync_cube();
        first_key += TILE;
    }

    scores[unit] = weight_sum;
    sync_cube();
    let mut total = f32::new(0.0);
    for other in 0..TILE {
        total += scores[row * TILE + other];
    }
    store(&sums, total, context, 0usize, which, first_query, query_len, heads, d_v);
    if q < query_len && column == 0 {
        log_sums[which * query_len + q] = highest + total.ln();
    }
}

/// Gathers what both gradients need of each query, `[2, queries]`: its log Σ e^score, and its centre, which is the
/// context times its gradient.
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
    let which = CUBE_POS / tiles;
    if which * query_len >= log_sums.len() {
        terminate!();
    }
    let unit = UNIT_POS as usize;
    let row = unit / TILE;
    let column = unit % TILE;
    let q = CUBE_POS % tiles * TILE + row;
    let mut parts = Shared::<[f32]>::new_slice(TILE * TILE);
    let mut part = f32::new(0.0);
    if q < query_len {
        let start = place(which, q, query_len, heads, d_v);
        let mut feature = unit % TILE;
        while feature < d_v {
            part += grad[start + feature] * context[start + feature];
            feature += TILE;
        }
    }
    parts[unit] = part;
    sync_cube();
    if q < query_len && column == 0 {
        let mut centre = f32::new(0.0);
        for other in 0..TILE {
            centre += parts[row * TILE + other];
        }
        let at = which * query_len + q;
        by_query[at] = log_sums[at];
        by_query[log_sums.len() + at] = centre;
    }
}

/// With w the weights and p the gradient of the context times the values: the gradient of a score is w·(p − Σ w·p), and
/// Σ w·p is the query's centre in `by_query`.
#[cube(launch, address_type = "dynamic")]
pub(super) fn gradients_of_queries<H: Int>(
    grad: &[f32],
    query: &[f32],
    key: &[f32],
    value: &[f32],
    hidden: &Tensor<H>,
    by_query: &[f32],
    d_query: &mut [f32],
    heads: usize,
    query_len: usize,
    key_len: usize,
    key_0: u32,
    key_1: u32,
    threshold: u32,
    keep: f32,
    #[comptime] head: Head,
    #[define(H)] _bools: ElemType,
) {
    let d_k = comptime!(head.d_k);
    let d_v = comptime!(head.d_v);
    let tiles = query_len.div_ceil(TILE);
    let which = CUBE_POS / tiles;
    let queries_in_all = by_query.len() / 2;
    if which * query_len >= queries_in_all {
        terminate!();
    }
    let unit = UNIT_POS as usize;
    let row = unit / TILE;
    let column = unit % TILE;
    let first_query = CUBE_POS % tiles * TILE;
    let q = first_query + row;
    let scale = f32::new(comptime!(head.scale()));
    let mut queries = Shared::<[f32]>::new_slice(TILE * (d_k + 1));
    let mut keys = Shared::<[f32]>::new_slice(TILE * (d_k + 1));
    let mut values = Shared::<[f32]>::new_slice(TILE * (d_v + 1));
    let mut grads = Shared::<[f32]>::new_slice(TILE * (d_v + 1));
    let mut sums = Shared::<[f32]>::new_slice(TILE * d_k);
    let mut slopes = Shared::<[f32]>::new_slice(TILE * TILE);
    load(query, &mut queries, which, first_query, query_len, heads, d_k);
    load(grad, &mut grads, which, first_query, query_len, heads, d_v);
    clear(&mut sums, d_k);
    sync_cube();

    let mut log_sum = f32::new(0.0);
    let mut centre = f32::new(0.0);
    if q < query_len {
        log_sum = by_query[which * query_len + q];
        centre = by_query[queries_in_all + which * query_len + q];
    }

    let mut first_key = 0usize;
    while first_key < key_len {
        load(key, &mut keys, which, first_key, key_len, heads, d_k);
        load(value, &mut values, which, first_key, key_len, heads, d_v);
        sync_cube();
        let k = first_key + column;
        let mut slope = f32::new(0.0);
        if sees::<H>(hidden, which, q, k, heads, query_len, key_len) {
            let place = element_index((which * query_len + q) as u32, key_len as u32, k as u32);
            let weight = (dot(&queries, row, &keys, column, d_k) * scale - log_sum).exp();
            let product = dot(&grads, row, &values, column, d_v)
                * kept(&place, key_0, key_1, threshold, keep, head);
            slope = weight * (product - centre) * scale;
        }
        slopes[unit] = slope;
        sync_cube();
        add(&mut sums, 1.0, &slopes, false, &keys, d_k);
        sync_cube();
        first_key += TILE;
    }
    store(&sums, 1.0, d_query, 0usize, which, first_query, query_len, heads, d_k);
}

/// The gradients of a tile of keys and of their values, as [`gradients_of_queries`] has those of queries. A unit's score
/// is that of the query `row` and the key `column` of the tiles, its features are those of the key `row`. `d_key_value`
/// holds the keys' gradient at its start, the values' from `second` on.
#[cube(launch, address_type = "dynamic")]
pub(super) fn gradients_of_keys<H: Int>(
    grad: &[f32],
    query: &[f32],
    key: &[f32],
    value: &[f32],
    hidden: &Tensor<H>,
    by_query: &[f32],
    d_key_value: &mut [f32],
    second: usize,
    heads: usize,
    query_len: usize,
    key_len: usize,
    key_0: u32,
    key_1: u32,
    threshold: u32,
    keep: f32,
    #[comptime] head: Head,
    #[define(H)] _bools: ElemType,
) {
    let d_k = comptime!(head.d_k);
    let d_v = comptime!(head.d_v);
    let tiles = key_len.div_ceil(TILE);
    let which = CUBE_POS / tiles;
    let queries_in_all = by_query.len() / 2;
    if which * query_len >= queries_in_all {
        terminate!();
    }
    let unit = UNIT_POS as usize;
    let row = unit / TILE;
    let column = unit % TILE;
    let first_key = CUBE_POS % tiles * TILE;
    let scale = f32::new(comptime!(head.scale()));
    let mut queries = Shared::<[f32]>::new_slice(TILE * (d_k + 1));
    let mut keys = Shared::<[f32]>::new_slice(TILE * (d_k + 1));
    let mut values = Shared::<[f32]>::new_slice(TILE * (d_v + 1));
    let mut grads = Shared::<[f32]>::new_slice(TILE * (d_v + 1));
    let mut key_sums = Shared::<[f32]>::new_slice(TILE * d_k);
    let mut value_sums = Shared::<[f32]>::new_slice(TILE * d_v);
    let mut slopes = Shared::<[f32]>::new_slice(TILE * TILE);
    let mut weights = Shared::<[f32]>::new_slice(TILE * TILE);
    load(key, &mut keys, which, first_key, key_len, heads, d_k);
    load(value, &mut values, which, first_key, key_len, heads, d_v);
    clear(&mut key_sums, d_k);
    clear(&mut value_sums, d_v);

    let mut first_query = 0usize;
    while first_query < query_len {
        load(query, &mut queries, which, first_query, query_len, heads, d_k);
        load(grad, &mut grads, which, first_query, query_len, heads, d_v);
        sync_cube();
        let (q, k) = (first_query + row, first_key + column);
        let mut slope = f32::new(0.0);
        let mut kept_weight = f32::new(0.0);
        if sees::<H>(hidden, which, q, k, heads, query_len, key_len) {
            let at = which * query_len + q;
            let place = element_index(at as u32, key_len as u32, k as u32);
            let kept = kept(&place, key_0, key_1, threshold, keep, head);
            let weight = (dot(&queries, row, &keys, column, d_k) * scale - by_query[at]).exp();
            let product = dot(&grads, row, &values, column, d_v) * kept;
            slope = weight * (product - by_query[queries_in_all + at]) * scale;
            kept_weight = weight * kept;
        }
        slopes[unit] = slope;
        weights[unit] = kept_weight;
        sync_cube();
        add(&mut key_sums, 1.0, &slopes, true, &queries, d_k);
        add(&mut value_sums, 1.0, &weights, true, &grads, d_v);
        sync_cube();
        first_query += TILE;
    }
    store(&key_sums, 1.0, d_key_value, 0usize, which, first_key, key_len, heads, d_k);
    store(&value_sums, 1.0, d_key_value, second, which, first_key, key_len, heads, d_v);
}

/// Where the features of head `which` begin in row `row` of its sentence.
#[cube]
fn place(which: usize, row: usize, len: usize, heads: usize, #[comptime] width: usize) -> usize {
    (((which / heads) * len + row) * heads + which % heads) * width
}

/// Loads a tile's rows from `first` on, zeros past the end. A row takes one place more than its features, lest the
/// units of a column all read from one bank.
#[cube]
fn load(
    x: &[f32],
    rows: &mut Shared<[f32]>,
    which: usize,
    first: usize,
    len: usize,
    heads: usize,
    #[comptime] width: usize,
) {
    let mut at = UNIT_POS as usize;
    while at < TILE * width {
        let (row, feature) = (at / width, at % width);
        let mut element = f32::new(0.0);
        if first + row < len {
            element = x[place(which, first + row, len, heads, width) + feature];
        }
        rows[row * (width + 1) + feature] = element;
        at += TILE * TILE;
    }
}

/// Makes a tile's sums zero, this unit's features of its row.
#[cube]
fn clear(sums: &mut Shared<[f32]>, #[comptime] width: usize) {
    let row = UNIT_POS as usize / TILE;
    let mut feature = UNIT_POS as usize % TILE;
    while feature < width {
        sums[row * width + feature] = 0.0;
        feature += TILE;
    }
}

/// Multiplies a tile's sums by `shrunk` and adds the product of the tile `factors`, or of it turned round, with `rows`;
/// this unit's features of its row.
#[cube]
fn add(
    sums: &mut Shared<[f32]>,
    shrunk: f32,
    factors: &Shared<[f32]>,
    #[comptime] turned: bool,
    rows: &Shared<[f32]>,
    #[comptime] width: usize,
) {
    let row = UNIT_POS as usize / TILE;
    let mut feature = UNIT_POS as usize % TILE;
    while feature < width {
        let mut sum = sums[row * width + feature] * shrunk;
        for other in 0..TILE {
            let at = if comptime!(turned) { other * TILE + row } else { row * TILE + other };
            sum += factors[at] * rows[other * (width + 1) + feature];
        }
        sums[row * width + feature] = sum;
        feature += TILE;
    }
}

/// Stores a tile's sums over `divisor`, zeros where that is zero, as rows from `first` on of the tensor that begins at
/// `origin` of `x`; this unit's features of its row.
#[cube]
fn store(
    sums: &Shared<[f32]>,
    divisor: f32,
    x: &mut [f32],
    origin: usize,
    which: usize,
    first: usize,
    len: usize,
    heads: usize,
    #[comptime] width: usize,
) {
    let row = UNIT_POS as usize / TILE;
    if first + row < len {
        let start = origin + place(which, first + row, len, heads, width);
        let mut feature = UNIT_POS as usize % TILE;
        while feature < width {
            let quotient = sums[row * width + feature] / divisor;
            x[start + feature] = select(divisor == 0.0, 0.0, quotient);
            feature += TILE;
        }
    }
}

/// The product of row `x` of `xs` and row `y` of `ys`.
#[cube]
fn dot(
    xs: &Shared<[f32]>,
    x: usize,
    ys: &Shared<[f32]>,
    y: usize,
    #[comptime] width: usize,
) -> f32 {
    let mut sum = f32::new(0.0);
    for feature in 0..width {
        sum += xs[x * (width + 1) + feature] * ys[y * (width + 1) + feature];
    }
    sum
}

/// Whether there are such a query and such a key, and the one may see the other.
#[cube]
fn sees<H: Int>(
    hidden: &Tensor<H>,
    which: usize,
    q: usize,
    k: usize,
    heads: usize,
    query_len: usize,
    key_len: usize,
) -> bool {
    let mut sees = false;
    if q < query_len && k < key_len {
        let at = along::<H>(hidden, 0usize, which / heads)
            + along::<H>(hidden, 1usize, which % heads)
            + along::<H>(hidden, 2usize, q)
            + along::<H>(hidden, 3usize, k);
        sees = u32::cast_from(hidden[at]) == 0;
    }
    sees
}

/// The way of `steps` steps along an axis of the mask, which is one long where it makes no difference.
#[cube]
fn along<H: Int>(hidden: &Tensor<H>, #[comptime] axis: usize, steps: usize) -> usize {
    select(hidden.shape(axis) == 1, 0, steps * hidden.stride(axis))
}

/// Dropout's factor for the weight at `place` among all.
#[cube]
fn kept(
    index: &ElementIndex,
    key_0: u32,
    key_1: u32,
    threshold: u32,
    keep: f32,
    #[comptime] head: Head,
) -> f32 {
    if comptime!(head.drops) {
        let words = words_of_block(index, key_0, key_1);
        dropout_factor(&words, index_in_block(index), threshold, keep)
    } else {
        f32::new(1.0)
    }
}
