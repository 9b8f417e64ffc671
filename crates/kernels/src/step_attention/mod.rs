//! Attention of a few queries to keys that were computed before: a step of decoding.

#[cfg(feature = "cpu")]
mod cpu;
#[cfg(feature = "cpu")]
mod op;

use burn::tensor::{Bool, Tensor};

use crate::attention::{attention, check};
#[cfg(feature = "cpu")]
use crate::op::Target;

#[cfg(feature = "cpu")]
pub(crate) use op::{Block, over_blocks};

/// Multi-head scaled dot-product attention (paper §3.2) for a few queries per sentence, without
/// gradients. Decoding uses it, because its matrix products are too small for the general
/// [`attention`](crate::attention()).
///
/// The fused version works on each query separately, so that a result depends only on the query and
/// the keys that it sees.
///
/// # Shapes
/// - `query`: `[batch, query_len, heads·d_k]`
/// - `key`: `[batch, key_len, heads·d_k]`, `value`: `[batch, key_len, heads·d_v]`
/// - `hidden`: `[batch or 1, 1, 1, key_len]`
/// - → `[batch, query_len, heads·d_v]`
///
/// # Panics
/// If the shapes do not fit together.
pub fn step_attention(
    query: Tensor<3>,
    key: Tensor<3>,
    value: Tensor<3>,
    heads: usize,
    hidden: Option<Tensor<4, Bool>>,
) -> Tensor<3> {
    check::shapes(&query, &key, &value, heads, hidden.as_ref());
    #[cfg(feature = "cpu")]
    if Target::without_gradients(&[&query, &key, &value]) == Target::Cpu
        && hidden.as_ref().is_none_or(|hidden| hidden.dims()[1..3] == [1, 1])
    {
        return op::shared(query, key, value, heads, hidden);
    }
    attention(query, key, value, heads, hidden, None)
}
