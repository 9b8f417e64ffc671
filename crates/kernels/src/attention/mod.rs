//! Multi-head scaled dot-product attention (paper §3.2).

pub(crate) mod check;
#[cfg(feature = "cpu")]
mod cpu;
mod heads;
#[cfg(feature = "cpu")]
mod op;
pub(crate) mod reference;
mod softmax;

use burn::tensor::{Bool, Tensor};

use crate::dropout::DropoutMask;
use crate::op::Target;

pub use heads::{merge_heads, split_heads};
pub use softmax::masked_softmax;

/// Multi-head scaled dot-product attention (paper §3.2): `softmax(Q·Kᵀ/√d_k)·V` in every head. The
/// operands are the results of the projections, in which the features of the heads stand side by
/// side.
///
/// `hidden` is `true` where a query may not see a key. A query that sees no key gets context 0 and
/// finite gradients. `mask` drops attention weights; it counts them as the elements of
/// `[batch, heads, query_len, key_len]`.
///
/// The fused version does not copy the heads apart, keeps no intermediate result but the weights,
/// and works on the sentences of the batch in parallel. If the operands have 16 bits, only the two
/// matrix products are computed in 16 bits; the softmax is computed in float32.
/// # Shapes
/// - `query`: `[batch, query_len, heads·d_k]`
/// - `key`: `[batch, key_len, heads·d_k]`, `value`: `[batch, key_len, heads·d_v]`
/// - `hidden`: `[batch or 1, heads or 1, query_len or 1, key_len]`
/// - → `[batch, query_len, heads·d_v]`
///
/// # Panics
/// If the shapes do not fit together.
pub fn attention(
    query: Tensor<3>,
    key: Tensor<3>,
    value: Tensor<3>,
    heads: usize,
    hidden: Option<Tensor<4, Bool>>,
    mask: Option<DropoutMask>,
) -> Tensor<3> {
    check::shapes(&query, &key, &value, heads, hidden.as_ref());
    match Target::of(&[&query, &key, &value]) {
        #[cfg(feature = "cpu")]
        Target::Cpu => op::attention(query, key, value, heads, hidden, mask),
        _ => reference::attention(query, key, value, heads, hidden, mask),
    }
}
