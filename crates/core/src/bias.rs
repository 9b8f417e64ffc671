use burn::tensor::{Bool, Device, Tensor};

use crate::window::{Window, WindowBlocks};

/// What attention does to its scores before the softmax: it hides keys from queries, or adds
/// numbers.
///
/// Masks are boolean, `true` hides. A mask with a dimension `heads` hides other keys from each
/// head.
///
/// ```
/// use burnformer_core::{AttentionBias, look_ahead_mask};
///
/// let mask = look_ahead_mask(0, 5, &Default::default()); // [1, 1, 5, 5]: a position does not see later ones
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
    /// Numbers that are added to the scores, such as those of relative positions. They get
    /// gradients. This attention is computed in plain tensors.
    Additive {
        /// What is added, `[batch or 1, heads or 1, query_len or 1, key_len]`; finite numbers.
        scores: Tensor<4>,
        /// A mask of the same kind of shape; `None` hides nothing.
        mask: Option<Tensor<4, Bool>>,
    },
}

impl AttentionBias {
    /// The bias of self-attention over `len` positions that sees `window` alone: in blocks if the
    /// sequence is long compared with the window. `padding` (`[batch, 1, 1, len]`) hides further
    /// keys.
    pub fn window(
        window: Window,
        len: usize,
        padding: Option<&Tensor<4, Bool>>,
        device: &Device,
    ) -> Self {
        match window.is_in_blocks(len) {
            true => Self::Window(WindowBlocks::new(window, len, padding, device)),
            false => Self::Mask(window.dense_mask(len, padding, device)),
        }
    }

    /// All that is hidden as one mask; `None` hides nothing.
    pub fn mask(&self) -> Option<Tensor<4, Bool>> {
        match self {
            Self::None => None,
            Self::Mask(mask) => Some(mask.clone()),
            Self::Window(blocks) => Some(blocks.dense_mask()),
            Self::Additive { mask, .. } => mask.clone(),
        }
    }
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
    fn short_sequences_are_masked_and_long_ones_cut_into_blocks() {
        let device = Device::default();
        let window = Window { radius: 20, causal: false };
        let bias = |len| AttentionBias::window(window, len, None, &device);
        assert!(matches!(bias(79), AttentionBias::Mask(_)));
        assert!(matches!(bias(80), AttentionBias::Window(_)));
    }
}
