//! Scaled dot-product attention (paper §3.2.1), its masks and its weights.

use burn::tensor::activation::softmax;
use burn::tensor::{Bool, Device, Tensor};
use burnformer_kernels::{masked_softmax, to_f32};

use crate::context::Mode;
use crate::dropout::Dropout;
use crate::window::{Window, WindowBlocks};

/// The result of attention: the context vectors, and the weights of the values in them.
#[derive(Clone, Debug)]
pub struct Attended {
    /// The weighted sums of the values, `[batch, heads, query_len, d_v]`.
    pub context: Tensor<4>,
    /// The attention weights, `[batch, heads, query_len, key_len]`. Each row sums to 1, or to 0 if
    /// all keys are hidden from the query.
    pub weights: Tensor<4>,
}

/// Scaled dot-product attention (paper §3.2.1): `softmax(Q·Kᵀ/√d_k)·V`.
///
/// `bias` hides keys or adds to the scores. A query without visible keys gets weights 0 and context
/// 0, with finite gradients. `dropout` acts on the weights. If the tensors are in 16 bits, the two
/// matrix products are computed in 16 bits; softmax and weights are float32.
///
/// # Shapes
/// - `query`: `[batch, heads, query_len, d_k]`
/// - `key`: `[batch, heads, key_len, d_k]`, `value`: `[batch, heads, key_len, d_v]`
pub fn scaled_dot_product_attention(
    query: Tensor<4>,
    key: Tensor<4>,
    value: Tensor<4>,
    bias: &AttentionBias,
    dropout: &Dropout,
    mode: Mode,
) -> Attended {
    let [batch, heads, query_len, d_k] = query.dims();
    let key_len = key.dims()[2];
    bias.check([batch, heads, query_len, key_len]);
    // Scaling the queries is cheaper than scaling the scores: d_k numbers per position instead of
    // key_len.
    let scores = to_f32((query * (1.0 / (d_k as f64).sqrt())).matmul(key.swap_dims(2, 3)));
    let scores = match bias {
        AttentionBias::Additive { scores: added, .. } => scores + added.clone(),
        _ => scores,
    };
    let weights = match bias.mask() {
        None => softmax(scores, 3),
        Some(mask) => masked_softmax(scores, mask.expand([batch, heads, query_len, key_len])),
    };
    let context = dropout
        .forward(weights.clone(), mode)
        .cast(value.dtype())
        .matmul(value);
    Attended { context, weights }
}

/// A change of attention scores before the softmax: it hides keys from queries, or adds numbers.
///
/// Masks are boolean, `true` hides. A mask with a dimension `heads` hides other keys from each
/// head.
///
/// ```
/// use burnformer_core::{AttentionBias, look_ahead_mask};
///
/// // [1, 1, 5, 5]: a position does not see later ones.
/// let mask = look_ahead_mask(0, 5, &Default::default());
/// assert!(matches!(AttentionBias::from(Some(mask)), AttentionBias::Mask(_)));
/// ```
#[derive(Clone, Debug, Default)]
pub enum AttentionBias {
    /// Every query sees every key.
    #[default]
    None,
    /// A mask, `[batch or 1, heads or 1, query_len or 1, key_len]`.
    Mask(Tensor<4, Bool>),
    /// The window of restricted self-attention, computed in blocks (paper §4).
    Window(WindowBlocks),
    /// Numbers that are added to the scores, such as relative positions. They get gradients. This
    /// attention is computed in plain tensors.
    Additive {
        /// The numbers that are added, `[batch or 1, heads or 1, query_len or 1, key_len or 1]`;
        /// finite.
        scores: Tensor<4>,
        /// A mask, `[batch or 1, heads or 1, query_len or 1, key_len]`; `None` hides nothing.
        mask: Option<Tensor<4, Bool>>,
    },
}

