//! What a configuration must satisfy before anything is read or computed.

use burnformer_core::{EmbeddingSharing, Positions, TransformerConfig};
use burnformer_data::SpecialIds;

use super::data::{MIX, corpus_paths};
use super::error::ConfigFileError;
use super::train_config::TrainConfig;
use crate::optimizer::settings::OptimizerSettings;

/// The largest number of padded tokens per side of a batch that a configuration may have.
const LARGEST_BUDGET: usize = 1 << 24;
/// The largest multiple to which lengths are padded.
const MOST_PADDING: usize = 512;
/// The largest number of batches prepared ahead.
const FURTHEST_AHEAD: usize = 4096;
/// The largest number of hypotheses of a beam search.
const WIDEST_BEAM: usize = 1000;

type Checked = Result<(), ConfigFileError>;

/// An error unless `good`.
fn check(good: bool, key: &'static str, value: impl ToString, remedy: impl ToString) -> Checked {
    let error = || {
        let (value, remedy) = (value.to_string(), remedy.to_string());
        ConfigFileError::Value { key, value, remedy }
    };
    good.then_some(()).ok_or_else(error)
}

fn not_negative(value: f64) -> bool {
    value.is_finite() && value >= 0.0
}

impl TrainConfig {
    /// Checks every value's range, and those that must fit each other.
    ///
    /// # Errors
    /// A [`ConfigFileError`] that names the key and what would be right.
    pub fn validate(&self) -> Checked {
        self.validate_data()?;
        self.validate_tokenizer()?;
        self.validate_model()?;
        self.validate_training()?;
        self.validate_optimizer()?;
        self.validate_validation()
    }

    fn validate_data(&self) -> Checked {
        let data = &self.data;
        for text in &data.mix {
            let good = text.weight.is_finite() && text.weight > 0.0;
            check(good, "data.mix.weight", text.weight, "above 0, such as 2")?;
        }
        for (key, paths) in data.texts() {
            if !paths.is_empty() || key == MIX {
                corpus_paths(key, paths)?;
            }
        }
        let one = "at least 1, such as 256";
        check(data.max_source_len > 0, "data.max_source_len", data.max_source_len, one)?;
        check(data.max_target_len > 0, "data.max_target_len", data.max_target_len, one)?;
        let ratio = data.max_length_ratio;
        let good = ratio == 0.0 || (ratio.is_finite() && ratio >= 1.0);
        check(good, "data.max_length_ratio", ratio, "at least 1, or 0 to keep all pairs")?;
        let good = (0.0..=1.0).contains(&data.bpe_dropout);
        let remedy = "from 0 to 1, such as 0.1, or 0 for none";
        check(good, "data.bpe_dropout", data.bpe_dropout, remedy)
    }

    fn validate_tokenizer(&self) -> Checked {
        let files = self.tokenizer.files.len();
        if files > 2 {
            return Err(ConfigFileError::Paths { key: "tokenizer.files", found: files });
        }
        let two = if files == 0 { !self.tokenizer.train.joint } else { files == 2 };
        let from = !self.training.from.as_os_str().is_empty();
        let remedy = "an empty list, since the tokenisers come from training.from (--from)";
        check(
            !from || files == 0,
            "tokenizer.files",
            format!("{:?}", self.tokenizer.files),
            remedy,
        )?;
        let good = from || !two || self.model.transformer.sharing != EmbeddingSharing::All;
        let remedy = "\"target\" or \"none\" with a vocabulary for each side";
        check(good, "model.sharing", "\"all\"", remedy)?;
        match files {
            0 => self.tokenizer.train.validate(),
            _ => Ok(()),
        }
        .map_err(|source| ConfigFileError::Tokenizer { source })
    }

    fn validate_model(&self) -> Checked {
        let model = &self.model;
        if let Some((key, value)) = model.without_effect() {
            let architecture = model.architecture.name();
            return Err(ConfigFileError::NoEffect { key, value, architecture });
        }
        let transformer = &model.transformer;
        let &TransformerConfig { heads, d_model, d_k, d_v, .. } = transformer;
        let divides = d_k > 0 && d_v > 0 || heads == 0 || d_model.is_multiple_of(heads);
        let remedy =
            format!("a divisor of model.d_model = {d_model}, or set model.d_k and model.d_v");
        check(divides, "model.heads", heads, remedy)?;
        // The tokeniser decides the vocabulary later; its size is asked for here.
        let vocab = self.tokenizer.train.vocab_size;
        let shape = model.over([vocab; 2], SpecialIds::OURS)?;
        shape.validate().map_err(|source| ConfigFileError::Model { source })?;
        let longest = self.data.max_source_len.max(self.data.max_target_len).saturating_add(1);
        let &TransformerConfig { positions, max_positions, .. } = transformer;
        let good = positions == Positions::Sinusoidal || longest <= max_positions;
        let remedy = format!(
            "at least {longest}, for the longest sentence that data.max_source_len and \
             data.max_target_len keep and its </s>"
        );
        check(good, "model.max_positions", max_positions, remedy)
    }

