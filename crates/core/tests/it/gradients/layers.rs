//! Layers by themselves.

mod attention;
mod embeddings;

use burn::tensor::Tensor;
use burnformer_core::rnn::Gru;
use burnformer_core::ssru::{Ssru, SsruState};
use burnformer_core::{
    Activation, AttentionBias, ClosingNorm, Decoder, DecoderBias, DecoderConfig,
    DecoderLayerConfig, Dropout, EmbeddingScale, EmbeddingSharing, EncodedSource, EncoderConfig,
    LayerConfig, LayerNormConfig, Linear, LinearConfig, MultiHeadAttentionConfig, NormKind,
    NormPosition, PositionWiseFeedForwardConfig, RandomKey, ResidualNorm, TargetHistory,
    look_ahead_mask,
};

use self::attention::{
    Mask, added_scores, attention, cross_attention, dot_product_attention, heads, padding,
    unscaled_attention, windowed,
};
use self::embeddings::{embedding, embeddings, loss, positions};
use super::{Case, Parts, error, mode, parts, weighted};

/// The width of most layers.
const WIDTH: usize = 6;
const BATCH: usize = 2;
const LEN: usize = 5;
const VECTORS: [usize; 3] = [BATCH, LEN, WIDTH];

/// The layers and functions, by their exported names. A comma begins a variant.
pub const CASES: &[Case] = &[
    ("Linear", || linear(true, Linear::forward)),
    ("Linear, without bias", || linear(false, Linear::forward)),
    ("Linear, ReLU", || linear(true, Linear::forward_relu)),
    ("Linear, SiLU", || linear(true, Linear::forward_silu)),
    ("LayerNorm", || norm(NormKind::Layer)),
    ("LayerNorm, RMS", || norm(NormKind::Rms)),
    ("LayerNorm, scale", || norm(NormKind::Scale)),
    ("ResidualNorm, post-norm", || {
        residual(NormPosition::Post, NormKind::Layer)
    }),
    ("ResidualNorm, pre-norm", || {
        residual(NormPosition::Pre, NormKind::Layer)
    }),
    ("ResidualNorm, post-norm, RMS", || {
        residual(NormPosition::Post, NormKind::Rms)
    }),
    ("Dropout", dropout),
    ("PositionWiseFeedForward", || {
        network(Activation::Relu, false)
    }),
    ("PositionWiseFeedForward, GELU", || {
        network(Activation::Gelu, false)
    }),
    ("PositionWiseFeedForward, SiLU", || {
        network(Activation::Silu, false)
    }),
    ("PositionWiseFeedForward, ReLU, gated", || {
        network(Activation::Relu, true)
    }),
    ("PositionWiseFeedForward, SiLU, gated", || {
        network(Activation::Silu, true)
    }),
    ("MultiHeadAttention", || attention(heads(), Mask::None)),
    ("MultiHeadAttention, padding", || {
        attention(heads(), Mask::Padding)
    }),
    ("MultiHeadAttention, look-ahead", || {
        attention(heads(), Mask::LookAhead)
    }),
    ("MultiHeadAttention, a mask of each weight", || {
        attention(heads(), Mask::Weights)
    }),
    ("MultiHeadAttention, dropout", || {
        attention(heads().with_dropout(0.3), Mask::LookAhead)
    }),
    ("MultiHeadAttention, d_k and d_v", || {
        attention(heads().with_d_k(Some(2)).with_d_v(Some(5)), Mask::Padding)
    }),
    ("MultiHeadAttention, without bias", || {
        attention(heads().with_bias(false), Mask::None)
    }),
    ("MultiHeadAttention, norm of queries and keys", || {
        attention(heads().with_qk_norm(Some(1e-5)), Mask::Padding)
    }),
    ("MultiHeadAttention, joint norm of queries", || {
        attention(
            heads().with_qk_norm(Some(1e-5)).with_joint_query_norm(true),
            Mask::None,
        )
    }),
    ("MultiHeadAttention, unscaled", unscaled_attention),
    ("MultiHeadAttention, one head of one feature", || {
        attention(MultiHeadAttentionConfig::new(1, 1), Mask::Padding)
    }),
    ("MultiHeadAttention, cross-attention", cross_attention),
    ("MultiHeadAttention, added scores", added_scores),
    ("scaled_dot_product_attention", dot_product_attention),
    ("window_attention", || windowed(false)),
    ("window_attention, causal", || windowed(true)),
    ("EncoderLayer", || encoder_layer(layer())),
    ("EncoderLayer, pre-norm", || {
        encoder_layer(layer().with_norm(NormPosition::Pre))
    }),
    ("EncoderLayer, dropout", || {
        encoder_layer(layer().with_dropout(0.2))
    }),
    ("EncoderLayer, scale norm", || {
        encoder_layer(layer().with_norm_kind(NormKind::Scale))
    }),
    ("Encoder", || encoder(layer(), None)),
    ("Encoder, pre-norm", || {
        encoder(layer().with_norm(NormPosition::Pre), None)
    }),
    ("Encoder, window", || encoder(layer(), Some(1))),
    ("DecoderLayer", || {
        decoder_layer(TargetHistory::SelfAttention)
    }),
    ("DecoderLayer, SSRU", || decoder_layer(TargetHistory::Ssru)),
    ("Decoder", || decoder(layer(), None)),
    ("Decoder, pre-norm", || {
        decoder(layer().with_norm(NormPosition::Pre), None)
    }),
    ("Decoder, pre-norm, no last norm", || {
        let layer = layer().with_norm(NormPosition::Pre);
        decoder(layer.with_closing(ClosingNorm::Absent), None)
    }),
    ("Decoder, window", || decoder(layer(), Some(1))),
    ("Decoder, without source", language_model),
    ("Ssru", ssru),
    ("Gru", gru),
    ("PositionalEncoding", || positions(None)),
    ("PositionalEncoding, learned", || positions(Some(9))),
    ("TokenEmbedding", || {
        embedding(false, EmbeddingScale::SqrtWidth)
    }),
    ("TokenEmbedding, unit length", || {
        embedding(true, EmbeddingScale::SqrtWidth)
    }),
    ("TokenEmbedding, unscaled", || {
        embedding(false, EmbeddingScale::One)
    }),
    ("SharedEmbeddings", || embeddings(EmbeddingSharing::All)),
    ("SharedEmbeddings, target", || {
        embeddings(EmbeddingSharing::Target)
    }),
    ("SharedEmbeddings, none", || {
        embeddings(EmbeddingSharing::None)
    }),
    ("label_smoothed_cross_entropy", || loss(0.1)),
    ("label_smoothed_cross_entropy, no smoothing", || loss(0.0)),
];

