//! The arithmetic of an instruction set for 8-bit integers.

use super::super::tile::Scales;
use super::super::vector::{Floats, Integers, Register};

/// Defines the arithmetic of one instruction set: how the products of four numbers `$left` and of
/// the fours of `$weights` are added to `$sums`. A product is of an input, raised by
/// [`Instructions::offset`] and then without a sign, and a weight from −127 to 127.
macro_rules! arithmetic {
    ($(#[$doc:meta])* $visibility:vis $name:ident($register:ty), |$sums:ident, $left:ident, $weights:ident| $products:expr) => {
        $(#[$doc])*
        $visibility struct $name;

        // SAFETY: the methods use nothing but the instructions, words and scales that the trait
        // asks for.
        unsafe impl crate::linear::cpu::tile::Arithmetic for $name {
            type Sums = $register;
            type Floats = <$register as crate::linear::cpu::vector::Integers>::Floats;
            #[inline(always)]
            unsafe fn add_products($sums: $register, $left: u32, right: *const u32) -> $register {
                // SAFETY: the caller has the instructions of `available`, and a register of words
                // at `right`.
                unsafe {
                    let $weights = <$register as crate::linear::cpu::vector::Register>::load(right);
                    $products
                }
            }
            #[inline(always)]
            unsafe fn floats(sums: $register, scales: &crate::linear::cpu::tile::Scales, row: usize, column: usize) -> Self::Floats {
                // SAFETY: the caller has the instructions, and scales of this row and these
                // columns.
                unsafe { crate::linear::cpu::int8::arithmetic::scaled(sums, scales, row, column) }
            }
        }
    };
}

pub(super) use arithmetic;

/// Returns `sums` plus their starts, multiplied by the scales.
///
/// # Safety
/// The conditions of [`Arithmetic::floats`](super::super::tile::Arithmetic::floats).
#[inline(always)]
pub(super) unsafe fn scaled<R: Integers>(
    sums: R,
    scales: &Scales,
    row: usize,
    column: usize,
) -> R::Floats {
    // SAFETY: the caller has the instructions, a scale of the row, and a scale and a start of each
    // column of the register: `OutputStage::part` cuts them for the tile, up to whole vectors.
    unsafe {
        let starts = R::load(scales.starts.as_ptr().add(column).cast());
        let columns = R::Floats::load(scales.columns.as_ptr().add(column).cast());
        let scales = R::Floats::splat(*scales.rows.get_unchecked(row)).multiply(columns);
        sums.add(starts).to_floats().multiply(scales)
    }
}
