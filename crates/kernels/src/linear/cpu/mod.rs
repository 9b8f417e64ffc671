//! The arithmetic of affine maps on slices: one layout of 32-bit words, one innermost loop and one
//! division of the work for every type of numbers.

mod affine;
mod bfloat16;
mod float32;
mod instructions;
mod int8;
mod panels;
mod product;
mod relu;
#[cfg(test)]
mod tests;
mod tile;
mod vector;

pub(crate) use affine::{ProductType, Sizes};
pub(super) use bfloat16::{
    decode as decode_bfloat16, is_fast as is_bfloat16_fast, panels as panels_bfloat16,
};
pub(super) use float32::{forward, panels, panels_in_place};
pub(super) use int8::Weight;
pub(super) use panels::Panels;
pub(super) use relu::through_relu;