fn key() -> RandomKey {
    RandomKey::new(1)
}

/// The vector number `index` of `parts`.
fn vector<M>(parts: &Parts<M>, index: usize) -> Tensor<3> {
    parts.1[index].val()
}

fn linear(bias: bool, run: fn(&Linear, Tensor<3>) -> Tensor<3>) -> f64 {
    let config = LinearConfig::new(WIDTH, 7).with_bias(bias);
    error(
        |device| parts(config.init_with_key(key(), device), &[VECTORS], device),
        |parts| weighted(run(&parts.0, vector(parts, 0))),
    )
}

fn norm(kind: NormKind) -> f64 {
    let config = LayerNormConfig::new(WIDTH).with_kind(kind);
    error(
        |device| parts(config.init(device), &[VECTORS], device),
        |parts| weighted(parts.0.forward(vector(parts, 0))),
    )
}

fn residual(position: NormPosition, kind: NormKind) -> f64 {
    let norm = LayerNormConfig::new(WIDTH).with_kind(kind);
    let linear = LinearConfig::new(WIDTH, WIDTH);
    let residual = ResidualNorm::new(position, 0.2);
    error(
        |device| {
            let layers = (norm.init(device), linear.init_with_key(key(), device));
            parts(layers, &[VECTORS], device)
        },
        |parts| {
            let (norm, linear) = &parts.0;
            let x = vector(parts, 0);
            weighted(residual.forward(x, norm, mode(), |x| linear.forward(x)))
        },
    )
}

