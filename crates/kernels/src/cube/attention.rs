//! Attention without its scores in memory: they are made a tile at a time, forward with a running softmax (Dao et al.,
//! 2022), backward again from one number a query. No head is copied apart.

mod kernels;

use burn::backend::autodiff::checkpoint::{base::Checkpointer, strategy::CheckpointStrategy};
use burn::backend::autodiff::grads::Gradients;
use burn::backend::autodiff::ops::{Backward, Ops, OpsKind};
use burn::backend::cubecl::dtype_to_storage_type;
use burn::backend::fusion::custom::TensorSpec;
use burn::backend::tensor::{BoolTensor, FloatTensor};
use burn::backend::{Autodiff, AutodiffBackend, Backend, Dispatch, backend_extension};
use burn::tensor::{Bool, DType, Tensor};
use burn_cubecl::CubeBackend;
use burn_cubecl::kernel::into_contiguous;
use burn_cubecl::tensor::CubeTensor;
use cubecl::prelude::AddressType;
use kernels::{Head, TILE};

use crate::DropoutMask;
use crate::gpu::{SharedBuffer, cubes, empty, empty_like, shared_buffer};

/// Features of the widest head whose tiles fit into the shared memory that every device has.
const WIDEST: usize = 64;

/// Keys from which on matrix products are left to kernels that are made for them; an estimate, measured nowhere.
const LONGEST: usize = 128;

#[backend_extension(Cube, Fusion, Autodiff)]
pub(crate) trait Attention: Backend {
    /// The context, `[batch, query_len, heads·d_v]`, and of each query log Σ e^score, `[batch, heads, query_len]`.
    #[fusion(meta = |query, _key, value, _hidden, heads, _mask| (
        TensorSpec::new([query.shape[0], query.shape[1], value.shape[2]].into(), DType::F32),
        TensorSpec::new([query.shape[0], *heads, query.shape[1]].into(), DType::F32),
    ))]
    fn contexts(
        query: FloatTensor<Self>,
        key: FloatTensor<Self>,
        value: FloatTensor<Self>,
        hidden: BoolTensor<Self>,
        heads: usize,
        mask: Option<DropoutMask>,
    ) -> (FloatTensor<Self>, FloatTensor<Self>);

    /// The gradients of query, key and value; `results` are those of [`contexts`](Self::contexts).
    #[fusion(meta = |_grad, query, key, value, _hidden, _context, _log_sums, _heads, _mask| (query.clone(), key.clone(), value.clone()))]
    #[allow(clippy::too_many_arguments)]
    fn context_gradients(
        grad: FloatTensor<Self>,
        query: FloatTensor<Self>,
        key: FloatTensor<Self>,
        value: FloatTensor<Self>,
        hidden: BoolTensor<Self>,
        context: FloatTensor<Self>,
        log_sums: FloatTensor<Self>,
        heads: usize,
        mask: Option<DropoutMask>,
    ) -> (FloatTensor<Self>, FloatTensor<Self>, FloatTensor<Self>);
}

/// Whether there is a kernel for these operands.
pub(crate) fn covers(operands: [&Tensor<3>; 3], heads: usize) -> bool {
    let [query, _, value] = operands.map(|x| x.dims());
    let fits = |width: usize| (1..=WIDEST).contains(&(width / heads));
    super::cover(operands)
        && fits(query[2])
        && fits(value[2])
        && query[0] * query[1] > 0
        && (1..=LONGEST).contains(&value[1])
}

/// The extension behind high-level tensors.
pub(crate) fn fused(
    query: Tensor<3>,
    key: Tensor<3>,
    value: Tensor<3>,
    heads: usize,
    hidden: Option<Tensor<4, Bool>>,
    mask: Option<DropoutMask>,
) -> Tensor<3> {
    let nothing = || Tensor::<1, Bool>::full([1], false, &query.device()).reshape([1; 4]);
    let hidden = hidden.unwrap_or_else(nothing).into_dispatch();
    let [query, key, value] = [query, key, value].map(Tensor::into_dispatch);
    let (context, _) = <Dispatch as Attention>::contexts(query, key, value, hidden, heads, mask);
    Tensor::from_dispatch(context)
}

