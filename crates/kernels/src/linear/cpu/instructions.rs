//! The instruction sets of products.

use std::fmt;

use super::tile::Tile;

/// The innermost loop for one type of numbers, compiled for one instruction set.
#[derive(Clone, Copy)]
pub(super) struct Instructions {
    pub name: &'static str,
    /// The number of lanes of a vector.
    pub lanes: usize,
    /// The number of vectors side by side in a panel.
    pub vectors: usize,
    /// The number of rows of a tile, if the left factor is stored in tiles; blocks of rows are
    /// whole tiles.
    pub tile: usize,
    /// The number that is added to the 8-bit numbers of a left factor, for instructions that take
    /// them without a sign.
    pub offset: i32,
    /// The function that computes a tile.
    ///
    /// # Safety
    /// The processor has these instructions, and the tile's fields are as documented.
    pub run: unsafe fn(&Tile),
}

impl Instructions {
    /// Returns the number of columns of a full panel.
    pub(super) fn panel(self) -> usize {
        self.vectors * self.lanes
    }
}

impl fmt::Debug for Instructions {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name)
    }
}

/// Compiles an [`Arithmetic`](super::tile::Arithmetic), `$rows` rows of `$vectors` vectors at a
/// time, with the given target features.
macro_rules! instructions {
    ($($features:literal,)? $arithmetic:ty, $rows:literal by $vectors:literal, tile: $tile:literal, offset: $offset:literal) => {{
        /// # Safety
        /// The conditions of [`Instructions::run`].
        $(#[target_feature(enable = $features)])?
        unsafe fn run(tile: &crate::linear::cpu::tile::Tile) {
            // SAFETY: the caller has the instructions and keeps the conditions of the fields.
            unsafe { tile.run::<$arithmetic, $rows, $vectors, $tile>() };
        }
        crate::linear::cpu::instructions::Instructions {
            name: stringify!($arithmetic),
            lanes: <<$arithmetic as crate::linear::cpu::tile::Arithmetic>::Sums as crate::linear::cpu::vector::Register>::LANES,
            vectors: $vectors,
            tile: $tile,
            offset: $offset,
            run,
        }
    }};
}

pub(super) use instructions;