fn dropout() -> f64 {
    error(
        |device| parts(Dropout::new(0.4), &[VECTORS], device),
        |parts| weighted(parts.0.forward(vector(parts, 0), mode())),
    )
}

fn network(activation: Activation, gated: bool) -> f64 {
    let config = PositionWiseFeedForwardConfig::new(WIDTH, 9)
        .with_activation(activation)
        .with_gated(gated)
        .with_dropout(0.2);
    error(
        |device| parts(config.init_with_key(key(), device), &[VECTORS], device),
        |parts| weighted(parts.0.forward(vector(parts, 0), mode())),
    )
}

fn layer() -> LayerConfig {
    LayerConfig::new(heads(), PositionWiseFeedForwardConfig::new(WIDTH, 8))
}

fn encoder_layer(config: LayerConfig) -> f64 {
    error(
        |device| parts(config.init_with_key(key(), device), &[VECTORS], device),
        |parts| {
            let x = vector(parts, 0);
            let bias = AttentionBias::Mask(padding(&x.device()));
            weighted(parts.0.forward(x, &bias, mode()))
        },
    )
}

fn encoder(layer: LayerConfig, window: Option<usize>) -> f64 {
    let config = EncoderConfig::new(layer, 2).with_window(window);
    error(
        |device| parts(config.init_with_key(key(), device), &[VECTORS], device),
        |parts| {
            let x = vector(parts, 0);
            let bias = AttentionBias::Mask(padding(&x.device()));
            weighted(parts.0.forward(x, &bias, mode()))
        },
    )
}

/// The target and its source.
const BOTH: [[usize; 3]; 2] = [[BATCH, 4, WIDTH], VECTORS];

fn decoder_layer(history: TargetHistory) -> f64 {
    let config = DecoderLayerConfig::new(layer())
        .with_cross_attention(Some(heads()))
        .with_history(history);
    error(
        |device| parts(config.init_with_key(key(), device), &BOTH, device),
        |parts| {
            let [x, source] = [0, 1].map(|n| vector(parts, n));
            let device = x.device();
            let bias = DecoderBias {
                target: AttentionBias::Mask(look_ahead_mask(0, 4, &device)),
                source: AttentionBias::Mask(padding(&device)),
            };
            weighted(
                parts
                    .0
                    .forward(x, &mut parts.0.start(source), &bias, mode()),
            )
        },
    )
}

fn decoder(layer: LayerConfig, window: Option<usize>) -> f64 {
    let layer = DecoderLayerConfig::new(layer).with_cross_attention(Some(heads()));
    let config = DecoderConfig::new(layer, 2).with_window(window);
    error(
        |device| parts(config.init_with_key(key(), device), &BOTH, device),
        |parts| {
            let [x, states] = [0, 1].map(|n| vector(parts, n));
            let padding = padding(&x.device());
            let mut cache = parts.0.start(&EncodedSource { states, padding });
            weighted(
                parts
                    .0
                    .forward(x, &mut cache, &DecoderBias::default(), mode()),
            )
        },
    )
}

fn language_model() -> f64 {
    let config = DecoderConfig::new(DecoderLayerConfig::new(layer()), 1);
    error(
        |device| parts(config.init_with_key(key(), device), &[VECTORS], device),
        |parts: &Parts<Decoder>| {
            let mut cache = parts.0.start_without_source();
            let bias = DecoderBias::default();
            weighted(parts.0.forward(vector(parts, 0), &mut cache, &bias, mode()))
        },
    )
}

fn ssru() -> f64 {
    error(
        |device| parts(Ssru::new(WIDTH, key(), device), &[VECTORS], device),
        |parts| weighted(parts.0.forward(vector(parts, 0), &mut SsruState::default())),
    )
}

fn gru() -> f64 {
    error(
        |device| parts(Gru::new(WIDTH, 4, key(), device), &[VECTORS], device),
        |parts| {
            let x = vector(parts, 0);
            let padding = padding(&x.device()).reshape([BATCH, LEN]);
            weighted(parts.0.forward(x, padding))
        },
    )
}
