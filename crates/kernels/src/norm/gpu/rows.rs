//! The rows that are normalised, as the kernels read them.

use cubecl::prelude::*;

use super::input::Input;
use crate::gpu::philox::{
    Draw, ELEMENTS_PER_BLOCK, Words, dropout_factor, element_index, index_in_block,
};

/// The kind of an [`Input`], for which the kernels are compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    Alone,
    Sum,
    Dropped,
}

impl From<Input> for Kind {
    fn from(input: Input) -> Self {
        match input {
            Input::Alone => Self::Alone,
            Input::Sum => Self::Sum,
            Input::Dropped(_) => Self::Dropped,
        }
    }
}

/// The settings for which the kernels are compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Rows {
    pub width: usize,
    /// Units that share a row.
    pub units: usize,
    pub kind: Kind,
}

impl Rows {
    /// Adjacent features that a unit takes at once: those of a block of dropout, unless blocks
    /// extend over the ends of rows.
    pub(super) fn step(self) -> usize {
        if self.kind == Kind::Dropped && self.width.is_multiple_of(ELEMENTS_PER_BLOCK) {
            ELEMENTS_PER_BLOCK
        } else {
            1
        }
    }
}

/// The operands of the kernels. y is not read if x is alone.
#[derive(CubeType, CubeLaunch)]
pub(super) struct Operands {
    pub x: Box<[f32]>,
    pub y: Box<[f32]>,
    pub weight: Box<[f32]>,
}

/// Feature `column` of row `row` of the input of the norm. `words` are those of the block that
/// decides about it.
#[cube]
pub(super) fn input_at(
    operands: &Operands,
    row: usize,
    column: usize,
    words: &Words,
    draw: &Draw,
    #[comptime] rows: Rows,
) -> f32 {
    let at = row * comptime!(rows.width) + column;
    if comptime!(rows.kind == Kind::Alone) {
        operands.x[at]
    } else if comptime!(rows.kind == Kind::Sum) {
        operands.x[at] + operands.y[at]
    } else {
        operands.x[at] + operands.y[at] * factor_at(row, column, words, draw, rows)
    }
}

/// Dropout's factor of feature `column` of row `row`. `words` are those of the block that decides
/// about it.
#[cube]
pub(super) fn factor_at(
    row: usize,
    column: usize,
    words: &Words,
    draw: &Draw,
    #[comptime] rows: Rows,
) -> f32 {
    let index = element_index(row as u32, comptime!(rows.width) as u32, column as u32);
    dropout_factor(words, index_in_block(&index), draw)
}
