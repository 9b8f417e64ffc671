//! Restricted self-attention (paper §4), computed in blocks: time and memory grow as r·n·d and not
//! as n²·d.

use burn::tensor::{Bool, Device, Tensor, TensorData};
use burnformer_kernels::{AttentionInputs, attention};

use crate::context::Mode;
use crate::dropout::Dropout;
use crate::mask::position_mask;

/// Smallest size of a block, in positions. With smaller blocks, the overhead of a matrix product
/// would exceed its work.
const MIN_BLOCK: usize = 16;
/// Smallest number of blocks of a sequence that is computed in blocks. Each block sees two or three
/// of them.
const MIN_BLOCKS: usize = 4;

/// The window of restricted self-attention: position i sees position j if |i − j| ≤ r.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// The largest distance that a position sees, r.
    pub radius: usize,
    /// If true, later positions are hidden too, as the decoder needs it.
    pub causal: bool,
}

impl Window {
    /// Returns whether attention over `len` positions is computed in blocks: the sequence is long
    /// compared with the window.
    pub(crate) fn is_in_blocks(self, len: usize) -> bool {
        len >= MIN_BLOCKS * self.block()
    }

    /// Returns the mask of the window as a dense tensor, `[batch or 1, 1, len, len]`. The tests
    /// compare the blocks with it.
    pub fn dense_mask(
        self,
        len: usize,
        padding: Option<&Tensor<4, Bool>>,
        device: &Device,
    ) -> Tensor<4, Bool> {
        let hidden = position_mask(0, len, device, |query, key| self.hides(query, key));
        match padding {
            Some(padding) => padding.clone().bool_or(hidden),
            None => hidden,
        }
    }

    /// Positions per block: at least r, so that a block sees no farther than its neighbours.
    fn block(self) -> usize {
        self.radius.max(MIN_BLOCK)
    }

    /// Number of blocks that a block sees: the one before it, itself, and, if not causal, the one
    /// after it.
    fn span(self) -> usize {
        if self.causal { 2 } else { 3 }
    }

    pub(crate) fn hides(self, query: usize, key: usize) -> bool {
        query.abs_diff(key) > self.radius || (self.causal && key > query)
    }
}

/// The mask for [`window_attention`]. It is made once per batch and used by every layer.
#[derive(Clone, Debug)]
pub struct WindowBlocks {
    window: Window,
    pub(crate) len: usize,
    /// `[batch or 1, blocks, block, span·block]`, `true` hides.
    hidden: Tensor<4, Bool>,
    /// `[batch, 1, 1, len]`; `None` hides nothing.
    padding: Option<Tensor<4, Bool>>,
}

impl WindowBlocks {
    /// Blocks over `len` positions. `padding` (`[batch, 1, 1, len]`) hides further keys.
    pub fn new(
        window: Window,
        len: usize,
        padding: Option<&Tensor<4, Bool>>,
        device: &Device,
    ) -> Self {
        let near = near_mask(window, len, device);
        let hidden = match padding {
            None => near,
            Some(padding) => {
                let [batch, _, _, _] = padding.dims();
                let [_, blocks, block, keys] = near.dims();
                // The padding is converted to numbers. Positions beyond the ends are hidden by
                // `near` in any case.
                let padding = padding.clone().int().float().reshape([batch, len, 1]);
                let span = window.span();
                let padding = edged(filled(padding, blocks * block), block, span);
                let padding = neighbours(padding, block, span);
                let padding = padding.reshape([batch, blocks, 1, keys]).greater_elem(0.5);
                let shape = [batch, blocks, block, keys];
                padding.expand(shape).bool_or(near.expand(shape))
            }
        };
        Self {
            window,
            len,
            hidden,
            padding: padding.cloned(),
        }
    }

    /// Returns the mask of the blocks as a dense tensor, `[batch or 1, 1, len, len]`.
    pub fn dense_mask(&self) -> Tensor<4, Bool> {
        let padding = self.padding.as_ref();
        self.window
            .dense_mask(self.len, padding, &self.hidden.device())
    }
}

/// Returns the mask of the window without padding, `[1, blocks, block, span·block]`. Keys beyond
/// the ends of the sequence are hidden.
fn near_mask(window: Window, len: usize, device: &Device) -> Tensor<4, Bool> {
    let block = window.block();
    let span = window.span();
    let blocks = len.div_ceil(block);
    let mut hidden = Vec::with_capacity(blocks * block * span * block);
    for query in 0..blocks * block {
        // The first key is one block before the block of the query.
        let first = query / block * block;
        hidden.extend((first..first + span * block).map(|shifted| {
            let inside = shifted >= block && shifted - block < len;
            !inside || window.hides(query, shifted - block)
        }));
    }
    Tensor::from_data(
        TensorData::new(hidden, [1, blocks, block, span * block]),
        device,
    )
}

