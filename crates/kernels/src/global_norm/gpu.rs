//! The norm of many vectors on GPUs: the cubes of each vector write their sums of squares into one
//! row of a matrix, which is then summed. Burn's own sum adds by atomic operations, in the order in
//! which the cubes happen to end.

use burn::backend::fusion::custom::TensorSpec;
use burn::backend::tensor::FloatTensor;
use burn::backend::{Backend, Dispatch, backend_extension};
use burn::tensor::{DType, Tensor};
use burn_cubecl::CubeBackend;
use burn_cubecl::kernel::into_contiguous;
use burn_cubecl::tensor::CubeTensor;
use cubecl::prelude::*;

use crate::gpu::{empty, sums_of_units, units_per_cube};

/// The number of cubes that share one vector.
const CUBES: usize = 256;

#[backend_extension(Cube, Fusion)]
trait GlobalNormKernels: Backend {
    /// Returns `parts` (`[vectors, CUBES]`) with the sums of squares of `x` written to row `row`.
    /// It is changed in place if no other tensor shares its memory.
    #[fusion(dtype = parts, shape = parts)]
    fn squares_into(
        parts: FloatTensor<Self>,
        x: FloatTensor<Self>,
        row: usize,
    ) -> FloatTensor<Self>;

    /// The square root of the sum of all parts, `[1]`.
    #[fusion(meta = |_parts| TensorSpec::new([1].into(), DType::F32))]
    fn root_of_sum(parts: FloatTensor<Self>) -> FloatTensor<Self>;
}

/// The norm of all `vectors`, which are on a GPU, taken as one vector.
pub(super) fn global_norm(vectors: &[Tensor<1>]) -> Tensor<1> {
    let parts = Tensor::<2>::empty([vectors.len(), CUBES], &vectors[0].device()).into_dispatch();
    let parts = vectors.iter().enumerate().fold(parts, |parts, (row, vector)| {
        <Dispatch as GlobalNormKernels>::squares_into(parts, vector.clone().into_dispatch(), row)
    });
    Tensor::from_dispatch(<Dispatch as GlobalNormKernels>::root_of_sum(parts))
}

impl GlobalNormKernels for CubeBackend {
    fn squares_into(parts: CubeTensor, x: CubeTensor, row: usize) -> CubeTensor {
        let parts = into_contiguous(parts);
        let parts = if parts.can_mut() { parts } else { parts.copy() };
        let client = parts.client.clone();
        let units = units_per_cube(&client);
        squares::launch(
            &client,
            CubeCount::new_1d(CUBES as u32),
            CubeDim::new_1d(units),
            into_contiguous(x).into_buffer_arg(),
            parts.clone().into_buffer_arg(),
            row * CUBES,
            units as usize,
        );
        parts
    }

    fn root_of_sum(parts: CubeTensor) -> CubeTensor {
        let parts = into_contiguous(parts);
        let (client, root) = (parts.client.clone(), empty(&parts, [1]));
        let units = units_per_cube(&client);
        root_of_parts::launch(
            &client,
            CubeCount::new_single(),
            CubeDim::new_1d(units),
            parts.into_buffer_arg(),
            root.clone().into_buffer_arg(),
            units as usize,
        );
        root
    }
}

/// The sums of squares of one vector, one for each cube, into `parts` from element `first` on.
#[cube(launch)]
fn squares(x: &[f32], parts: &mut [f32], first: usize, #[comptime] units: usize) {
    let mut sum = f32::new(0.0);
    let mut at = ABSOLUTE_POS;
    while at < x.len() {
        sum += x[at] * x[at];
        at += CUBES * units;
    }
    let (sum, _) = sums_of_units(sum, 0.0, units);
    if UNIT_POS == 0 {
        parts[first + CUBE_POS] = sum;
    }
}

/// The square root of the sum of all parts; one cube.
#[cube(launch)]
fn root_of_parts(parts: &[f32], root: &mut [f32], #[comptime] units: usize) {
    let mut sum = f32::new(0.0);
    let mut at = UNIT_POS as usize;
    while at < parts.len() {
        sum += parts[at];
        at += units;
    }
    let (sum, _) = sums_of_units(sum, 0.0, units);
    if UNIT_POS == 0 {
        root[0] = sum.sqrt();
    }
}
