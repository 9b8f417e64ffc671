//! The launches of the loss's kernels, as operations that Burn's fusion executes in order with its
//! own.

use burn::backend::fusion::custom::TensorSpec;
use burn::backend::ops::IntTensorOps;
use burn::backend::tensor::{FloatTensor, IntTensor};
use burn::backend::{Backend, backend_extension};
use burn::tensor::{DType, IntDType};
use burn_cubecl::CubeBackend;
use burn_cubecl::kernel::into_contiguous;
use burn_cubecl::tensor::CubeTensor;
use cubecl::prelude::CubeCount;

use super::kernels;
use crate::gpu::{cubes, empty, units_per_cube, with_contiguous_rows};

#[backend_extension(Cube, Fusion)]
pub(super) trait LossKernels: Backend {
    /// The sums of the smoothed loss and of the NLL, each `[1]`; and for each row, `[4, rows]`, the
    /// highest logit, log Σ e^(x − highest), the smoothed loss and the NLL.
    #[fusion(meta = sums_of)]
    fn cross_entropy(
        logits: FloatTensor<Self>,
        targets: IntTensor<Self>,
        pad: u32,
        smoothing: f64,
    ) -> (FloatTensor<Self>, FloatTensor<Self>, FloatTensor<Self>);

    /// The gradient `[rows, vocab]` of `scale` `[1]` times the smoothed sum, written over the
    /// logits where nothing else holds them.
    #[fusion(dtype = logits, shape = logits)]
    fn cross_entropy_gradient(
        logits: FloatTensor<Self>,
        targets: IntTensor<Self>,
        by_row: FloatTensor<Self>,
        scale: FloatTensor<Self>,
        pad: u32,
        smoothing: f64,
    ) -> FloatTensor<Self>;
}

fn sums_of(
    logits: &TensorSpec,
    _targets: &TensorSpec,
    _pad: &u32,
    _smoothing: &f64,
) -> (TensorSpec, TensorSpec, TensorSpec) {
    let of = |shape: Vec<usize>| TensorSpec::new(shape.into(), DType::F32);
    (of(vec![1]), of(vec![1]), of(vec![4, logits.shape[0]]))
}

impl LossKernels for CubeBackend {
    fn cross_entropy(
        logits: CubeTensor,
        targets: CubeTensor,
        pad: u32,
        smoothing: f64,
    ) -> (CubeTensor, CubeTensor, CubeTensor) {
        let (logits, targets) = (with_contiguous_rows(logits), ids(targets));
        let (client, rows) = (logits.client.clone(), logits.meta.shape()[0]);
        let by_row = empty(&logits, [4, rows]);
        let (smoothed, nll) = (empty(&logits, [1]), empty(&logits, [1]));
        let units = units_per_cube(&client);
        let (count, dim) = cubes(&client, rows, units);
        kernels::rows_of_loss::launch(
            &client,
            count,
            dim,
            logits.required_address_type(),
            logits.into_tensor_arg(),
            targets.into_tensor_arg(),
            by_row.clone().into_tensor_arg(),
            pad as i32,
            smoothing as f32,
            units as usize,
        );
        kernels::sums_of_rows::launch(
            &client,
            CubeCount::new_single(),
            dim,
            by_row.clone().into_tensor_arg(),
            smoothed.clone().into_tensor_arg(),
            nll.clone().into_tensor_arg(),
            units as usize,
        );
        (smoothed, nll, by_row)
    }

    fn cross_entropy_gradient(
        logits: CubeTensor,
        targets: CubeTensor,
        by_row: CubeTensor,
        scale: CubeTensor,
        pad: u32,
        smoothing: f64,
    ) -> CubeTensor {
        let (logits, targets) = (with_contiguous_rows(logits), ids(targets));
        let (client, shape) = (logits.client.clone(), logits.meta.shape().clone());
        let address = logits.required_address_type();
        let (count, dim) = cubes(&client, shape[0], units_per_cube(&client));
        let (out, out_argument) = if logits.can_mut() && logits.is_nonoverlapping() {
            (logits.clone(), logits.as_tensor_alias(0))
        } else {
            let out = empty(&logits, [shape[0], shape[1]]);
            (out.clone(), out.into_tensor_arg())
        };
        kernels::gradient_of_rows::launch(
            &client,
            count,
            dim,
            address,
            logits.into_tensor_arg(),
            out_argument,
            targets.into_tensor_arg(),
            into_contiguous(by_row).into_tensor_arg(),
            scale.into_tensor_arg(),
            pad as i32,
            smoothing as f32,
        );
        out
    }
}

/// The targets as the kernels read them: contiguous, in 32 bits.
fn ids(targets: CubeTensor) -> CubeTensor {
    let targets = if targets.dtype == DType::I32 {
        targets
    } else {
        CubeBackend::int_cast(targets, IntDType::I32)
    };
    into_contiguous(targets)
}