impl<B: Attention, C: CheckpointStrategy> Attention for Autodiff<B, C> {
    fn contexts(
        query: FloatTensor<Self>,
        key: FloatTensor<Self>,
        value: FloatTensor<Self>,
        hidden: BoolTensor<Self>,
        heads: usize,
        mask: Option<DropoutMask>,
    ) -> (FloatTensor<Self>, FloatTensor<Self>) {
        let parents = [query.node(), key.node(), value.node()];
        let prepared = AttentionBackward.prepare::<C>(parents).compute_bound();
        let operands = [query, key, value].map(|x| x.into_primitive());
        let [query, key, value] = operands.clone();
        let (context, log_sums) = B::contexts(query, key, value, hidden.clone(), heads, mask);
        let output = match prepared.stateful() {
            OpsKind::Tracked(prepared) => {
                let results = [context.clone(), log_sums.clone()];
                prepared.finish(State::<B> { operands, hidden, results, heads, mask }, context)
            }
            OpsKind::UnTracked(prepared) => prepared.finish(context),
        };
        (output, Self::from_inner(log_sums))
    }

    /// They carry no gradients themselves.
    fn context_gradients(
        grad: FloatTensor<Self>,
        query: FloatTensor<Self>,
        key: FloatTensor<Self>,
        value: FloatTensor<Self>,
        hidden: BoolTensor<Self>,
        context: FloatTensor<Self>,
        log_sums: FloatTensor<Self>,
        heads: usize,
        mask: Option<DropoutMask>,
    ) -> (FloatTensor<Self>, FloatTensor<Self>, FloatTensor<Self>) {
        let [grad, query, key, value, context, log_sums] =
            [grad, query, key, value, context, log_sums].map(|x| x.into_primitive());
        let (query, key, value) =
            B::context_gradients(grad, query, key, value, hidden, context, log_sums, heads, mask);
        (Self::from_inner(query), Self::from_inner(key), Self::from_inner(value))
    }
}

/// What the backward pass needs: nothing the size of the scores but the mask.
#[derive(Clone, Debug)]
struct State<B: Attention> {
    operands: [FloatTensor<B>; 3],
    hidden: BoolTensor<B>,
    results: [FloatTensor<B>; 2],
    heads: usize,
    mask: Option<DropoutMask>,
}

#[derive(Debug)]
struct AttentionBackward;

impl<B: Attention> Backward<B, 3> for AttentionBackward {
    type State = State<B>;

    fn backward(self, ops: Ops<State<B>, 3>, grads: &mut Gradients, _: &mut Checkpointer) {
        let grad = grads.consume::<B>(&ops.node);
        let State { operands: [query, key, value], hidden, results, heads, mask } = ops.state;
        let [context, log_sums] = results;
        let (query, key, value) =
            B::context_gradients(grad, query, key, value, hidden, context, log_sums, heads, mask);
        for (parent, grad) in ops.parents.into_iter().zip([query, key, value]) {
            if let Some(parent) = parent {
                grads.register::<B>(parent.id, grad);
            }
        }
    }
}

/// Sizes of the operands.
struct Sizes {
    batch: usize,
    heads: usize,
    query_len: usize,
    key_len: usize,
    head: Head,
}

impl Sizes {
    fn of(query: &CubeTensor, value: &CubeTensor, heads: usize, mask: Option<DropoutMask>) -> Self {
        let (query, value) = (query.meta.shape(), value.meta.shape());
        let head = Head { d_k: query[2] / heads, d_v: value[2] / heads, drops: mask.is_some() };
        Self { batch: query[0], heads, query_len: query[1], key_len: value[1], head }
    }

    /// Tiles of queries, or of keys, of all heads.
    fn tiles(&self, len: usize) -> usize {
        self.batch * self.heads * len.div_ceil(TILE)
    }
}

/// Both words of the key, the threshold and the factor of what is kept.
fn draw(mask: Option<DropoutMask>) -> (u32, u32, u32, f32) {
    let Some(mask) = mask else { return Default::default() };
    let [key_0, key_1] = mask.key().words();
    (key_0, key_1, mask.drop_threshold(), mask.keep_value())
}

const UNITS: u32 = (TILE * TILE) as u32;

