//! The launches of the norms' kernels, as operations that Burn's fusion executes in order with its
//! own.

use burn::backend::fusion::custom::TensorSpec;
use burn::backend::tensor::FloatTensor;
use burn::backend::{Backend, backend_extension};
use burn::tensor::DType;
use burn_cubecl::CubeBackend;
use burn_cubecl::kernel::into_contiguous;
use burn_cubecl::tensor::CubeTensor;
use cubecl::calculate_cube_count_elemwise;
use cubecl::prelude::{BufferArg, CubeDim};

use super::backward::GradOperandsLaunch;
use super::input::Input;
use super::rows::{OperandsLaunch, Rows};
use super::{backward, forward};
use crate::dropout::gpu::draw_of;
use crate::gpu::{SharedBuffer, cubes, empty, empty_like, shared_buffer, units_per_cube};

#[backend_extension(Cube, Fusion)]
pub(super) trait NormKernels: Backend {
    /// The norm of `input`, of the shape of x; and the mean and 1 / √(variance + ε) of each row,
    /// `[2, rows]`. y is not read if x is alone.
    #[fusion(meta = |x, _y, _weight, _bias, _epsilon, _input| (x.clone(), moments_of(x)))]
    fn norm(
        x: FloatTensor<Self>,
        y: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        bias: FloatTensor<Self>,
        epsilon: f64,
        input: Input,
    ) -> (FloatTensor<Self>, FloatTensor<Self>);

    /// The gradients of x, y, weight and bias.
    #[fusion(meta = |_grad, x, _y, weight, _moments, _input| (x.clone(), x.clone(), weight.clone(), weight.clone()))]
    fn norm_gradients(
        grad: FloatTensor<Self>,
        x: FloatTensor<Self>,
        y: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        moments: FloatTensor<Self>,
        input: Input,
    ) -> (FloatTensor<Self>, FloatTensor<Self>, FloatTensor<Self>, FloatTensor<Self>);
}

fn moments_of(x: &TensorSpec) -> TensorSpec {
    let width = x.shape[x.shape.num_dims() - 1];
    let rows = x.shape.num_elements().checked_div(width).unwrap_or(0);
    TensorSpec::new([2, rows].into(), DType::F32)
}

impl NormKernels for CubeBackend {
    fn norm(
        x: CubeTensor,
        y: CubeTensor,
        weight: CubeTensor,
        bias: CubeTensor,
        epsilon: f64,
        input: Input,
    ) -> (CubeTensor, CubeTensor) {
        let [x, y, weight, bias] = [x, y, weight, bias].map(into_contiguous);
        let (client, [rows, width]) = (x.client.clone(), matrix(&x));
        let (output, moments) = (empty_like(&x), empty(&x, [2, rows]));
        let units = units_per_cube(&client).min(units_of(width));
        let (count, dim) = cubes(&client, rows, units);
        let y = if input.has_y() { y.into_buffer_arg() } else { alias_of(&x, 0) };
        forward::norm_of_rows::launch(
            &client,
            count,
            dim,
            output.required_address_type(),
            OperandsLaunch::new(x.into_buffer_arg(), y, weight.into_buffer_arg()),
            bias.into_buffer_arg(),
            output.clone().into_buffer_arg(),
            moments.clone().into_buffer_arg(),
            epsilon as f32,
            draw_of(input.mask()),
            Rows { width, units: units as usize, kind: input.into() },
        );
        (output, moments)
    }

    fn norm_gradients(
        grad: CubeTensor,
        x: CubeTensor,
        y: CubeTensor,
        weight: CubeTensor,
        moments: CubeTensor,
        input: Input,
    ) -> (CubeTensor, CubeTensor, CubeTensor, CubeTensor) {
        let [grad, x, y, weight, moments] = [grad, x, y, weight, moments].map(into_contiguous);
        let (client, [rows, width]) = (x.client.clone(), matrix(&x));
        let groups = groups(rows);
        let parts = empty(&x, [groups, 2, width]);
        let SharedBuffer { whole: dxy, parts: [dx, dy], second } = if input.mask().is_some() {
            shared_buffer(&x, &x)
        } else {
            let dx = empty_like(&x);
            SharedBuffer { whole: dx.clone(), parts: [dx.clone(), dx], second: 0 }
        };
        let y = if input.has_y() { y.into_buffer_arg() } else { alias_of(&x, 1) };
        let units = units_per_cube(&client).min(units_of(width));
        let (count, dim) = cubes(&client, groups, units);
        let address = dxy.required_address_type();
        let operands = OperandsLaunch::new(x.into_buffer_arg(), y, weight.into_buffer_arg());
        backward::gradients_of_rows::launch(
            &client,
            count,
            dim,
            address,
            GradOperandsLaunch::new(grad.into_buffer_arg(), operands, moments.into_buffer_arg()),
            dxy.into_buffer_arg(),
            parts.clone().into_buffer_arg(),
            second,
            draw_of(input.mask()),
            Rows { width, units: units as usize, kind: input.into() },
        );
        let (dweight, dbias) = (empty(&dx, [width]), empty(&dx, [width]));
        let dim = CubeDim::new_1d(units);
        backward::sums_of_groups::launch(
            &client,
            calculate_cube_count_elemwise(&client, width, dim),
            dim,
            parts.into_buffer_arg(),
            dweight.clone().into_buffer_arg(),
            dbias.clone().into_buffer_arg(),
        );
        (dx, dy, dweight, dbias)
    }
}

/// The number of rows of `x`, and of the features of a row.
fn matrix(x: &CubeTensor) -> [usize; 2] {
    let shape = x.meta.shape();
    let width = shape[shape.num_dims() - 1];
    [shape.num_elements() / width, width]
}

/// The argument at `position` (aliases are not counted) for a second time.
fn alias_of(x: &CubeTensor, position: usize) -> BufferArg {
    BufferArg::alias(position, x.meta.num_elements())
}

/// Units for a row of `width` features: each takes eight features, as dropout draws them, or more.
fn units_of(width: usize) -> u32 {
    width.div_ceil(8).next_power_of_two().max(32) as u32
}

/// The number of groups of rows. One cube adds up the shares of a group in the gradients of weight
/// and bias, in the order of the rows.
fn groups(rows: usize) -> usize {
    rows.div_ceil(rows.div_ceil(1024).max(16))
}