    fn validate_training(&self) -> Checked {
        let t = &self.training;
        let remedy = format!("from the longest sentence, such as 4096, to {LARGEST_BUDGET}");
        let good = (1..=LARGEST_BUDGET).contains(&t.budget);
        check(good, "training.budget", t.budget, remedy)?;
        let good = (1..=MOST_PADDING).contains(&t.multiple);
        let remedy = format!("from 1, which pads no further, to {MOST_PADDING}");
        check(good, "training.multiple", t.multiple, remedy)?;
        check(t.accumulate > 0, "training.accumulate", t.accumulate, "at least 1")?;
        let good = (0.0..1.0).contains(&t.label_smoothing);
        check(good, "training.label_smoothing", t.label_smoothing, "at least 0 and below 1")?;
        check(not_negative(t.r_drop), "training.r_drop", t.r_drop, "0 or more, such as 5")?;
        check(not_negative(t.max_minutes), "training.max_minutes", t.max_minutes, "0 or more")?;
        let memory = t.max_memory;
        check(not_negative(memory), "training.max_memory", memory, "0 or more, in GB")?;
        let rate = self.recovery.rate;
        check(rate > 0.0 && rate <= 1.0, "recovery.rate", rate, "above 0 and at most 1")?;
        check(t.log_every > 0, "training.log_every", t.log_every, "at least 1")?;
        let remedy = format!("at most {FURTHEST_AHEAD}");
        check(t.prefetch <= FURTHEST_AHEAD, "training.prefetch", t.prefetch, remedy)
    }

    fn validate_optimizer(&self) -> Checked {
        let (schedule, optimizer) = (&self.schedule, &self.optimizer);
        check(schedule.warmup > 0, "schedule.warmup", schedule.warmup, "at least 1")?;
        let good = schedule.factor.is_finite() && schedule.factor > 0.0;
        check(good, "schedule.factor", schedule.factor, "above 0")?;
        let remedy = "above 0, such as 1e-4, or 0 for the paper's";
        check(not_negative(schedule.peak), "schedule.peak", schedule.peak, remedy)?;
        let good = (0.0..=1.0).contains(&schedule.cooldown);
        check(good, "schedule.cooldown", schedule.cooldown, "a share of the run, from 0 to 1")?;
        let OptimizerSettings { beta1, beta2, epsilon, muon_factor, .. } = *optimizer;
        for (key, rate) in [("optimizer.beta1", beta1), ("optimizer.beta2", beta2)] {
            check((0.0..1.0).contains(&rate), key, rate, "at least 0 and below 1")?;
        }
        let positive = |x: f64| x.is_finite() && x > 0.0;
        check(positive(epsilon), "optimizer.epsilon", epsilon, "above 0, such as 1e-9")?;
        check(positive(muon_factor), "optimizer.muon_factor", muon_factor, "above 0, such as 1")?;
        let remedy = "above 0, such as 1, or 0 for no clipping";
        check(not_negative(optimizer.clip_norm), "optimizer.clip_norm", optimizer.clip_norm, remedy)
    }

    fn validate_validation(&self) -> Checked {
        let v = &self.validation;
        for (key, beam) in [("validation.beam", v.beam), ("validation.test_beam", v.test_beam)] {
            let remedy = format!("between 1 (greedy) and {WIDEST_BEAM}");
            check((1..=WIDEST_BEAM).contains(&beam), key, beam, remedy)?;
        }
        for (key, alpha) in [("validation.alpha", v.alpha), ("validation.test_alpha", v.test_alpha)]
        {
            check(not_negative(alpha), key, alpha, "0 or more")?;
        }
        for &alpha in &v.test_alphas {
            check(not_negative(alpha), "validation.test_alphas", alpha, "each 0 or more")?;
        }
        Ok(())
    }
}
