//! Layer norm, alone or around a residual connection with dropout: the inputs are read once forward; backward they and
//! the gradient are read, and the gradients written, once. Dropout is drawn where it is used.

mod kernels;

use burn::backend::autodiff::NodeId;
use burn::backend::autodiff::checkpoint::{base::Checkpointer, strategy::CheckpointStrategy};
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops, OpsKind};
use burn::backend::fusion::custom::TensorSpec;
use burn::backend::tensor::FloatTensor;
use burn::backend::{Autodiff, AutodiffBackend, Backend, Dispatch, backend_extension};
use burn::tensor::{DType, Tensor};
use burn_cubecl::CubeBackend;
use burn_cubecl::kernel::into_contiguous;
use burn_cubecl::tensor::CubeTensor;
use cubecl::calculate_cube_count_elemwise;
use cubecl::prelude::{BufferArg, CubeDim};

use crate::DropoutMask;
use crate::gpu::{SharedBuffer, cubes, empty, empty_like, shared_buffer, units_per_cube};

/// Features of the widest row for which three numbers a feature fit into the shared memory that every device has.
const WIDEST: usize = 1024;

/// What is normalised.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Input {
    /// x.
    Alone,
    /// x + y.
    Sum,
    /// x + dropout(y).
    Dropped(DropoutMask),
}

impl Input {
    fn is_sum(self) -> bool {
        self != Self::Alone
    }

    /// Both words of the key, the threshold and the factor of what is kept.
    fn draw(self) -> Option<(u32, u32, u32, f32)> {
        let Self::Dropped(mask) = self else { return None };
        let [key_0, key_1] = mask.key().words();
        Some((key_0, key_1, mask.drop_threshold(), mask.keep_value()))
    }
}

#[backend_extension(Cube, Fusion, Autodiff)]
pub(crate) trait Norm: Backend {
    /// The norm of `input`, like x; and of each row, `[2, rows]`, the mean and 1 / √(variance + ε). Where x is alone y
    /// is not read.
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

/// Whether there is a kernel for the norm of `x`.
pub(crate) fn covers<const D: usize>(x: &Tensor<D>, weight: &Tensor<1>) -> bool {
    super::covers(x) && (1..=WIDEST).contains(&weight.dims()[0]) && x.shape().num_elements() > 0
}

/// The norm of `x` behind high-level tensors.
pub(crate) fn fused<const D: usize>(
    x: Tensor<D>,
    weight: Tensor<1>,
    bias: Tensor<1>,
    epsilon: f64,
) -> Tensor<D> {
    run([x.clone(), x], weight, bias, epsilon, Input::Alone)
}

/// The norm of x + dropout(y) behind high-level tensors.
pub(crate) fn fused_wiring<const D: usize>(
    xy: [Tensor<D>; 2],
    weight: Tensor<1>,
    bias: Tensor<1>,
    epsilon: f64,
    mask: Option<DropoutMask>,
) -> Tensor<D> {
    run(xy, weight, bias, epsilon, mask.map_or(Input::Sum, Input::Dropped))
}

fn run<const D: usize>(
    xy: [Tensor<D>; 2],
    weight: Tensor<1>,
    bias: Tensor<1>,
    epsilon: f64,
    input: Input,
) -> Tensor<D> {
    let [x, y] = xy.map(Tensor::into_dispatch);
    let (weight, bias) = (weight.into_dispatch(), bias.into_dispatch());
    let (output, _) = <Dispatch as Norm>::norm(x, y, weight, bias, epsilon, input);
    Tensor::from_dispatch(output)
}

impl<B: Norm, C: CheckpointStrategy> Norm for Autodiff<B, C> {
    fn norm(
        x: FloatTensor<Self>,
        y: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        bias: FloatTensor<Self>,
        epsilon: f64,
        input: Input,
    ) -> (FloatTensor<Self>, FloatTensor<Self>) {
        let parents = [x.node(), weight.node(), bias.node()];
        let y_node = y.node();
        let [x, y, weight, bias] = [x, y, weight, bias].map(|x| x.into_primitive());
        let (output, moments) = B::norm(x.clone(), y.clone(), weight.clone(), bias, epsilon, input);
        let state = State::<B> { x, y, weight, moments: moments.clone(), input };
        let [x, weight, bias] = parents;
        let output = if input.is_sum() {
            let prepared = NormBackward.prepare::<C>([x, weight, bias, y_node]).compute_bound();
            match prepared.stateful() {
                OpsKind::Tracked(prepared) => prepared.finish(state, output),
                OpsKind::UnTracked(prepared) => prepared.finish(output),
            }
        } else {
            let prepared = NormBackward.prepare::<C>([x, weight, bias]).compute_bound();
            match prepared.stateful() {
                OpsKind::Tracked(prepared) => prepared.finish(state, output),
                OpsKind::UnTracked(prepared) => prepared.finish(output),
            }
        };
        (output, Self::from_inner(moments))
    }

