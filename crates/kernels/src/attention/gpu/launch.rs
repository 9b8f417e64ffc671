//! The launches of attention's kernels, as operations that Burn's fusion executes in order with its own.

use burn::backend::cubecl::dtype_to_storage_type;
use burn::backend::fusion::custom::TensorSpec;
use burn::backend::tensor::{BoolTensor, FloatTensor};
use burn::backend::{Backend, backend_extension};
use burn::tensor::DType;
use burn_cubecl::CubeBackend;
use burn_cubecl::kernel::into_contiguous;
use burn_cubecl::tensor::CubeTensor;
use cubecl::prelude::AddressType;

use super::tiles::{Head, TILE, UNITS};
use super::{backward, forward};
use crate::dropout::DropoutMask;
use crate::dropout::gpu::draw_of;
use crate::gpu::{SharedBuffer, cubes, empty, empty_like, shared_buffer};

#[backend_extension(Cube, Fusion)]
pub(crate) trait AttentionKernels: Backend {
    /// The context `[batch, query_len, heads·d_v]`, and log Σ e^score of each query `[batch, heads, query_len]`.
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

    /// The gradients of query, key and value, given the gradient of the context; `context` and `log_sums` are the results of
    /// [`contexts`](Self::contexts).
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

/// The sizes of the operands.
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

    /// The number of tiles of `len` queries, or keys, in all heads of all sentences.
    fn tiles(&self, len: usize) -> usize {
        self.batch * self.heads * len.div_ceil(TILE)
    }
}

impl AttentionKernels for CubeBackend {
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
        let bool_type = dtype_to_storage_type(hidden.dtype);
        forward::contexts::launch(
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
            draw_of(mask),
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
        let bool_type = dtype_to_storage_type(hidden.dtype);
        let (count, dim) = cubes(&client, sizes.tiles(query_len), UNITS);
        backward::centres_of_queries::launch(
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
        backward::gradients_of_queries::launch(
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
            draw_of(mask),
            head,
            bool_type,
        );
        let (count, dim) = cubes(&client, sizes.tiles(key_len), UNITS);
        backward::gradients_of_keys::launch(
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
            draw_of(mask),
            head,
            bool_type,
        );
        (d_query, d_key, d_value)
    }
}

/// The type of addresses that reaches every element of each of `tensors`.
fn widest_address<const N: usize>(tensors: [&CubeTensor; N]) -> AddressType {
    let each = tensors.into_iter().map(CubeTensor::required_address_type);
    each.max().expect("a tensor")
}
