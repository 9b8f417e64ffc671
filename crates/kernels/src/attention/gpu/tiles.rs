//! Tiles of queries, keys, values and gradients in the shared memory of a cube. A tile is some
//! adjacent rows of one head of one sentence. Sentence and head together are numbered by `pair` =
//! sentence·heads + head.

use cubecl::prelude::*;

use crate::gpu::philox::Draw;

/// The number of queries, or of keys, in a tile.
pub(super) const TILE: usize = 8;

/// Units of a cube: one for each score of a tile of queries with a tile of keys.
pub(super) const UNITS: u32 = (TILE * TILE) as u32;

/// The settings for which the kernels are compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Head {
    pub d_k: usize,
    pub d_v: usize,
    /// If true, dropout is applied to the attention weights.
    pub drops: bool,
}

impl Head {
    /// The factor of a score, 1 / √d_k.
    pub(super) fn scale(self) -> f32 {
        (self.d_k as f64).powf(-0.5) as f32
    }
}

/// The sizes that all tiles of a launch share, and what dropout draws from.
#[derive(CubeType, CubeLaunch, Clone, Copy)]
pub(super) struct Plan {
    pub heads: usize,
    pub query_len: usize,
    pub key_len: usize,
    pub draw: Draw,
}

/// The position of a tile: its first row among the `len` rows of one head of one sentence.
#[derive(CubeType, Clone, Copy)]
pub(super) struct Tile {
    pub pair: usize,
    pub first: usize,
    pub len: usize,
    pub heads: usize,
}

/// The tile of queries from row `first` on.
#[cube]
pub(super) fn tile_of_queries(pair: usize, first: usize, plan: &Plan) -> Tile {
    Tile { pair, first, len: plan.query_len, heads: plan.heads }
}

/// The tile of keys from row `first` on.
#[cube]
pub(super) fn tile_of_keys(pair: usize, first: usize, plan: &Plan) -> Tile {
    Tile { pair, first, len: plan.key_len, heads: plan.heads }
}

/// The first feature of row `row` of this pair in a tensor `[batch, len, heads·width]`.
#[cube]
pub(super) fn offset_of_row(
    pair: usize,
    row: usize,
    len: usize,
    heads: usize,
    #[comptime] width: usize,
) -> usize {
    (((pair / heads) * len + row) * heads + pair % heads) * width
}

/// Loads the rows of `tile` into `shared`, and zeros for rows past the end. In shared memory a row
/// takes one element more than its features, so that the units of a column read from different
/// memory banks.
#[cube]
pub(super) fn load(x: &[f32], shared: &mut Shared<[f32]>, tile: &Tile, #[comptime] width: usize) {
    let mut at = UNIT_POS as usize;
    while at < TILE * width {
        let (row, feature) = (at / width, at % width);
        let mut element = f32::new(0.0);
        if tile.first + row < tile.len {
            element = x
                [offset_of_row(tile.pair, tile.first + row, tile.len, tile.heads, width) + feature];
        }
        shared[row * (width + 1) + feature] = element;
        at += TILE * TILE;
    }
}

/// Sets this unit's features of its row of `sums` to zero.
#[cube]
pub(super) fn clear(sums: &mut Shared<[f32]>, #[comptime] width: usize) {
    let row = UNIT_POS as usize / TILE;
    let mut feature = UNIT_POS as usize % TILE;
    while feature < width {
        sums[row * width + feature] = 0.0;
        feature += TILE;
    }
}

/// `sums` times `shrink`, plus the matrix product of `factors` `[TILE, TILE]`, or of its transpose,
/// with `tile`: this unit's features of its row.
#[cube]
pub(super) fn add_product(
    sums: &mut Shared<[f32]>,
    shrink: f32,
    factors: &Shared<[f32]>,
    #[comptime] transposed: bool,
    tile: &Shared<[f32]>,
    #[comptime] width: usize,
) {
    let row = UNIT_POS as usize / TILE;
    let mut feature = UNIT_POS as usize % TILE;
    while feature < width {
        let mut sum = sums[row * width + feature] * shrink;
        for other in 0..TILE {
            let at = if comptime!(transposed) { other * TILE + row } else { row * TILE + other };
            sum += factors[at] * tile[other * (width + 1) + feature];
        }
        sums[row * width + feature] = sum;
        feature += TILE;
    }
}

/// Writes `sums` divided by `divisor`, or zeros where the divisor is zero, into the rows of
/// `tile` of the tensor that begins at element `origin` of `x`: this unit's features of
/// its row.
#[cube]
pub(super) fn store(
    sums: &Shared<[f32]>,
    divisor: f32,
    x: &mut [f32],
    origin: usize,
    tile: &Tile,
    #[comptime] width: usize,
) {
    let row = tile.first + UNIT_POS as usize / TILE;
    if row < tile.len {
        let start = origin + offset_of_row(tile.pair, row, tile.len, tile.heads, width);
        let row_start = UNIT_POS as usize / TILE * width;
        let mut feature = UNIT_POS as usize % TILE;
        while feature < width {
            let quotient = sums[row_start + feature] / divisor;
            x[start + feature] = select(divisor == 0.0, 0.0, quotient);
            feature += TILE;
        }
    }
}

/// The scalar product of row `x` of the tile `xs` and row `y` of the tile `ys`.
#[cube]
pub(super) fn dot(
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

/// The sum of `part` over the units of this unit's row, by way of the matrix `parts`
/// `[TILE, TILE]`.
#[cube]
pub(super) fn sum_over_row(parts: &mut Shared<[f32]>, part: f32) -> f32 {
    parts[UNIT_POS as usize] = part;
    sync_cube();
    let row = UNIT_POS as usize / TILE;
    let mut sum = f32::new(0.0);
    for column in 0..TILE {
        sum += parts[row * TILE + column];
    }
    sum
}
