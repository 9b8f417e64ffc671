//! Writes a folder of a `MarianMTModel` or an `M2M100ForConditionalGeneration` for transformers.

use std::path::Path;

use burnformer_core::{
    DecoderStart, EmbeddingScale, EmbeddingSharing, NormPosition, OutputBias, Positions, Sinusoids,
    SourceEnd, TransformerConfig,
};
use burnformer_infer::{AtLimit, EarlyStopping, LengthPenalty, SearchSettings};
use serde_json::{Map, Value, json};

use super::config::{ACTIVATIONS, CONFIG, Family, GENERATION, SAFETENSORS};
use super::write_texts::texts;
use crate::error::Result;
use crate::files::{parse_json, write_file};
use crate::pretrained::{Pretrained, activation_in, check_layers, fresh_folder, refuse};
use crate::tensors::{Tensor, Tensors, write_safetensors};
use crate::vocabulary::write_carried;
use crate::{embeddings, layers};

/// The number of written positions of a `MarianMTModel`, the longest sentence in transformers.
const POSITIONS: usize = 1024;
const EPSILON: f64 = 1e-5;

impl Family {
    /// The class of a model of `config`. An M2M100 comes only from an imported one: its positions
    /// differ from the paper's.
    fn of(config: &TransformerConfig) -> Self {
        let is_m2m100 = config.norm == NormPosition::Pre
            && config.conventions.sinusoids == Sinusoids::HalvesToEnd;
        if is_m2m100 {
            Self::M2m100
        } else {
            Self::Marian
        }
    }

    /// The name of the class in error messages.
    fn name(self) -> &'static str {
        match self {
            Self::Marian => "MarianMTModel",
            Self::M2m100 => "M2M100ForConditionalGeneration",
        }
    }

    /// The first position, in the rows of a table of positions.
    fn position_offset(self, config: &TransformerConfig) -> usize {
        match self {
            Self::Marian => 0,
            // Earlier rows are for padding.
            Self::M2m100 => config.pad as usize + 1,
        }
    }
}

/// The longest sentence in transformers, in tokens.
fn positions(config: &TransformerConfig) -> usize {
    match Family::of(config) {
        Family::Marian => POSITIONS,
        Family::M2m100 => config.max_positions,
    }
}

/// Writes `model` into the new folder `dir`.
///
/// # Errors
/// Returns [`InteropError::CannotExport`](crate::InteropError::CannotExport) for features without a
/// counterpart in the class, or [`InteropError::Io`](crate::InteropError::Io).
pub(crate) fn write(model: &Pretrained, dir: &Path) -> Result<()> {
    check(&model.config)?;
    let tensors = weights(model)?;
    let pretty =
        |json: &Value| serde_json::to_vec_pretty(json).expect("a configuration is plain data");
    let texts = texts(model, Family::of(&model.config), positions(&model.config))?;
    let config = config(&model.config)?;
    fresh_folder(dir)?;
    write_file(&dir.join(SAFETENSORS), &write_safetensors(&tensors))?;
    write_file(&dir.join(CONFIG), &pretty(&config))?;
    write_file(
        &dir.join(GENERATION),
        &pretty(&generation(&model.config, &model.generation.search)),
    )?;
    texts
        .iter()
        .try_for_each(|(name, bytes)| write_file(&dir.join(name), bytes))?;
    write_carried(model, dir)
}

/// The `tokenizer.json` of `path` without the step that adds `</s>`, as this program adds it to
/// ids.
pub(super) fn without_closing(path: &Path, bytes: &[u8]) -> Result<Vec<u8>> {
    let mut tokenizer: Map<String, Value> = parse_json(path, bytes)?;
    if tokenizer.get("post_processor").is_none_or(Value::is_null) {
        return Ok(bytes.to_vec());
    }
    tokenizer.insert("post_processor".into(), Value::Null);
    Ok(serde_json::to_vec_pretty(&tokenizer).expect("a tokeniser is plain data"))
}