/// Restricted multi-head self-attention: [`scaled_dot_product_attention`] of every position over
/// the positions within the window, with r·n·d work and memory instead of n²·d.
///
/// The sequence is divided into blocks of r positions (at least 16), and each block attends to
/// itself and its neighbours under the mask of the window. A query without visible keys gives 0.
///
/// # Shapes
/// The shapes of [`AttentionInputs`], with `query_len` = `key_len` = `len` and nothing hidden →
/// `[batch, len, heads·d_v]`
///
/// # Panics
/// Panics if the sequence and `blocks` have different lengths.
///
/// [`scaled_dot_product_attention`]: crate::scaled_dot_product_attention
pub fn window_attention(
    inputs: AttentionInputs,
    blocks: &WindowBlocks,
    dropout: &Dropout,
    mode: Mode,
) -> Tensor<3> {
    let AttentionInputs {
        query,
        key,
        value,
        heads,
        ..
    } = inputs;
    let [batch, len, width] = query.dims();
    assert_eq!(len, blocks.len, "length of the sequence and of its mask");
    let value_width = value.dims()[2];
    let [_, count, block, _] = blocks.hidden.dims();
    let full = count * block;
    let span = blocks.window.span();
    let query = filled(query, full).reshape([batch * count, block, width]);
    let [key, value] = [key, value].map(|x| edged(filled(x, full), block, span));
    let [key, value] = [key, value].map(|x| neighbours(x, block, span));
    let hidden = blocks
        .hidden
        .clone()
        .expand([batch, count, block, span * block]);
    let hidden = Some(hidden.reshape([batch * count, 1, block, span * block]));
    let inputs = AttentionInputs {
        query,
        key,
        value,
        heads,
        hidden,
    };
    let context = attention(inputs, dropout.mask(mode));
    context
        .reshape([batch, full, value_width])
        .slice([0..batch, 0..len, 0..value_width])
}

/// Appends zeros: `[batch, len, width]` → `[batch, full, width]`.
fn filled(x: Tensor<3>, full: usize) -> Tensor<3> {
    let [batch, len, width] = x.dims();
    if len == full {
        return x;
    }
    let zeros = Tensor::zeros([batch, full - len, width], (&x.device(), x.dtype()));
    Tensor::cat(vec![x, zeros], 1)
}

/// Adds a block of zeros before `x` and, for a `span` of 3, one after it.
fn edged(x: Tensor<3>, block: usize, span: usize) -> Tensor<3> {
    let [batch, _, width] = x.dims();
    let edge = Tensor::zeros([batch, block, width], (&x.device(), x.dtype()));
    let mut parts = vec![edge.clone(), x];
    parts.extend((span == 3).then_some(edge));
    Tensor::cat(parts, 1)
}

/// Joins each block of [`edged`] with the block before it and, for a `span` of 3, the block after
/// it: `[batch, (blocks + span − 1)·block, width]` → `[batch·blocks, span·block, width]`.
fn neighbours(edged: Tensor<3>, block: usize, span: usize) -> Tensor<3> {
    let [batch, len, width] = edged.dims();
    let blocks = len / block + 1 - span;
    let mut shifted = Vec::with_capacity(span);
    for by in 0..span {
        let part = by * block..(by + blocks) * block;
        let part = edged.clone().slice([0..batch, part, 0..width]);
        shifted.push(part.reshape([batch, blocks, block, width]));
    }
    let near = Tensor::cat(shifted, 2);
    near.reshape([batch * blocks, span * block, width])
}

#[cfg(test)]
mod tests {
    use burn::tensor::Int;

    use super::*;

    #[test]
    fn a_block_sees_itself_and_its_neighbours() {
        let x = Tensor::<1, Int>::arange(0..4, &Device::default())
            .float()
            .reshape([1, 4, 1]);
        for (span, expected) in [
            (2, &[0., 0., 0., 1., 0., 1., 2., 3.][..]),
            (3, &[0., 0., 0., 1., 2., 3., 0., 1., 2., 3., 0., 0.]),
        ] {
            let near = neighbours(edged(x.clone(), 2, span), 2, span);
            let values: Vec<f32> = near.into_data().iter().collect();
            assert_eq!(values, expected);
        }
    }
}
