//! Writes a folder of a `MarianMTModel` for transformers.

use std::path::Path;

use burnformer_core::{
    DecoderStart, EmbeddingScale, EmbeddingSharing, NormPosition, OutputBias, Positions, SourceEnd,
    TransformerConfig,
};
use burnformer_infer::{AtLimit, EarlyStopping, LengthPenalty, SearchSettings};
use serde_json::{Map, Value, json};

use super::config::{ACTIVATIONS, CONFIG, GENERATION, SAFETENSORS, TEXTS};
use crate::error::Result;
use crate::files::{parse_json, write_file};
use crate::pretrained::{Files, Pretrained, activation_in, check_layers, fresh_folder, refuse};
use crate::tensors::{Tensor, Tensors, write_safetensors};
use crate::vocabulary::{self, TOKENIZER, write_carried};
use crate::{embeddings, layers};

/// The number of written positions, the longest sentence in transformers.
const POSITIONS: usize = 1024;
const EPSILON: f64 = 1e-5;
/// The name of this format in error messages.
const FORMAT: &str = "MarianMTModel";

/// Writes `model` into the new folder `dir`.
///
/// # Errors
/// Returns [`InteropError::CannotExport`](crate::InteropError::CannotExport) for features without a
/// counterpart in MarianMTModel, or [`InteropError::Io`](crate::InteropError::Io).
pub(crate) fn write(model: &Pretrained, dir: &Path) -> Result<()> {
    check(&model.config)?;
    let tensors = weights(model)?;
    let pretty =
        |json: &Value| serde_json::to_vec_pretty(json).expect("a configuration is plain data");
    let texts = texts(model)?;
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

/// The `tokenizer.json` of `path` without the step that adds `</s>`, as this program adds it to ids.
pub(super) fn without_closing(path: &Path, bytes: &[u8]) -> Result<Vec<u8>> {
    let mut tokenizer: Map<String, Value> = parse_json(path, bytes)?;
    if tokenizer.get("post_processor").is_none_or(Value::is_null) {
        return Ok(bytes.to_vec());
    }
    tokenizer.insert("post_processor".into(), Value::Null);
    Ok(serde_json::to_vec_pretty(&tokenizer).expect("a tokeniser is plain data"))
}

/// Returns an error if MarianMTModel cannot express a model of `config`.
pub(crate) fn check(config: &TransformerConfig) -> Result<()> {
    check_layers(config, FORMAT)?;
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
            config.norm == NormPosition::Pre,
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
            config.conventions.position_offset != 0,
            "positions that do not begin at 0",
            "export to CTranslate2",
        ),
    ];
    refuse(FORMAT, &features)
}

/// The weights with their names in MarianMTModel. Positions are included, because the paper's layout
/// differs from MarianMTModel's.
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
    let mut json = json!({
        "model_type": "marian", "architectures": ["MarianMTModel"],
        "activation_function": activation_in(FORMAT, &ACTIVATIONS, config)?,
        "vocab_size": config.source_vocab, "decoder_vocab_size": config.target_vocab,
        "d_model": config.d_model, "encoder_layers": config.encoder_layers,
        "decoder_layers": config.decoder_layers, "encoder_attention_heads": config.heads,
        "decoder_attention_heads": config.of_decoder().heads, "encoder_ffn_dim": config.d_ff,
        "decoder_ffn_dim": config.of_decoder().d_ff, "dropout": config.dropout,
        "attention_dropout": config.attention_dropout,
        "activation_dropout": config.activation_dropout,
        "scale_embedding": config.conventions.embedding_scale == EmbeddingScale::SqrtWidth,
        "static_position_embeddings": true, "max_position_embeddings": POSITIONS,
        "pad_token_id": config.pad, "eos_token_id": config.eos,
        "decoder_start_token_id": config.bos,
        "share_encoder_decoder_embeddings": config.sharing == EmbeddingSharing::All,
        "tie_word_embeddings": config.sharing != EmbeddingSharing::None, "is_encoder_decoder": true,
        "dtype": "float32",
    });
    // Transformers forces this token at the length limit by default.
    json["forced_eos_token_id"] = Value::Null;
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
        .map_or(POSITIONS, |limit| limit.saturating_add(1));
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
        "max_length": limit.min(POSITIONS), "bad_words_ids": never, "pad_token_id": config.pad,
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

/// The tokeniser files: Marian's files unchanged, or ours for `PreTrainedTokenizerFast`.
fn texts(model: &Pretrained) -> Result<Files> {
    let texts = model
        .texts
        .iter()
        .filter(|(name, _)| TEXTS.contains(&&name[..]));
    let mut texts: Files = texts
        .map(|(name, bytes)| (name.clone(), bytes.clone()))
        .collect();
    let Some(bytes) = model.texts.get(TOKENIZER) else {
        return Ok(texts);
    };
    let [tokens, _] = vocabulary::tokens(model)?;
    let mut tokenizer: Map<String, Value> = parse_json(Path::new(TOKENIZER), bytes)?;
    let eos = &tokens[model.config.eos as usize];
    let pad = &tokens[model.config.pad as usize];
    let first = json!({ "Sequence": { "id": "A", "type_id": 0 } });
    let second = json!({ "Sequence": { "id": "B", "type_id": 0 } });
    let end = json!({ "SpecialToken": { "id": eos, "type_id": 0 } });
    let single = json!([first, end]);
    let pair = json!([first, second, end]);
    let special = json!({ eos: { "id": eos, "ids": [model.config.eos], "tokens": [eos] } });
    let closing = json!({
        "type": "TemplateProcessing", "single": single, "pair": pair, "special_tokens": special,
    });
    tokenizer.insert("post_processor".into(), closing);
    let settings = json!({
        "tokenizer_class": "PreTrainedTokenizerFast", "eos_token": eos,
        "pad_token": pad, "model_max_length": POSITIONS,
        "clean_up_tokenization_spaces": false,
    });
    for (name, json) in [
        (TOKENIZER, Value::Object(tokenizer)),
        ("tokenizer_config.json", settings),
    ] {
        let bytes = serde_json::to_vec_pretty(&json).expect("a tokeniser is plain data");
        texts.insert(name.into(), bytes);
    }
    Ok(texts)
}
