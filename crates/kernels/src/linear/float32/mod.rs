//! Products in float32. A result is one sum in the order of the terms, each step rounded once, so that it depends on its row and
//! its column alone: every instruction set gives the same bits, in decoding and in training, on any number of threads.

mod block;
mod instructions;
mod panels;
mod product;
mod tile;
mod vector;

pub(super) use panels::Panels;

use super::epilogue::Epilogue;
use super::left::Left;
use crate::cpu::Sizes;
use product::product;

/// `epilogue(x·weightᵀ + bias)`, `[rows, output]`: `x` `[rows, input]`, `weight` `[output, input]`, `bias` `[output]` or
/// empty. Returns `None` if the processor has none of the instruction sets for which the products are written.
pub(super) fn forward(
    sizes: Sizes,
    x: &[f32],
    weight: &[f32],
    bias: &[f32],
    epilogue: Epilogue,
) -> Option<Vec<f32>> {
    let Sizes { rows, input, output } = sizes;
    let panels = Panels::of_rows(weight, [output, input])?;
    Some(product(Left::rows(x, [rows, input]), &panels, bias, epilogue))
}

/// The gradient of the input, `grad·weight`, `[rows, input]`, from the gradient of the output, `[rows, output]`; `None` as
/// above.
pub(super) fn grad_of_input(sizes: Sizes, grad: &[f32], weight: &[f32]) -> Option<Vec<f32>> {
    let Sizes { rows, input, output } = sizes;
    let panels = Panels::of_columns(weight, [output, input])?;
    Some(product(Left::rows(grad, [rows, output]), &panels, &[], Epilogue::None))
}

/// The gradient of the weight, `gradᵀ·x`, `[output, input]`, from the gradient of the output, `[rows, output]`; `None` as
/// above.
pub(super) fn grad_of_weight(sizes: Sizes, grad: &[f32], x: &[f32]) -> Option<Vec<f32>> {
    let Sizes { rows, input, output } = sizes;
    let panels = Panels::of_columns(x, [rows, input])?;
    Some(product(Left::columns(grad, [rows, output]), &panels, &[], Epilogue::None))
}
