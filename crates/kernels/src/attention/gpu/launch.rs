//! The launches of attention's kernels, as operations that Burn's fusion executes in order with its
//! own.

use burn::backend::cubecl::dtype_to_storage_type;
use burn::backend::fusion::custom::TensorSpec;
use burn::backend::tensor::{BoolTensor, FloatTensor};
use burn::backend::{Backend, ExtensionType, backend_extension};
use burn::tensor::DType;
use burn_cubecl::CubeBackend;
use burn_cubecl::kernel::into_contiguous;
use burn_cubecl::tensor::CubeTensor;
use cubecl::prelude::AddressType;

use super::backward::BackwardOperandsLaunch;
use super::forward::ForwardOperandsLaunch;
use super::tiles::{Head, PlanLaunch, TILE, UNITS};
use super::{backward, forward};
use crate::dropout::DropoutMask;
use crate::dropout::gpu::draw_of;
use crate::gpu::{SharedBuffer, cubes, empty, empty_like, shared_buffer};

/// Operands of attention, with the mask of hidden keys.
#[derive(ExtensionType, Clone, Debug)]
#[extension_type(fusion)]
pub(crate) struct Operands<B: Backend> {
    pub query: FloatTensor<B>,
    pub key: FloatTensor<B>,
    pub value: FloatTensor<B>,
    pub hidden: BoolTensor<B>,
}

#[backend_extension(Cube, Fusion)]
pub(crate) trait AttentionKernels: Backend {
    /// The context `[batch, query_len, heads·d_v]`, and log Σ e^score of each query
    /// `[batch, heads, query_len]`.
    #[fusion(meta = |operands, heads, _mask| {
        let (query, value) = (&operands.query.shape, &operands.value.shape);
        (
            TensorSpec::new([query[0], query[1], value[2]].into(), DType::F32),
            TensorSpec::new([query[0], *heads, query[1]].into(), DType::F32),
        )
    })]
    fn contexts(
        #[extension_type] operands: Operands<Self>,
        heads: usize,
        mask: Option<DropoutMask>,
    ) -> (FloatTensor<Self>, FloatTensor<Self>);

    /// The gradients of query, key and value, given the gradient of the context; `context` and
    /// `log_sums` are the results of [`contexts`](Self::contexts).
    #[fusion(meta = |_grad, operands, _context, _log_sums, _heads, _mask| {
        (operands.query.clone(), operands.key.clone(), operands.value.clone())
    })]
    fn context_gradients(
        grad: FloatTensor<Self>,
        #[extension_type] operands: Operands<Self>,
        context: FloatTensor<Self>,
        log_sums: FloatTensor<Self>,
        heads: usize,
        mask: Option<DropoutMask>,
    ) -> (FloatTensor<Self>, FloatTensor<Self>, FloatTensor<Self>);
}

/// The sizes of the operands, and the dropout of weights.
#[derive(Clone, Copy)]
struct Sizes {
    batch: usize,
    heads: usize,
    query_len: usize,
    key_len: usize,
    head: Head,
    mask: Option<DropoutMask>,
}

impl Sizes {
    fn of(query: &CubeTensor, value: &CubeTensor, heads: usize, mask: Option<DropoutMask>) -> Self {
        let (query, value) = (query.meta.shape(), value.meta.shape());
        let head = Head { d_k: query[2] / heads, d_v: value[2] / heads, drops: mask.is_some() };
        Self { batch: query[0], heads, query_len: query[1], key_len: value[1], head, mask }
    }

    /// The sizes and the dropout as an argument of the kernels.
    fn plan(&self) -> PlanLaunch {
        PlanLaunch::new(self.heads, self.query_len, self.key_len, draw_of(self.mask))
    }

    /// The number of tiles of `len` queries, or keys, in all heads of all sentences.
    fn tiles(&self, len: usize) -> usize {
        self.batch * self.heads * len.div_ceil(TILE)
    }
}

