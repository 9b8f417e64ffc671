//! Multi-head scaled dot-product attention (paper §3.2).

#[cfg(feature = "cpu")]
mod cpu;
mod inputs;
#[cfg(feature = "cpu")]
mod op;
pub(crate) mod reference;
mod softmax;

use burn::tensor::Tensor;

use crate::dropout::DropoutMask;
use crate::op::Target;

pub(crate) use inputs::Block;
pub use inputs::{AttentionInputs, merge_heads, split_heads};
pub use softmax::masked_softmax;

/// Multi-head scaled dot-product attention (paper §3.2): `softmax(Q·Kᵀ/√d_k)·V` in every head.
///
/// A query that sees no key gets context 0 and finite gradients. `mask` drops attention weights by
/// their indices in `[batch, heads, query_len, key_len]`.
///
/// The fused version does not copy heads, saves only the weights for the backward pass, and works
/// on the sentences of the batch in parallel. If the operands have 16 bits, only the two
/// matrix products are computed in 16 bits; the softmax is computed in float32.
///
/// # Shapes
/// The shapes of [`AttentionInputs`] → `[batch, query_len, heads·d_v]`
///
/// # Panics
/// Panics if the shapes do not fit together.
pub fn attention(inputs: AttentionInputs, mask: Option<DropoutMask>) -> Tensor<3> {
    inputs.check();
    match Target::of(&[&inputs.query, &inputs.key, &inputs.value]) {
        #[cfg(feature = "cpu")]
        Target::Cpu => op::attention(inputs, mask),
        _ => reference::attention(inputs, mask),
    }
}
