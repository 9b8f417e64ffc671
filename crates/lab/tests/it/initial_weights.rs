//! Initial weights are pinned: a seed gives the same model in every version, unless the changelog
//! says otherwise.

use std::collections::BTreeMap;

use burn::tensor::{Device, TensorData};
use burnformer_core::rnn::RnnConfig;
use burnformer_core::{
    EmbeddingSharing, ModelConfig, NormPosition, Positions, TransformerConfig, named_parameters,
};
use sha2::{Digest, Sha256};

const SEED: u64 = 17;

/// The initial weights of a model: the SHA-256, to 16 digits, of all names, shapes and values,
/// except values from normal distributions. For these parameters, the first values.
struct Pinned {
    config: ModelConfig,
    others: &'static str,
    normal: &'static [(&'static str, [f32; 3])],
}

/// A Transformer that is small and has every part.
fn small() -> TransformerConfig {
    TransformerConfig {
        max_positions: 8,
        ..TransformerConfig::tiny(20).with_width(16, 2)
    }
}

/// A table that several of the models draw from the same key.
const EMBEDDING: (&str, [f32; 3]) = ("embedding.weight", [0.22920175, 0.026321873, -0.0070493636]);

fn pinned() -> [Pinned; 5] {
    let rnn = RnnConfig {
        d_model: 16,
        d_hidden: 12,
        d_attention: 8,
        ..RnnConfig::tiny(20)
    };
    [
        // Post-norm, sinusoids, one matrix for all three embeddings: the paper's.
        Pinned {
            config: small().into(),
            others: "bd259fd2436d4efb",
            normal: &[EMBEDDING],
        },
        Pinned {
            config: TransformerConfig {
                positions: Positions::Learned,
                ..small()
            }
            .into(),
            others: "bd259fd2436d4efb",
            normal: &[
                EMBEDDING,
                (
                    "source_position.weight",
                    [-0.1792233, 0.063866846, -0.40100467],
                ),
                (
                    "target_position.weight",
                    [0.08540803, -0.014400466, 0.3870027],
                ),
            ],
        },
        Pinned {
            config: TransformerConfig {
                sharing: EmbeddingSharing::None,
                ..small()
            }
            .into(),
            others: "c0c75f3dd593e858",
            normal: &[
                (
                    "source_embedding.weight",
                    [-0.01716714, -0.07941226, 0.20861647],
                ),
                (
                    "target_embedding.weight",
                    [-0.47781903, -0.009946114, 0.26478234],
                ),
            ],
        },
        Pinned {
            config: TransformerConfig {
                norm: NormPosition::Pre,
                ..small()
            }
            .into(),
            others: "7dd792d5b698a48b",
            normal: &[EMBEDDING],
        },
        Pinned {
            config: rnn.into(),
            others: "5794b677e64c6370",
            normal: &[EMBEDDING],
        },
    ]
}

fn initial(config: &ModelConfig, seed: u64) -> BTreeMap<String, TensorData> {
    named_parameters(&config.build(seed, &Device::default()).expect("it is valid"))
}

/// Returns whether a parameter is drawn from a normal distribution: the tables of vectors for
/// pieces and positions.
fn is_normal(name: &str) -> bool {
    name.contains("embedding") || name.contains("position")
}

fn hash<'a>(parameters: impl Iterator<Item = (&'a String, &'a TensorData)>) -> String {
    let mut hash = Sha256::new();
    for (name, data) in parameters {
        hash.update(format!("{name} {:?}\n", data.shape().to_vec()));
        data.iter::<f32>()
            .for_each(|value| hash.update(value.to_le_bytes()));
    }
    hash.finalize()
        .iter()
        .take(8)
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

#[test]
fn initial_weights_are_a_function_of_the_seed_and_the_same_in_every_version() {
    for Pinned {
        config,
        others,
        normal,
    } in pinned()
    {
        let all = initial(&config, SEED);
        assert_eq!(
            hash(all.iter().filter(|(name, _)| !is_normal(name))),
            others,
            "{config:?}"
        );
        let names: Vec<_> = all.keys().filter(|name| is_normal(name)).collect();
        assert_eq!(
            names,
            normal.iter().map(|(name, _)| *name).collect::<Vec<_>>()
        );
        for (name, expected) in normal {
            // Exponentials and logarithms are not the same to the last bit on every system.
            for (value, expected) in all[*name].iter::<f32>().zip(expected) {
                assert!(
                    (value - expected).abs() < 1e-6,
                    "{name}: {value} against {expected}"
                );
            }
        }
        assert_eq!(all, initial(&config, SEED));
        assert_ne!(all, initial(&config, SEED + 1));
    }
}
