//! Attention, and the positions that it may see.

use burn::tensor::{Bool, Device, Tensor, TensorData};
use burnformer_core::{
    AttentionBias, AttentionInputs, Dropout, MhaInput, MultiHeadAttention,
    MultiHeadAttentionConfig, RandomKey, Window, WindowBlocks, look_ahead_mask,
    scaled_dot_product_attention, window_attention,
};

use super::super::{Parts, error, mode, parts, weighted};
use super::{BATCH, LEN, VECTORS, WIDTH, key, vector};

pub(super) fn heads() -> MultiHeadAttentionConfig {
    MultiHeadAttentionConfig::new(WIDTH, 2)
}

/// The keys that a query does not see.
#[derive(Clone, Copy)]
pub(super) enum Mask {
    None,
    /// The last keys of the first sentence, and every key of the second one.
    Padding,
    LookAhead,
    /// Keys of each head and query, and every key of the first query.
    Weights,
}

impl Mask {
    fn bias(self, device: &Device) -> AttentionBias {
        match self {
            Self::None => AttentionBias::None,
            Self::Padding => AttentionBias::Mask(padding(device)),
            Self::LookAhead => AttentionBias::Mask(look_ahead_mask(0, LEN, device)),
            Self::Weights => {
                let shape = [BATCH, 2, LEN, LEN];
                let uniform = RandomKey::new(8).uniform(shape.iter().product());
                let mut bits: Vec<bool> = uniform.iter().map(|&u| u < 0.4).collect();
                bits[..LEN].fill(true);
                AttentionBias::Mask(Tensor::from_data(TensorData::new(bits, shape), device))
            }
        }
    }
}

/// Hides the last keys of the first sentence, and every key of the second one.
pub(super) fn padding(device: &Device) -> Tensor<4, Bool> {
    let bits = [
        false, false, false, true, true, true, true, true, true, true,
    ];
    Tensor::<1, Bool>::from_data(bits, device).reshape([BATCH, 1, 1, LEN])
}

pub(super) fn attention(config: MultiHeadAttentionConfig, mask: Mask) -> f64 {
    let shape = [BATCH, LEN, config.d_model];
    error(
        |device| parts(config.init_with_key(key(), device), &[shape], device),
        |parts| self_attention(parts, mask),
    )
}

pub(super) fn self_attention(parts: &Parts<MultiHeadAttention>, mask: Mask) -> Tensor<1> {
    let x = vector(parts, 0);
    let bias = mask.bias(&x.device());
    weighted(
        parts
            .0
            .forward(MhaInput::self_attention(x).bias(bias), mode()),
    )
}

pub(super) fn unscaled_attention() -> f64 {
    let build = |device: &Device| {
        let mut attention = heads().init_with_key(key(), device);
        attention.is_scaled = false;
        parts(attention, &[VECTORS], device)
    };
    error(build, |parts| self_attention(parts, Mask::LookAhead))
}

pub(super) fn cross_attention() -> f64 {
    let shapes = [[BATCH, 3, WIDTH], VECTORS];
    error(
        |device| parts(heads().init_with_key(key(), device), &shapes, device),
        |parts| {
            let input = MhaInput::new(vector(parts, 0), vector(parts, 1));
            let input = input.mask(padding(&vector(parts, 0).device()));
            weighted(parts.0.forward(input, mode()))
        },
    )
}

pub(super) fn added_scores() -> f64 {
    let shapes = [VECTORS, [2, LEN, LEN]];
    error(
        |device| parts(heads().init_with_key(key(), device), &shapes, device),
        |parts| {
            let [x, scores] = [0, 1].map(|n| vector(parts, n));
            let bias = AttentionBias::Additive {
                mask: Some(padding(&x.device())),
                scores: scores.unsqueeze(),
            };
            weighted(
                parts
                    .0
                    .forward(MhaInput::self_attention(x).bias(bias), mode()),
            )
        },
    )
}

pub(super) fn dot_product_attention() -> f64 {
    let shapes = [[4, 3, WIDTH], [4, LEN, WIDTH], [4, LEN, 2]];
    error(
        |device| parts(Dropout::new(0.3), &shapes, device),
        |parts| {
            let [query, key, value] = [0, 1, 2].map(|n| {
                let x = vector(parts, n);
                let [rows, len, width] = x.dims();
                x.reshape([BATCH, rows / BATCH, len, width])
            });
            let bias = AttentionBias::Mask(padding(&query.device()));
            let dropout = &parts.0;
            weighted(
                scaled_dot_product_attention(query, key, value, &bias, dropout, mode()).context,
            )
        },
    )
}

/// A sequence that is long compared with the window, so that it is computed in blocks.
pub(super) fn windowed(causal: bool) -> f64 {
    let shapes = [[1, 35, 2]; 3];
    let window = Window { radius: 3, causal };
    error(
        |device| parts(Dropout::new(0.2), &shapes, device),
        |parts| {
            let inputs = [0, 1, 2].map(|n| vector(parts, n));
            let blocks = WindowBlocks::new(window, 35, None, &inputs[0].device());
            let inputs = AttentionInputs::new(inputs, 2);
            weighted(window_attention(inputs, &blocks, &parts.0, mode()))
        },
    )
}
