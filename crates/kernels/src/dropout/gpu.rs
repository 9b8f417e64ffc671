//! The factors of dropout on GPUs. They are drawn on the device: drawn on the host they would have
//! to be uploaded, one float for each activation of the model in each update.

use burn::backend::tensor::FloatTensor;
use burn::backend::{Backend, Dispatch, backend_extension};
use burn::tensor::{DType, Tensor};
use burn_cubecl::CubeBackend;
use burn_cubecl::ops::numeric::empty_device_contiguous_dtype;
use cubecl::calculate_cube_count_elemwise;
use cubecl::prelude::*;
use cubecl::std::tensor::layout::linear::LinearViewMut;

use super::mask::DropoutMask;
use crate::gpu::philox::{
    Draw, DrawLaunch, ELEMENTS_PER_BLOCK, dropout_factor, element_index, words_of_block,
};
use crate::gpu::units_per_cube;

#[backend_extension(Cube, Fusion)]
pub(super) trait MaskKernel: Backend {
    #[fusion(dtype = x, shape = x)]
    fn dropout_mask_like(x: FloatTensor<Self>, mask: DropoutMask) -> FloatTensor<Self>;
}

/// The factors of `mask` for every element of `x`, which is on a GPU: bit for bit those of
/// [`DropoutMask::fill_at`].
pub(super) fn mask_like<const D: usize>(x: &Tensor<D>, mask: DropoutMask) -> Tensor<D> {
    let is_autodiff = x.device().is_autodiff();
    let x = if is_autodiff { x.clone().inner() } else { x.clone() };
    let factors = <Dispatch as MaskKernel>::dropout_mask_like(x.into_dispatch(), mask);
    let factors = Tensor::from_dispatch(factors);
    if is_autodiff { Tensor::from_inner(factors) } else { factors }
}

impl MaskKernel for CubeBackend {
    fn dropout_mask_like(x: FloatTensor<Self>, mask: DropoutMask) -> FloatTensor<Self> {
        let (client, shape) = (x.client.clone(), x.meta.shape().clone());
        let blocks = shape.num_elements().div_ceil(ELEMENTS_PER_BLOCK);
        let factors = empty_device_contiguous_dtype(client, x.device.clone(), shape, DType::F32);
        if blocks == 0 {
            return factors;
        }
        let dim = CubeDim::new_1d(units_per_cube(&factors.client));
        let [key_0, key_1] = mask.key().words();
        draw_factors::launch(
            &factors.client,
            calculate_cube_count_elemwise(&factors.client, blocks, dim),
            dim,
            factors.required_address_type(),
            factors.clone().into_linear_view(),
            DrawLaunch::new(key_0, key_1, mask.drop_threshold(), mask.keep_value()),
        );
        factors
    }
}

/// Writes the factors of all elements; each unit draws one block.
#[cube(launch, address_type = "dynamic")]
fn draw_factors(mut factors: LinearViewMut<'_, f32>, draw: Draw) {
    let first = (CUBE_POS * CUBE_DIM as usize + UNIT_POS as usize) * ELEMENTS_PER_BLOCK;
    if !factors.is_in_bounds(first) {
        terminate!();
    }
    let elements = ELEMENTS_PER_BLOCK as u32;
    let index = element_index(CUBE_POS as u32, CUBE_DIM * elements, UNIT_POS * elements);
    let words = words_of_block(&index, &draw);
    #[unroll]
    for which in 0..ELEMENTS_PER_BLOCK {
        if factors.is_in_bounds(first + which) {
            factors.write(first + which, dropout_factor(&words, which as u32, &draw));
        }
    }
}
