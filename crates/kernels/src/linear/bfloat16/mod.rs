//! Products in bfloat16 for training: both factors rounded to 16 bits, every sum in float32.
//!
//! A factor is rounded to the nearest bfloat16, ties to even, when it is rearranged for the product; a subnormal number
//! becomes 0. A result is one sum in the order of the terms, but with the two of each pair exchanged (1, 0, 3, 2, …): that is
//! the order of x86's `vdpbf16ps`. Each step is a multiplication and addition that is rounded once, ties to even, and whose
//! result is 0 where it is subnormal. Every instruction set gives these bits, on any number of threads and whatever the size
//! of the matrices: a result depends on its row and its column alone.

mod block;
mod instructions;
mod line;
mod panels;
mod portable;
mod product;
mod round;
mod sums;
mod tile;
#[cfg(target_arch = "x86_64")]
mod x86;

use instructions::Instructions;
use panels::Panels;
use product::product;

use super::epilogue::Epilogue;
use super::left::Left;
use crate::cpu::Sizes;

/// Whether this processor multiplies bfloat16 by instructions of its own, faster than float32.
pub(super) fn is_fast() -> bool {
    Instructions::best().is_fast()
}

/// `epilogue(x·weightᵀ + bias)`, `[rows, output]`: `x` `[rows, input]`, `weight` `[output, input]`, `bias` `[output]` or
/// empty.
pub(super) fn forward(
    sizes: Sizes,
    x: &[f32],
    weight: &[f32],
    bias: &[f32],
    epilogue: Epilogue,
) -> Vec<f32> {
    let Sizes { rows, input, output } = sizes;
    let panels = Panels::of_rows(weight, [output, input]);
    product(Instructions::best(), Left::rows(x, [rows, input]), &panels, bias, epilogue)
}

/// The gradient of the input, `grad·weight`, `[rows, input]`, from the gradient of the output, `[rows, output]`.
pub(super) fn grad_of_input(sizes: Sizes, grad: &[f32], weight: &[f32]) -> Vec<f32> {
    let Sizes { rows, input, output } = sizes;
    let panels = Panels::of_columns(weight, [output, input]);
    product(Instructions::best(), Left::rows(grad, [rows, output]), &panels, &[], Epilogue::None)
}

/// The gradient of the weight, `gradᵀ·x`, `[output, input]`, from the gradient of the output, `[rows, output]`.
pub(super) fn grad_of_weight(sizes: Sizes, grad: &[f32], x: &[f32]) -> Vec<f32> {
    let Sizes { rows, input, output } = sizes;
    let panels = Panels::of_columns(x, [rows, input]);
    product(Instructions::best(), Left::columns(grad, [rows, output]), &panels, &[], Epilogue::None)
}