impl AttentionKernels for CubeBackend {
    fn contexts(
        Operands { query, key, value, hidden }: Operands<Self>,
        heads: usize,
        mask: Option<DropoutMask>,
    ) -> (CubeTensor, CubeTensor) {
        let [query, key, value] = [query, key, value].map(into_contiguous);
        let sizes = Sizes::of(&query, &value, heads, mask);
        let Sizes { batch, query_len, head, .. } = sizes;
        let context = empty(&query, [batch, query_len, heads * head.d_v]);
        let log_sums = empty(&query, [batch, heads, query_len]);
        let client = query.client.clone();
        let (count, dim) = cubes(&client, sizes.tiles(query_len), UNITS);
        let address = widest_address([&query, &key, &value, &context]);
        let bool_type = dtype_to_storage_type(hidden.dtype);
        let [query, key, value] = [query, key, value].map(CubeTensor::into_buffer_arg);
        forward::contexts::launch(
            &client,
            count,
            dim,
            address,
            ForwardOperandsLaunch::new(query, key, value),
            hidden.into_tensor_arg(),
            context.clone().into_buffer_arg(),
            log_sums.clone().into_buffer_arg(),
            sizes.plan(),
            head,
            bool_type,
        );
        (context, log_sums)
    }

    fn context_gradients(
        grad: CubeTensor,
        Operands { query, key, value, hidden }: Operands<Self>,
        context: CubeTensor,
        log_sums: CubeTensor,
        heads: usize,
        mask: Option<DropoutMask>,
    ) -> (CubeTensor, CubeTensor, CubeTensor) {
        let [grad, query, key, value, context, log_sums] =
            [grad, query, key, value, context, log_sums].map(into_contiguous);
        let sizes = Sizes::of(&query, &value, heads, mask);
        let d_query = empty_like(&query);
        let SharedBuffer { whole: d_key_value, parts: [d_key, d_value], second } =
            shared_buffer(&key, &value);
        let address = widest_address([&grad, &query, &value, &d_key_value]);
        let client = query.client.clone();
        let bool_type = dtype_to_storage_type(hidden.dtype);
        let by_query = centres_of_queries(sizes, address, &grad, [context, log_sums]);
        let operands = || {
            let all = [&grad, &query, &key, &value, &by_query];
            let [grad, query, key, value, by_query] = all.map(|x| x.clone().into_buffer_arg());
            BackwardOperandsLaunch::new(grad, query, key, value, by_query)
        };
        let (count, dim) = cubes(&client, sizes.tiles(sizes.query_len), UNITS);
        backward::gradients_of_queries::launch(
            &client,
            count,
            dim,
            address,
            operands(),
            hidden.clone().into_tensor_arg(),
            d_query.clone().into_buffer_arg(),
            sizes.plan(),
            sizes.head,
            bool_type,
        );
        let (count, dim) = cubes(&client, sizes.tiles(sizes.key_len), UNITS);
        backward::gradients_of_keys::launch(
            &client,
            count,
            dim,
            address,
            operands(),
            hidden.into_tensor_arg(),
            d_key_value.into_buffer_arg(),
            second,
            sizes.plan(),
            sizes.head,
            bool_type,
        );
        (d_query, d_key, d_value)
    }
}

/// The statistics that the gradients need for each query, `[2, batch, heads, query_len]`, from the
/// gradient of the context and the results of the forward pass.
fn centres_of_queries(
    Sizes { batch, heads, query_len, head, .. }: Sizes,
    address: AddressType,
    grad: &CubeTensor,
    [context, log_sums]: [CubeTensor; 2],
) -> CubeTensor {
    let by_query = empty(grad, [2, batch, heads, query_len]);
    let client = grad.client.clone();
    let (count, dim) = cubes(&client, batch * heads * query_len.div_ceil(TILE), UNITS);
    backward::centres_of_queries::launch(
        &client,
        count,
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
    by_query
}

/// The type of addresses that reaches every element of each of `tensors`.
fn widest_address<const N: usize>(tensors: [&CubeTensor; N]) -> AddressType {
    let each = tensors.into_iter().map(CubeTensor::required_address_type);
    each.max().expect("a tensor")
}