/// Returns an error if no class can express a model of `config`.
pub(crate) fn check(config: &TransformerConfig) -> Result<()> {
    let family = Family::of(config);
    check_layers(config, family.name())?;
    let query_norm = "export to CTranslate2, or train with qk_norm = false";
    let hidden = config.conventions.source_end == SourceEnd::Hidden;
    let norm = "export to ctranslate2, or train with norm = \"post\"";
    let epsilon = "Marian's models have 1e-6: take CTranslate2";
    let learned = "train with positions = \"sinusoidal\"";
    let features = [
        (config.qk_norm, "normalised queries and keys", query_norm),
        (
            hidden,
            "an encoder that does not see </s>",
            "export to CTranslate2",
        ),
        (
            family == Family::Marian && config.norm == NormPosition::Pre,
            "norms before sub-layers",
            norm,
        ),
        (
            config.layer_norm_eps != EPSILON,
            "layer_norm_eps other than 1e-5",
            epsilon,
        ),
        (
            config.positions == Positions::Learned,
            "learned positions",
            learned,
        ),
        (
            config.conventions.position_offset != family.position_offset(config),
            "positions with another beginning",
            "export to CTranslate2",
        ),
        (
            family == Family::M2m100 && config.conventions.output_bias != OutputBias::None,
            "an output bias",
            "export to CTranslate2",
        ),
    ];
    refuse(family.name(), &features)
}

/// The weights with their names in transformers. Positions of MarianMTModel are included, because
/// the paper's layout differs from its own.
fn weights(model: &Pretrained) -> Result<Tensors> {
    let config = &model.config;
    let mut tensors = Tensors::new();
    for part in layers::parts(config) {
        for (kind, _) in part.parameters() {
            let weight = model
                .weight(&format!("{}.{kind}", part.full_name()))?
                .clone();
            tensors.insert(format!("{}.{kind}", part.hugging_face()), weight);
        }
    }
    let [encoder, decoder] =
        ["encoder", "decoder"].map(|side| format!("model.{side}.embed_tokens"));
    let others = match config.sharing {
        EmbeddingSharing::All => [(); 3].map(|()| "model.shared".to_string()),
        EmbeddingSharing::Target => [encoder, decoder.clone(), decoder],
        EmbeddingSharing::None => [encoder, decoder, "lm_head".into()],
    };
    let start = others[1].clone();
    for (ours, theirs) in embeddings::names(config.sharing).into_iter().zip(others) {
        let mut tensor = model.weight(ours)?.clone();
        if config.conventions.decoder_start == DecoderStart::Zero && theirs == start {
            // In transformers the decoder starts from the row of the start token.
            let row = config.bos as usize * config.d_model;
            tensor.values[row..row + config.d_model].fill(0.0);
        }
        tensors.insert(format!("{theirs}.weight"), tensor);
    }
    if Family::of(config) == Family::M2m100 {
        return Ok(tensors);
    }
    let bias = match config.conventions.output_bias {
        OutputBias::None => vec![0.0; config.target_vocab],
        OutputBias::PerPiece => model.weight("output_bias")?.values.clone(),
    };
    tensors.insert(
        "final_logits_bias".into(),
        Tensor::new([1, config.target_vocab], bias),
    );
    let table = config
        .conventions
        .sinusoids
        .values(0..POSITIONS, config.d_model);
    let table = Tensor::new([POSITIONS, config.d_model], table);
    for side in ["encoder", "decoder"] {
        tensors.insert(
            format!("model.{side}.embed_positions.weight"),
            table.clone(),
        );
    }
    Ok(tensors)
}

