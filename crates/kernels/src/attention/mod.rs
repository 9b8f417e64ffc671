//! Multi-head scaled dot-product attention (paper §3.2).

pub(crate) mod check;
#[cfg(feature = "cpu")]
mod cpu;
#[cfg(feature = "gpu")]
mod gpu;
#[cfg(feature = "cpu")]
mod op;
pub(crate) mod reference;
mod softmax;

use burn::tensor::{Bool, Tensor};

use crate::dropout::DropoutMask;
use crate::op::Place;

pub use softmax::masked_softmax;

/// Multi-head scaled dot-product attention (paper §3.2): `softmax(Q·Kᵀ/√d_k)·V` in every head, on
/// the projections as they come out of their matrix products, heads side by side.
///
/// `hidden` is `true` where a query may not see a key. A query that sees no key gets context 0 and
/// finite gradients. `mask` drops weights, as the elements of `[batch, heads, query_len, key_len]`.
///
/// Fused: no head is copied apart, the weights are the only product that is kept, and the batch is
/// worked on in parallel. In 16 bits only the two products are: the softmax is taken in float32.
///
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
    match Place::of(&[&query, &key, &value]) {
        #[cfg(feature = "cpu")]
        Place::Cpu => op::attention(query, key, value, heads, hidden, mask),
        #[cfg(feature = "gpu")]
        Place::Gpu if gpu::supports(&query, &value, heads) => {
            gpu::attention(query, key, value, heads, hidden, mask)
        }
        _ => reference::attention(query, key, value, heads, hidden, mask),
    }
}
