//! `generation_config.json`, or the same keys in the `config.json` of old models.

use burnformer_core::TransformerConfig;
use burnformer_infer::{AtLimit, BeamRule, EarlyStopping, LengthPenalty, SearchSettings};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::error::Result;

/// Keys that change translations and have no counterpart here, each with its neutral number.
const LEFT_OUT: [(&str, f64); 15] = [
    ("constraints", 0.0),
    ("diversity_penalty", 0.0),
    ("dola_layers", 0.0),
    ("encoder_repetition_penalty", 1.0),
    ("exponential_decay_length_penalty", 0.0),
    ("force_bos_token_to_be_generated", 0.0),
    ("force_words_ids", 0.0),
    ("guidance_scale", 1.0),
    ("max_time", 0.0),
    ("num_beam_groups", 1.0),
    ("penalty_alpha", 0.0),
    ("renormalize_logits", 0.0),
    ("sequence_bias", 0.0),
    ("stop_strings", 0.0),
    ("watermarking_config", 0.0),
];
/// The longest value in a note, in characters.
const MAX_SHOWN: usize = 60;

/// The keys that are read. Missing keys have the defaults of transformers' `GenerationConfig`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct GenerationConfig {
    num_beams: Option<usize>,
    max_length: Option<usize>,
    max_new_tokens: Option<usize>,
    min_length: Option<usize>,
    min_new_tokens: Option<usize>,
    length_penalty: Option<f64>,
    repetition_penalty: Option<f64>,
    no_repeat_ngram_size: Option<usize>,
    encoder_no_repeat_ngram_size: Option<usize>,
    bad_words_ids: Option<Vec<Vec<u32>>>,
    early_stopping: Value,
    do_sample: Value,
    suppress_tokens: Value,
    begin_suppress_tokens: Value,
    bos_token_id: Value,
    eos_token_id: Value,
    decoder_start_token_id: Value,
    forced_bos_token_id: Value,
    forced_eos_token_id: Value,
    #[serde(flatten)]
    others: Map<String, Value>,
}

impl GenerationConfig {
    /// The start token of the decoder, if the file has one.
    pub fn decoder_start(&self) -> Option<u32> {
        let start = ids(&self.decoder_start_token_id).first().copied();
        start.or_else(|| ids(&self.bos_token_id).first().copied())
    }

    /// Returns the search settings, and notes on settings without a counterpart.
    ///
    /// # Errors
    /// Returns [`InteropError::Settings`](crate::InteropError::Settings) if a value is out of range
    /// for [`SearchSettings`].
    pub fn settings(&self, config: &TransformerConfig) -> Result<(SearchSettings, Vec<String>)> {
        let mut notes = self.left_out();
        let limit = self.limit(config, &mut notes);
        let penalty = self.length_penalty.unwrap_or(1.0);
        if penalty < 0.0 {
            notes.push(format!("length_penalty {penalty} is negative; 0 was taken"));
        }
        let repetition = self.repetition_penalty.unwrap_or(1.0);
        if repetition < 1.0 {
            notes.push(format!(
                "repetition_penalty {repetition} is below 1; 1 was taken"
            ));
        }
        // Lengths in transformers count the start token.
        let min_length = self.min_length.unwrap_or(0).saturating_sub(1);
        let settings = SearchSettings {
            beam_size: self.num_beams.unwrap_or(1),
            length_penalty: LengthPenalty::Power(penalty.max(0.0)),
            min_length: self.min_new_tokens.unwrap_or(min_length).min(limit),
            max_length: Some(limit),
            max_length_factor: 0.0,
            max_length_extra: limit,
            no_repeat_ngram: self.no_repeat_ngram_size.unwrap_or(0),
            no_repeat_source_ngram: self.encoder_no_repeat_ngram_size.unwrap_or(0),
            repetition_penalty: repetition.max(1.0),
            suppress: self.suppress(config),
            suppress_sequences: self.suppress_sequences(),
            begin_suppress: generated(ids(&self.begin_suppress_tokens), config),
            forced_bos: self.forced_bos(&mut notes),
            end_tokens: self.end_tokens(config.eos, &mut notes),
            beam_rule: BeamRule::Transformers,
            early_stopping: self.early_stopping(&mut notes),
            at_limit: self.at_limit(config.eos, &mut notes),
            ..SearchSettings::default()
        };
        settings.validate()?;
        Ok((settings, notes))
    }

    /// Notes on the keys without a counterpart.
    fn left_out(&self) -> Vec<String> {
        let others = LEFT_OUT
            .iter()
            .filter_map(|&(key, neutral)| Some((key, neutral, self.others.get(key)?)));
        let changing = others.filter(|&(_, neutral, value)| !is_neutral(value, neutral));
        let mut notes: Vec<String> = changing
            .map(|(key, _, value)| {
                format!("{key} {} was left out: it has no counterpart", shown(value))
            })
            .collect();
        if !is_neutral(&self.do_sample, 0.0) {
            notes.push("do_sample was left out; `translate --sample` draws samples".into());
        }
        notes
    }

