//! Whole models with their loss.

use burn::tensor::{Device, Int, Tensor};
use burnformer_core::rnn::RnnConfig;
use burnformer_core::{
    Activation, Conventions, DecoderStart, EmbeddingScale, EmbeddingSharing, NormKind,
    NormPosition, OutputBias, Positions, Seq2Seq, Sinusoids, SourceEnd, TargetHistory,
    TransformerConfig,
};

use super::{Case, error, mode};

const VOCAB: usize = 7;

/// The models, by their exported names. A comma begins a variant.
pub const CASES: &[Case] = &[
    ("Transformer", || transformer(tiny())),
    ("Transformer, pre-norm, GELU", || {
        transformer(TransformerConfig {
            norm: NormPosition::Pre,
            activation: Activation::Gelu,
            ..tiny()
        })
    }),
    (
        "Transformer, learned positions, no shared embeddings",
        || {
            transformer(TransformerConfig {
                positions: Positions::Learned,
                max_positions: 5,
                sharing: EmbeddingSharing::None,
                ..tiny()
            })
        },
    ),
    ("Transformer, norm of queries and keys", || {
        transformer(TransformerConfig {
            qk_norm: true,
            ..tiny()
        })
    }),
    ("Transformer, FixNorm, ScaleNorm", || {
        transformer(TransformerConfig {
            norm: NormPosition::Pre,
            norm_kind: NormKind::Scale,
            fix_norm: true,
            ..tiny()
        })
    }),
    ("Transformer, window, shared target", || {
        transformer(TransformerConfig {
            attention_window: Some(1),
            sharing: EmbeddingSharing::Target,
            ..tiny()
        })
    }),
    ("Transformer, the conventions of Marian", || {
        transformer(TransformerConfig {
            activation: Activation::Silu,
            conventions: Conventions {
                sinusoids: Sinusoids::Halves,
                embedding_scale: EmbeddingScale::One,
                decoder_start: DecoderStart::Zero,
                output_bias: OutputBias::PerPiece,
                target_history: TargetHistory::Ssru,
                source_end: SourceEnd::Hidden,
                ..Conventions::default()
            },
            ..tiny()
        })
    }),
    ("Rnn", rnn),
];

/// One layer a side, with dropout everywhere.
fn tiny() -> TransformerConfig {
    TransformerConfig {
        d_ff: 5,
        encoder_layers: 1,
        decoder_layers: 1,
        dropout: 0.1,
        attention_dropout: 0.1,
        activation_dropout: 0.1,
        ..TransformerConfig::tiny(VOCAB)
    }
    .with_width(4, 2)
}

/// The smoothed loss of two sentences of different lengths, and one of padding alone.
fn loss(model: &impl Seq2Seq, device: &Device) -> Tensor<1> {
    let ids = |rows: [[i32; 4]; 3]| Tensor::<2, Int>::from_ints(rows, device);
    let source = ids([[5, 6, 3, 2], [4, 2, 0, 0], [0, 0, 0, 0]]);
    let input = ids([[1, 3, 4, 6], [1, 5, 0, 0], [0, 0, 0, 0]]);
    let output = ids([[3, 4, 6, 2], [5, 2, 0, 0], [0, 0, 0, 0]]);
    model
        .loss(model.states(source, input, mode()), output, 0, 0.1)
        .smoothed
}

fn transformer(config: TransformerConfig) -> f64 {
    error(
        |device| config.init(1, device).expect("a valid configuration"),
        |model| {
            loss(
                model,
                &model.decoder.layers[0].feed_forward.inner.weight.device(),
            )
        },
    )
}

fn rnn() -> f64 {
    let config = RnnConfig {
        d_model: 4,
        d_hidden: 3,
        d_attention: 3,
        ..RnnConfig::tiny(VOCAB)
    };
    error(
        |device| config.init(1, device).expect("a valid configuration"),
        |model| loss(model, &model.decoder.readout.weight.device()),
    )
}
