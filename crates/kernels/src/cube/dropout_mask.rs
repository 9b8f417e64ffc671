//! The factors of dropout, drawn where they are used: drawn on the host they would have to travel, a float for
//! every activation of the model at each update.

use burn::backend::tensor::FloatTensor;
use burn::backend::{Backend, Dispatch, backend_extension};
use burn::tensor::{DType, Tensor};
use burn_cubecl::CubeBackend;
use burn_cubecl::ops::numeric::empty_device_contiguous_dtype;
use cubecl::calculate_cube_count_elemwise;
use cubecl::prelude::*;
use cubecl::std::tensor::layout::linear::LinearViewMut;

use crate::DropoutMask;
use crate::philox::{MULTIPLIERS, WEYL};

/// Elements that one block of Philox decides.
const ELEMENTS: usize = 8;

#[backend_extension(Cube, Fusion)]
pub(crate) trait MaskLike: Backend {
    #[fusion(dtype = x, shape = x)]
    fn dropout_mask_like(x: FloatTensor<Self>, mask: DropoutMask) -> FloatTensor<Self>;
}

/// The factors of `mask` for every element of `x`, bit for bit those of [`DropoutMask::fill_at`].
pub(crate) fn like<const D: usize>(x: &Tensor<D>, mask: DropoutMask) -> Tensor<D> {
    let is_autodiff = x.device().is_autodiff();
    let x = if is_autodiff { x.clone().inner() } else { x.clone() };
    let factors = <Dispatch as MaskLike>::dropout_mask_like(x.into_dispatch(), mask);
    let factors = Tensor::from_dispatch(factors);
    if is_autodiff { Tensor::from_inner(factors) } else { factors }
}

impl MaskLike for CubeBackend {
    fn dropout_mask_like(x: FloatTensor<Self>, mask: DropoutMask) -> FloatTensor<Self> {
        let (client, shape) = (x.client.clone(), x.meta.shape().clone());
        let blocks = shape.num_elements().div_ceil(ELEMENTS);
        let factors = empty_device_contiguous_dtype(client, x.device.clone(), shape, DType::F32);
        if blocks == 0 {
            return factors;
        }
        let cubes = CubeDim::new(&factors.client, blocks);
        let count = calculate_cube_count_elemwise(&factors.client, blocks, cubes);
        let [key_0, key_1] = mask.key().words();
        draw::launch(
            &factors.client,
            count,
            cubes,
            factors.clone().into_linear_view(),
            key_0,
            key_1,
            mask.drop_threshold(),
            mask.keep_value(),
        );
        factors
    }
}

/// Philox-4x32-10: each unit draws one block, which decides eight elements, 16 bits each.
#[cube(launch)]
fn draw(mut factors: LinearViewMut<'_, f32>, key_0: u32, key_1: u32, threshold: u32, keep: f32) {
    let first = ABSOLUTE_POS * ELEMENTS;
    if !factors.is_in_bounds(first) {
        terminate!();
    }
    let (mut k0, mut k1) = (key_0, key_1);
    let mut c0 = ABSOLUTE_POS as u32;
    let mut c1 = 0u32;
    let mut c2 = 0u32;
    let mut c3 = 0u32;
    #[unroll]
    for _ in 0..10 {
        let high_0 = u32::mul_hi(c0, comptime!(MULTIPLIERS[0]));
        let low_0 = c0 * comptime!(MULTIPLIERS[0]);
        let high_1 = u32::mul_hi(c2, comptime!(MULTIPLIERS[1]));
        let low_1 = c2 * comptime!(MULTIPLIERS[1]);
        c0 = high_1 ^ c1 ^ k0;
        c1 = low_1;
        c2 = high_0 ^ c3 ^ k1;
        c3 = low_0;
        k0 += comptime!(WEYL[0]);
        k1 += comptime!(WEYL[1]);
    }
    write_word(&mut factors, first, c0, threshold, keep);
    write_word(&mut factors, first + 2, c1, threshold, keep);
    write_word(&mut factors, first + 4, c2, threshold, keep);
    write_word(&mut factors, first + 6, c3, threshold, keep);
}

/// Writes the two elements that `word` decides, its low half first.
#[cube]
fn write_word(
    factors: &mut LinearViewMut<'_, f32>,
    place: usize,
    word: u32,
    threshold: u32,
    keep: f32,
) {
    if factors.is_in_bounds(place) {
        factors.write(place, select((word & 0xffff) < threshold, 0.0, keep));
    }
    if factors.is_in_bounds(place + 1) {
        factors.write(place + 1, select((word >> 16) < threshold, 0.0, keep));
    }
}