fn config(config: &TransformerConfig) -> Result<Value> {
    let family = Family::of(config);
    let mut json = json!({
        "model_type": "marian", "architectures": [family.name()],
        "activation_function": activation_in(family.name(), &ACTIVATIONS, config)?,
        "vocab_size": config.source_vocab, "decoder_vocab_size": config.target_vocab,
        "d_model": config.d_model, "encoder_layers": config.encoder_layers,
        "decoder_layers": config.decoder_layers, "encoder_attention_heads": config.heads,
        "decoder_attention_heads": config.of_decoder().heads, "encoder_ffn_dim": config.d_ff,
        "decoder_ffn_dim": config.of_decoder().d_ff, "dropout": config.dropout,
        "attention_dropout": config.attention_dropout,
        "activation_dropout": config.activation_dropout,
        "scale_embedding": config.conventions.embedding_scale == EmbeddingScale::SqrtWidth,
        "static_position_embeddings": true, "max_position_embeddings": positions(config),
        "pad_token_id": config.pad, "eos_token_id": config.eos,
        "decoder_start_token_id": config.bos,
        "share_encoder_decoder_embeddings": config.sharing == EmbeddingSharing::All,
        "tie_word_embeddings": config.sharing != EmbeddingSharing::None, "is_encoder_decoder": true,
        "dtype": "float32",
    });
    // Transformers forces this token at the length limit by default.
    json["forced_eos_token_id"] = Value::Null;
    if family == Family::M2m100 {
        let marian_keys = [
            "decoder_vocab_size",
            "static_position_embeddings",
            "share_encoder_decoder_embeddings",
        ];
        let json = json.as_object_mut().expect("an object");
        json.retain(|key, _| !marian_keys.contains(&key.as_str()));
        json.insert("model_type".into(), "m2m_100".into());
        // Layers left out in training.
        json.insert("encoder_layerdrop".into(), 0.0.into());
        json.insert("decoder_layerdrop".into(), 0.0.into());
    }
    Ok(json)
}

fn generation(config: &TransformerConfig, search: &SearchSettings) -> Value {
    let length_penalty = match search.length_penalty {
        LengthPenalty::None => 0.0,
        LengthPenalty::Average => 1.0,
        // transformers has no GNMT penalty; the same exponent is the nearest.
        LengthPenalty::Gnmt(alpha) | LengthPenalty::Power(alpha) => alpha,
    };
    let limit = search
        .max_length
        .map_or(positions(config), |limit| limit.saturating_add(1));
    let mut never = vec![config.pad, config.bos];
    never.sort_unstable();
    never.dedup();
    let never: Vec<Vec<u32>> = never
        .into_iter()
        .map(|id| vec![id])
        .chain(search.suppress_sequences.iter().cloned())
        .collect();
    let mut json = json!({
        "num_beams": search.beam_size, "length_penalty": length_penalty,
        "max_length": limit.min(positions(config)), "bad_words_ids": never, "pad_token_id": config.pad,
        "eos_token_id": config.eos, "decoder_start_token_id": config.bos,
    });
    if !search.end_tokens.is_empty() {
        json["eos_token_id"] = json!([&[config.eos], &search.end_tokens[..]].concat());
    }
    let numbers = [
        ("no_repeat_ngram_size", search.no_repeat_ngram),
        (
            "encoder_no_repeat_ngram_size",
            search.no_repeat_source_ngram,
        ),
        ("min_new_tokens", search.min_length),
    ];
    for (key, number) in numbers.into_iter().filter(|(_, number)| *number > 0) {
        json[key] = number.into();
    }
    let lists = [
        ("suppress_tokens", &search.suppress),
        ("begin_suppress_tokens", &search.begin_suppress),
    ];
    for (key, ids) in lists.into_iter().filter(|(_, ids)| !ids.is_empty()) {
        json[key] = json!(ids);
    }
    if search.repetition_penalty > 1.0 {
        json["repetition_penalty"] = search.repetition_penalty.into();
    }
    if let Some(first) = search.forced_bos {
        json["forced_bos_token_id"] = first.into();
    }
    match search.early_stopping {
        EarlyStopping::Current => (),
        EarlyStopping::Full => json["early_stopping"] = true.into(),
        EarlyStopping::Never => json["early_stopping"] = "never".into(),
    }
    if search.at_limit == AtLimit::Close {
        json["forced_eos_token_id"] = config.eos.into();
    }
    json
}
