//! Layers by themselves.

use burn::module::Param;
use burn::tensor::{Bool, Device, Int, Tensor, TensorData};
use burnformer_core::rnn::Gru;
use burnformer_core::ssru::{Ssru, SsruState};
use burnformer_core::{
    Activation, AttentionBias, AttentionInputs, ClosingNorm, Decoder, DecoderBias, DecoderConfig,
    DecoderLayerConfig, Dropout, EmbeddingScale, EmbeddingSharing, EncodedSource, EncoderConfig,
    LayerConfig, LayerNormConfig, Linear, LinearConfig, MhaInput, MultiHeadAttention,
    MultiHeadAttentionConfig, NormKind, NormPosition, OutputBias, PositionWiseFeedForwardConfig,
    PositionalEncoding, PositionalEncodingConfig, RandomKey, ResidualNorm, SharedEmbeddings,
    SharedEmbeddingsConfig, TargetHistory, TokenEmbeddingConfig, Window, WindowBlocks,
    label_smoothed_cross_entropy, look_ahead_mask, scaled_dot_product_attention, window_attention,
};

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

fn heads() -> MultiHeadAttentionConfig {
    MultiHeadAttentionConfig::new(WIDTH, 2)
}

/// The keys that a query does not see.
#[derive(Clone, Copy)]
enum Mask {
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
fn padding(device: &Device) -> Tensor<4, Bool> {
    let bits = [
        false, false, false, true, true, true, true, true, true, true,
    ];
    Tensor::<1, Bool>::from_data(bits, device).reshape([BATCH, 1, 1, LEN])
}

fn attention(config: MultiHeadAttentionConfig, mask: Mask) -> f64 {
    let shape = [BATCH, LEN, config.d_model];
    error(
        |device| parts(config.init_with_key(key(), device), &[shape], device),
        |parts| self_attention(parts, mask),
    )
}

fn self_attention(parts: &Parts<MultiHeadAttention>, mask: Mask) -> Tensor<1> {
    let x = vector(parts, 0);
    let bias = mask.bias(&x.device());
    weighted(
        parts
            .0
            .forward(MhaInput::self_attention(x).bias(bias), mode()),
    )
}

fn unscaled_attention() -> f64 {
    let build = |device: &Device| {
        let mut attention = heads().init_with_key(key(), device);
        attention.is_scaled = false;
        parts(attention, &[VECTORS], device)
    };
    error(build, |parts| self_attention(parts, Mask::LookAhead))
}

fn cross_attention() -> f64 {
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

fn added_scores() -> f64 {
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

fn dot_product_attention() -> f64 {
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
fn windowed(causal: bool) -> f64 {
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

fn positions(learned: Option<usize>) -> f64 {
    let config = PositionalEncodingConfig::new(WIDTH).with_learned(learned);
    error(
        |device| parts(config.init_with_key(key(), device), &[VECTORS], device),
        |parts: &Parts<PositionalEncoding>| {
            // Learned positions that nobody reads have a gradient of zero.
            weighted(parts.0.forward(vector(parts, 0), 2))
        },
    )
}

const VOCAB: usize = 8;

/// Ids, one of them twice.
fn ids(device: &Device) -> Tensor<2, Int> {
    Tensor::from_ints([[5, 6, 7, 2], [6, 2, 0, 0]], device)
}

/// Rows, and logits of the same matrix.
fn embedding(fix_norm: bool, scale: EmbeddingScale) -> f64 {
    let config = TokenEmbeddingConfig::new(VOCAB, WIDTH)
        .with_fix_norm(fix_norm)
        .with_scale(scale);
    error(
        |device| parts(config.init_with_key(key(), device), &[], device),
        |parts| {
            let rows = parts.0.forward(ids(&parts.0.weight.device()));
            weighted(parts.0.logits(rows.clone(), None)) + weighted(rows)
        },
    )
}

/// Both sides, and the loss.
fn embeddings(sharing: EmbeddingSharing) -> f64 {
    let config = SharedEmbeddingsConfig::new([VOCAB, VOCAB], WIDTH)
        .with_sharing(sharing)
        .with_output_bias(OutputBias::PerPiece);
    error(
        |device| {
            parts(
                config.init_with_key(key(), device),
                &[[BATCH, 4, WIDTH]],
                device,
            )
        },
        |parts: &Parts<SharedEmbeddings>| {
            let (embeddings, states) = (&parts.0, vector(parts, 0));
            let ids = ids(&states.device());
            let loss = embeddings
                .loss(states.clone(), ids.clone(), 0, 0.1)
                .smoothed;
            let [source, target] = [embeddings.source(ids.clone()), embeddings.target(ids)];
            loss + weighted(source)
                + weighted(target * states.clone())
                + weighted(embeddings.logits(states))
        },
    )
}

fn loss(smoothing: f64) -> f64 {
    let logits = |device: &Device| vec![Param::from_tensor(Tensor::zeros([BATCH, 4, 9], device))];
    error(logits, |logits| {
        let logits = logits[0].val();
        let targets = ids(&logits.device());
        label_smoothed_cross_entropy(logits, targets, 0, smoothing).smoothed
    })
}
