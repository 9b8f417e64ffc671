//! Attention of a few queries to cached keys: a step of decoding.

#[cfg(feature = "cpu")]
mod cpu;
#[cfg(feature = "cpu")]
mod op;

use burn::tensor::Tensor;

use crate::attention::{AttentionInputs, attention};
#[cfg(feature = "cpu")]
use crate::op::Target;

#[cfg(feature = "cpu")]
pub(crate) use op::over_blocks;

/// Multi-head scaled dot-product attention (paper §3.2) for a few queries per sentence, without
/// gradients. Decoding uses it, because its matrix products are too small for the general
/// [`attention`](crate::attention()).
///
/// The fused version works on each query separately: a result depends only on the query and the
/// keys that it sees.
///
/// # Shapes
/// The shapes of [`AttentionInputs`] → `[batch, query_len, heads·d_v]`
///
/// # Panics
/// Panics if the shapes do not fit together.
pub fn step_attention(inputs: AttentionInputs) -> Tensor<3> {
    inputs.check();
    #[cfg(feature = "cpu")]
    if Target::without_gradients(&[&inputs.query, &inputs.key, &inputs.value]) == Target::Cpu
        && inputs
            .hidden
            .as_ref()
            .is_none_or(|hidden| hidden.dims()[1..3] == [1, 1])
    {
        return op::shared(inputs);
    }
    attention(inputs, None)
}