impl AttentionBias {
    /// Returns this bias for self-attention over `len` positions, with the keys outside of `window`
    /// hidden too. Returns [`Window`](Self::Window) if the sequence is long compared with the
    /// window and this bias is `None` or a padding mask (`[batch or 1, 1, 1, len]`).
    pub fn within(&self, window: Window, len: usize, device: &Device) -> Self {
        let padding = match self {
            Self::None => None,
            Self::Mask(mask) if mask.dims()[1..3] == [1, 1] => Some(mask),
            _ => return self.hiding(window.dense_mask(len, None, device)),
        };
        if window.is_in_blocks(len) {
            Self::Window(WindowBlocks::new(window, len, padding, device))
        } else {
            Self::Mask(window.dense_mask(len, padding, device))
        }
    }

    /// Returns this bias with the keys of `mask` hidden too. `mask`: `[batch or 1, heads or 1,
    /// query_len or 1, key_len]`.
    pub fn hiding(&self, mask: Tensor<4, Bool>) -> Self {
        let mask = match self.mask() {
            Some(hidden) => hidden.bool_or(mask),
            None => mask,
        };
        match self {
            Self::Additive { scores, .. } => Self::Additive {
                scores: scores.clone(),
                mask: Some(mask),
            },
            _ => Self::Mask(mask),
        }
    }

    /// Returns the bias over the last `count` keys alone.
    pub(crate) fn last_keys(&self, count: usize) -> Self {
        match self {
            Self::Mask(mask) => Self::Mask(last_keys(mask, count)),
            Self::Additive { scores, mask } => Self::Additive {
                scores: match scores.dims()[3] {
                    1 => scores.clone(),
                    keys => scores.clone().slice_dim(3, keys.saturating_sub(count)..),
                },
                mask: mask.as_ref().map(|mask| last_keys(mask, count)),
            },
            _ => self.clone(),
        }
    }

    /// Returns all hidden keys as one mask, which broadcasts to
    /// `[batch, heads, query_len, key_len]`; `None` hides nothing.
    pub fn mask(&self) -> Option<Tensor<4, Bool>> {
        match self {
            Self::None => None,
            Self::Mask(mask) => Some(mask.clone()),
            Self::Window(blocks) => Some(blocks.dense_mask()),
            Self::Additive { mask, .. } => mask.clone(),
        }
    }

    /// Checks that the mask and the added scores fit attention scores of the shape `expected`,
    /// `[batch, heads, query_len, key_len]`.
    ///
    /// # Panics
    /// Panics if they do not fit.
    pub(crate) fn check(&self, expected: [usize; 4]) {
        if let Self::Additive { scores, .. } = self {
            let found = scores.dims();
            let fits = (0..4).all(|d| found[d] == 1 || found[d] == expected[d]);
            assert!(fits, "bias {found:?} over scores {expected:?}");
        }
        if let Self::Mask(mask)
        | Self::Additive {
            mask: Some(mask), ..
        } = self
        {
            let found = mask.dims();
            let fits = (0..3).all(|d| found[d] == 1 || found[d] == expected[d]);
            assert!(
                fits && found[3] == expected[3],
                "bias {found:?} over scores {expected:?}"
            );
        }
    }
}

/// Returns a mask over the last `count` keys alone.
fn last_keys(mask: &Tensor<4, Bool>, count: usize) -> Tensor<4, Bool> {
    let first = mask.dims()[3].saturating_sub(count);
    mask.clone().slice_dim(3, first..)
}

/// A mask, or no bias.
impl From<Option<Tensor<4, Bool>>> for AttentionBias {
    fn from(mask: Option<Tensor<4, Bool>>) -> Self {
        mask.map_or(Self::None, Self::Mask)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_sequences_are_divided_into_blocks() {
        let device = Device::default();
        let window = Window {
            radius: 20,
            causal: false,
        };
        let short = AttentionBias::None.within(window, 79, &device);
        assert!(matches!(short, AttentionBias::Mask(_)));
        let long = AttentionBias::None.within(window, 80, &device);
        assert!(matches!(long, AttentionBias::Window(_)));
    }
}
