//! The loss over the vocabulary: the logits are read once forward, and read and written once backward; nothing of
//! their size is made beside them.

mod kernels;

use burn::backend::autodiff::checkpoint::{base::Checkpointer, strategy::CheckpointStrategy};
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops, OpsKind, unary};
use burn::backend::fusion::custom::TensorSpec;
use burn::backend::ops::IntTensorOps;
use burn::backend::tensor::{FloatTensor, IntTensor};
use burn::backend::{Autodiff, AutodiffBackend, Backend, Dispatch, backend_extension};
use burn::tensor::{DType, Int, IntDType, Tensor};
use burn_cubecl::CubeBackend;
use burn_cubecl::kernel::into_contiguous;
use burn_cubecl::tensor::CubeTensor;
use cubecl::prelude::CubeCount;

use crate::gpu::{cubes, empty, units_per_cube, with_contiguous_rows};

#[backend_extension(Cube, Fusion, Autodiff)]
pub(crate) trait CrossEntropy: Backend {
    /// Σ smoothed loss and Σ NLL, each `[1]`; and of each row, `[4, rows]`, the highest logit, log Σ e^(x − highest), the
    /// smoothed loss and the NLL.
    #[fusion(meta = sums_of)]
    fn cross_entropy(
        logits: FloatTensor<Self>,
        targets: IntTensor<Self>,
        pad: u32,
        smoothing: f64,
    ) -> (FloatTensor<Self>, FloatTensor<Self>, FloatTensor<Self>);

    /// The gradient of `scale` `[1]` times the smoothed sum, `[rows, vocab]`, over the logits where nothing else
    /// holds them.
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

/// The extension behind high-level tensors.
pub(crate) fn fused(
    logits: Tensor<2>,
    targets: Tensor<1, Int>,
    pad: u32,
    smoothing: f64,
) -> (Tensor<1>, Tensor<1>) {
    let (logits, targets) = (logits.into_dispatch(), targets.into_dispatch());
    let (smoothed, nll, _) =
        <Dispatch as CrossEntropy>::cross_entropy(logits, targets, pad, smoothing);
    (Tensor::from_dispatch(smoothed), Tensor::from_dispatch(nll))
}

impl<B: CrossEntropy, C: CheckpointStrategy> CrossEntropy for Autodiff<B, C> {
    fn cross_entropy(
        logits: FloatTensor<Self>,
        targets: IntTensor<Self>,
        pad: u32,
        smoothing: f64,
    ) -> (FloatTensor<Self>, FloatTensor<Self>, FloatTensor<Self>) {
        let prepared = CrossEntropyBackward.prepare::<C>([logits.node()]).compute_bound();
        let logits = logits.into_primitive();
        let (smoothed, nll, by_row) =
            B::cross_entropy(logits.clone(), targets.clone(), pad, smoothing);
        let smoothed = match prepared.stateful() {
            OpsKind::Tracked(prepared) => {
                prepared.finish((logits, targets, by_row.clone(), pad, smoothing), smoothed)
            }
            OpsKind::UnTracked(prepared) => prepared.finish(smoothed),
        };
        (smoothed, Self::from_inner(nll), Self::from_inner(by_row))
    }

    /// Carries no gradient itself.
    fn cross_entropy_gradient(
        logits: FloatTensor<Self>,
        targets: IntTensor<Self>,
        by_row: FloatTensor<Self>,
        scale: FloatTensor<Self>,
        pad: u32,
        smoothing: f64,
    ) -> FloatTensor<Self> {
        let [logits, by_row, scale] = [logits, by_row, scale].map(|x| x.into_primitive());
        Self::from_inner(B::cross_entropy_gradient(logits, targets, by_row, scale, pad, smoothing))
    }
}

#[derive(Debug)]
struct CrossEntropyBackward;

impl<B: CrossEntropy> Backward<B, 1> for CrossEntropyBackward {
    /// Nothing the size of the logits but the logits themselves.
    type State = (FloatTensor<B>, IntTensor<B>, FloatTensor<B>, u32, f64);

    fn backward(
        self,
        ops: Ops<Self::State, 1>,
        grads: &mut Gradients,
        _checkpointer: &mut Checkpointer,
    ) {
        let (logits, targets, by_row, pad, smoothing) = ops.state;
        unary::<B, _>(ops.parents, ops.node, grads, |scale| {
            B::cross_entropy_gradient(logits, targets, by_row, scale, pad, smoothing)
        });
    }
}

impl CrossEntropy for CubeBackend {
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

/// The targets as the kernels read them.
fn ids(targets: CubeTensor) -> CubeTensor {
    let targets = if targets.dtype == DType::I32 {
        targets
    } else {
        CubeBackend::int_cast(targets, IntDType::I32)
    };
    into_contiguous(targets)
}