impl Attention for CubeBackend {
    fn contexts(
        query: CubeTensor,
        key: CubeTensor,
        value: CubeTensor,
        hidden: CubeTensor,
        heads: usize,
        mask: Option<DropoutMask>,
    ) -> (CubeTensor, CubeTensor) {
        let [query, key, value] = [query, key, value].map(into_contiguous);
        let sizes = Sizes::of(&query, &value, heads, mask);
        let Sizes { batch, query_len, key_len, head, .. } = sizes;
        let context = empty(&query, [batch, query_len, heads * head.d_v]);
        let log_sums = empty(&query, [batch, heads, query_len]);
        let client = query.client.clone();
        let (count, dim) = cubes(&client, sizes.tiles(query_len), UNITS);
        let address = widest_address([&query, &key, &value, &context]);
        let (key_0, key_1, threshold, keep) = draw(mask);
        let bool_type = dtype_to_storage_type(hidden.dtype);
        kernels::contexts::launch(
            &client,
            count,
            dim,
            address,
            query.into_buffer_arg(),
            key.into_buffer_arg(),
            value.into_buffer_arg(),
            hidden.into_tensor_arg(),
            context.clone().into_buffer_arg(),
            log_sums.clone().into_buffer_arg(),
            heads,
            query_len,
            key_len,
            key_0,
            key_1,
            threshold,
            keep,
            head,
            bool_type,
        );
        (context, log_sums)
    }

    fn context_gradients(
        grad: CubeTensor,
        query: CubeTensor,
        key: CubeTensor,
        value: CubeTensor,
        hidden: CubeTensor,
        context: CubeTensor,
        log_sums: CubeTensor,
        heads: usize,
        mask: Option<DropoutMask>,
    ) -> (CubeTensor, CubeTensor, CubeTensor) {
        let [grad, query, key, value, context, log_sums] =
            [grad, query, key, value, context, log_sums].map(into_contiguous);
        let sizes = Sizes::of(&query, &value, heads, mask);
        let Sizes { batch, query_len, key_len, head, .. } = sizes;
        let by_query = empty(&query, [2, batch, heads, query_len]);
        let d_query = empty_like(&query);
        let SharedBuffer { whole: d_key_value, parts: [d_key, d_value], second } =
            shared_buffer(&key, &value);
        let address = widest_address([&grad, &query, &value, &d_key_value]);
        let client = query.client.clone();
        let (key_0, key_1, threshold, keep) = draw(mask);
        let bool_type = dtype_to_storage_type(hidden.dtype);
        let (count, dim) = cubes(&client, sizes.tiles(query_len), UNITS);
        kernels::centres_of_queries::launch(
            &client,
            count.clone(),
            dim,
            address,
            grad.clone().into_buffer_arg(),
            context.into_buffer_arg(),
            log_sums.into_buffer_arg(),
            by_query.clone().into_buffer_arg(),
            heads,
            query_len,
            head,
        );
        kernels::gradients_of_queries::launch(
            &client,
            count,
            dim,
            address,
            grad.clone().into_buffer_arg(),
            query.clone().into_buffer_arg(),
            key.clone().into_buffer_arg(),
            value.clone().into_buffer_arg(),
            hidden.clone().into_tensor_arg(),
            by_query.clone().into_buffer_arg(),
            d_query.clone().into_buffer_arg(),
            heads,
            query_len,
            key_len,
            key_0,
            key_1,
            threshold,
            keep,
            head,
            bool_type,
        );
        let (count, dim) = cubes(&client, sizes.tiles(key_len), UNITS);
        kernels::gradients_of_keys::launch(
            &client,
            count,
            dim,
            address,
            grad.into_buffer_arg(),
            query.into_buffer_arg(),
            key.into_buffer_arg(),
            value.into_buffer_arg(),
            hidden.into_tensor_arg(),
            by_query.into_buffer_arg(),
            d_key_value.into_buffer_arg(),
            second,
            heads,
            query_len,
            key_len,
            key_0,
            key_1,
            threshold,
            keep,
            head,
            bool_type,
        );
        (d_query, d_key, d_value)
    }
}

/// Numbers wide enough to count the elements of each of `tensors`.
fn widest_address<const N: usize>(tensors: [&CubeTensor; N]) -> AddressType {
    let each = tensors.into_iter().map(CubeTensor::required_address_type);
    each.max().expect("a tensor")
}