    fn limit(&self, config: &TransformerConfig, notes: &mut Vec<String>) -> usize {
        let limit = self
            .max_new_tokens
            .or(self.max_length.map(|length| length.saturating_sub(1)));
        let limit = limit.unwrap_or_else(|| {
            let most = config.max_positions.saturating_sub(1);
            notes.push(format!(
                "max_length is missing: transformers stops after 20 tokens, and this search after {most}"
            ));
            most
        });
        limit.max(1)
    }

    /// The tokens that are never generated.
    fn suppress(&self, config: &TransformerConfig) -> Vec<u32> {
        let ends = ids(&self.eos_token_id);
        // transformers does not forbid the end by bad_words_ids.
        let bad = self.bad_words(|ids| ids.len() == 1);
        let bad = bad
            .flatten()
            .copied()
            .filter(|id| *id != config.eos && !ends.contains(id));
        let all = bad.chain(ids(&self.suppress_tokens)).collect();
        generated(all, config)
    }

    /// The sequences of several tokens that are never generated.
    fn suppress_sequences(&self) -> Vec<Vec<u32>> {
        self.bad_words(|ids| ids.len() > 1).cloned().collect()
    }

    /// The entries of `bad_words_ids` with a length that `has_length` accepts.
    fn bad_words(&self, has_length: fn(&[u32]) -> bool) -> impl Iterator<Item = &Vec<u32>> {
        let bad = self.bad_words_ids.iter().flatten();
        bad.filter(move |ids| has_length(ids))
    }

    fn forced_bos(&self, notes: &mut Vec<String>) -> Option<u32> {
        let ids = ids(&self.forced_bos_token_id);
        if ids.len() > 1 {
            let value = shown(&self.forced_bos_token_id);
            notes.push(format!(
                "forced_bos_token_id {value} has several ids; the first was taken"
            ));
        }
        ids.first().copied()
    }

    /// The tokens that end a translation, besides `eos`.
    fn end_tokens(&self, eos: u32, notes: &mut Vec<String>) -> Vec<u32> {
        let ids = ids(&self.eos_token_id);
        if !ids.is_empty() && !ids.contains(&eos) {
            let value = shown(&self.eos_token_id);
            notes.push(format!(
                "eos_token_id {value} lacks the eos_token_id {eos} of config.json, which ends \
                 translations here, too"
            ));
        }
        ids.into_iter().filter(|&id| id != eos).collect()
    }

    fn early_stopping(&self, notes: &mut Vec<String>) -> EarlyStopping {
        match &self.early_stopping {
            Value::Null | Value::Bool(false) => EarlyStopping::Current,
            Value::Bool(true) => EarlyStopping::Full,
            Value::String(never) if never == "never" => EarlyStopping::Never,
            other => {
                let value = shown(other);
                notes.push(format!(
                    "early_stopping {value} is unknown; false was taken"
                ));
                EarlyStopping::Current
            }
        }
    }

    fn at_limit(&self, eos: u32, notes: &mut Vec<String>) -> AtLimit {
        let forced = ids(&self.forced_eos_token_id);
        if forced.is_empty() {
            return AtLimit::Cut;
        }
        if forced == [eos] {
            return AtLimit::Close;
        }
        let value = shown(&self.forced_eos_token_id);
        notes.push(format!(
            "forced_eos_token_id {value} was left out: it is not the eos_token_id {eos}"
        ));
        AtLimit::Cut
    }
}

/// The token ids in `value`: one, a list, or none.
fn ids(value: &Value) -> Vec<u32> {
    let values = value
        .as_array()
        .map_or(std::slice::from_ref(value), |all| all);
    values
        .iter()
        .filter_map(|id| u32::try_from(id.as_u64()?).ok())
        .collect()
}

/// `ids` in order, without the padding and start tokens, which are never generated.
fn generated(mut ids: Vec<u32>, config: &TransformerConfig) -> Vec<u32> {
    ids.retain(|&id| id != config.pad && (id != config.bos || id == config.eos));
    ids.sort_unstable();
    ids.dedup();
    ids
}

/// Returns whether a key with `value` changes nothing, with `neutral` as its neutral number.
fn is_neutral(value: &Value, neutral: f64) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::Number(number) => number.as_f64() == Some(neutral),
        Value::Array(list) => list.is_empty(),
        Value::Object(entries) => entries.is_empty(),
        Value::Bool(true) | Value::String(_) => false,
    }
}

/// `value` as in the file, cut if it is long.
fn shown(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(MAX_SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}