    /// They carry no gradients themselves.
    fn norm_gradients(
        grad: FloatTensor<Self>,
        x: FloatTensor<Self>,
        y: FloatTensor<Self>,
        weight: FloatTensor<Self>,
        moments: FloatTensor<Self>,
        input: Input,
    ) -> (FloatTensor<Self>, FloatTensor<Self>, FloatTensor<Self>, FloatTensor<Self>) {
        let [grad, x, y, weight, moments] =
            [grad, x, y, weight, moments].map(|x| x.into_primitive());
        let (dx, dy, dweight, dbias) = B::norm_gradients(grad, x, y, weight, moments, input);
        let outer = Self::from_inner;
        (outer(dx), outer(dy), outer(dweight), outer(dbias))
    }
}

/// What the backward pass needs: the inputs, which are shared and not copied, and two numbers a row.
#[derive(Clone, Debug)]
struct State<B: Norm> {
    x: FloatTensor<B>,
    y: FloatTensor<B>,
    weight: FloatTensor<B>,
    moments: FloatTensor<B>,
    input: Input,
}

impl<B: Norm> State<B> {
    /// Registers the gradients of x, weight, bias and y with those parents that want theirs.
    fn register(self, parents: &[Option<NodeId>], output: FloatTensor<B>, grads: &mut Gradients) {
        let Self { x, y, weight, moments, input } = self;
        let (dx, dy, dweight, dbias) = B::norm_gradients(output, x, y, weight, moments, input);
        for (parent, gradient) in parents.iter().zip([dx, dweight, dbias, dy]) {
            if let Some(parent) = parent {
                grads.register::<B>(*parent, gradient);
            }
        }
    }
}

/// Of three parents (x, weight, bias) or four (y too).
#[derive(Debug)]
struct NormBackward;

impl<B: Norm, const N: usize> Backward<B, N> for NormBackward {
    type State = State<B>;

    fn backward(self, ops: Ops<State<B>, N>, grads: &mut Gradients, _: &mut Checkpointer) {
        let output = grads.consume::<B>(&ops.node);
        ops.state.register(&ops.parents.map(|node| node.map(|node| node.id)), output, grads);
    }
}

impl Norm for CubeBackend {
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
        let (key_0, key_1, threshold, keep) = input.draw().unwrap_or_default();
        let y = if input.is_sum() { y.into_buffer_arg() } else { alias_of(&x, 0) };
        kernels::norm_of_rows::launch(
            &client,
            count,
            dim,
            output.required_address_type(),
            x.into_buffer_arg(),
            y,
            weight.into_buffer_arg(),
            bias.into_buffer_arg(),
            output.clone().into_buffer_arg(),
            moments.clone().into_buffer_arg(),
            epsilon as f32,
            key_0,
            key_1,
            threshold,
            keep,
            kernels::Rows { width, units: units as usize, input: input.into() },
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
        let SharedBuffer { whole: dxy, parts: [dx, dy], second } = if input.draw().is_some() {
            shared_buffer(&x, &x)
        } else {
            let dx = empty_like(&x);
            SharedBuffer { whole: dx.clone(), parts: [dx.clone(), dx], second: 0 }
        };
        let y = if input.is_sum() { y.into_buffer_arg() } else { alias_of(&x, 1) };
        let units = units_per_cube(&client).min(units_of(width));
        let (count, dim) = cubes(&client, groups, units);
        let address = dxy.required_address_type();
        let (key_0, key_1, threshold, keep) = input.draw().unwrap_or_default();
        kernels::gradients_of_rows::launch(
            &client,
            count,
            dim,
            address,
            grad.into_buffer_arg(),
            x.into_buffer_arg(),
            y,
            weight.into_buffer_arg(),
            moments.into_buffer_arg(),
            dxy.into_buffer_arg(),
            parts.clone().into_buffer_arg(),
            second,
            key_0,
            key_1,
            threshold,
            keep,
            kernels::Rows { width, units: units as usize, input: input.into() },
        );
        let (dweight, dbias) = (empty(&dx, [width]), empty(&dx, [width]));
        let dim = CubeDim::new_1d(units);
        kernels::sums_of_groups::launch(
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

/// `x` as rows of features.
fn matrix(x: &CubeTensor) -> [usize; 2] {
    let shape = x.meta.shape();
    let width = shape[shape.num_dims() - 1];
    [shape.num_elements() / width, width]
}

/// The argument at `position`, aliases not counted, once more.
fn alias_of(x: &CubeTensor, position: usize) -> BufferArg {
    BufferArg::alias(position, x.meta.num_elements())
}

/// Units for a row: eight features each, as dropout draws them, or more.
fn units_of(width: usize) -> u32 {
    width.div_ceil(8).next_power_of_two().max(32) as u32
}

/// Groups of rows whose share in the gradients of weight and bias is added up by one cube, in the order of the rows.
fn groups(rows: usize) -> usize {
    rows.div_ceil(rows.div_ceil(1024).max(16))
}
