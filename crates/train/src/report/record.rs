//! The records of a run (training numbers, validations and divergence), and their log lines.

use serde::{Deserialize, Deserializer, Serialize};

/// One line of a metrics file: `{"kind":"train","epoch":1,…}` or `{"kind":"valid","step":100,…}`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Record {
    /// Training numbers.
    Train(TrainRecord),
    /// A validation.
    Valid(ValidRecord),
    /// A divergence.
    Divergence(DivergenceRecord),
}

impl Record {
    /// The kind and the number by which records of this kind differ.
    pub(super) fn place(&self) -> (&'static str, u64) {
        match self {
            Self::Train(point) => ("train", point.step),
            Self::Valid(point) if point.averaged => ("average", point.step),
            Self::Valid(point) => ("valid", point.step),
            Self::Divergence(point) => ("divergence", point.number),
        }
    }
}

/// The training numbers of several consecutive updates up to `step`.
///
/// JSON has no infinity and no NaN: such a value (a diverged loss) is written as `null` and read
/// back as NaN.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TrainRecord {
    /// The epoch (pass over the corpus), from 1.
    pub epoch: u64,
    /// The number of updates done.
    pub step: u64,
    /// The label-smoothed loss in nats per target token.
    #[serde(deserialize_with = "nan_if_null")]
    pub loss: f64,
    /// The negative log-likelihood without smoothing, in nats per target token.
    #[serde(deserialize_with = "nan_if_null")]
    pub nll: f64,
    /// The perplexity, `exp(nll)`.
    #[serde(deserialize_with = "nan_if_null")]
    pub ppl: f64,
    /// The learning rate of the last update.
    #[serde(deserialize_with = "nan_if_null")]
    pub lr: f64,
    /// The global norm of the gradient before clipping.
    #[serde(deserialize_with = "nan_if_null")]
    pub gnorm: f64,
    /// The number of real target tokens (without padding) per second.
    #[serde(deserialize_with = "nan_if_null")]
    pub tokens_per_second: f64,
    /// The share of padding in the computed tokens, 0 to 1.
    #[serde(deserialize_with = "nan_if_null")]
    pub padding: f64,
    /// The share of the time spent waiting for data, 0 to 1.
    #[serde(deserialize_with = "nan_if_null")]
    pub data_wait: f64,
    /// The seconds of training since the first start, including those before a resume.
    #[serde(deserialize_with = "nan_if_null")]
    pub seconds: f64,
    /// The number of target tokens seen so far.
    pub tokens: u64,
    /// The number of sentence pairs seen so far.
    pub pairs: u64,
}

/// The result of one validation. NaN and infinity are written as in [`TrainRecord`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ValidRecord {
    /// The number of updates done.
    pub step: u64,
    /// The seconds of training since the first start, including those before a resume.
    #[serde(deserialize_with = "nan_if_null")]
    pub seconds: f64,
    /// The label-smoothed loss in nats per target token.
    #[serde(deserialize_with = "nan_if_null")]
    pub loss: f64,
    /// The negative log-likelihood without smoothing, in nats per target token.
    #[serde(deserialize_with = "nan_if_null")]
    pub nll: f64,
    /// The perplexity, `exp(nll)`.
    #[serde(deserialize_with = "nan_if_null")]
    pub ppl: f64,
    /// The corpus BLEU of the decoded validation text, 0 to 100; `None` if nothing was decoded.
    pub bleu: Option<f64>,
    /// The corpus chrF of the decoded validation text, 0 to 100; `None` if nothing was decoded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chrf: Option<f64>,
    /// The sacreBLEU signature of `bleu`.
    pub signature: Option<String>,
    /// If true, this is the best validation so far.
    pub best: bool,
    /// If true, the validated model is the average of the last checkpoints.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub averaged: bool,
    /// The results by direction in a run with several pairs of languages, of which the others are
    /// the means.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pairs: Vec<PairRecord>,
}

/// The result of a validation in one direction between two languages, as in [`ValidRecord`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PairRecord {
    /// The direction, such as `de-en`.
    pub pair: String,
    /// The negative log-likelihood without smoothing, in nats per target token.
    #[serde(deserialize_with = "nan_if_null")]
    pub nll: f64,
    /// The perplexity, `exp(nll)`.
    #[serde(deserialize_with = "nan_if_null")]
    pub ppl: f64,
    /// The corpus BLEU of the decoded validation text, 0 to 100; `None` if nothing was decoded.
    pub bleu: Option<f64>,
    /// The corpus chrF of the decoded validation text, 0 to 100; `None` if nothing was decoded.
    pub chrf: Option<f64>,
    /// The sacreBLEU signature of `bleu`.
    pub signature: Option<String>,
}

/// The recovery from a NaN or infinite loss, gradient or output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// The update was skipped.
    Skip,
    /// The run rolled back to a checkpoint.
    RollBack,
    /// The run stopped.
    Stop,
}

/// A divergence. NaN and infinity are written as in [`TrainRecord`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DivergenceRecord {
    /// The number of the divergence, from 1.
    pub number: u64,
    /// The update that diverged.
    pub step: u64,
    /// The recovery.
    pub answer: Answer,
    /// The label-smoothed loss of the update in nats per target token.
    #[serde(deserialize_with = "nan_if_null")]
    pub loss: f64,
    /// The global norm of its gradient.
    #[serde(deserialize_with = "nan_if_null")]
    pub gnorm: f64,
    /// The update that the run rolled back to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub back_to: Option<u64>,
    /// The factor on the schedule's learning rate from now on.
    #[serde(deserialize_with = "nan_if_null")]
    pub rate_scale: f64,
}

fn nan_if_null<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    Ok(Option::<f64>::deserialize(deserializer)?.unwrap_or(f64::NAN))
}

/// Formats training numbers: `epoch 3 | step 1200 | loss 4.123 | nll 3.210 | ppl 24.8 | lr 6.99e-4
/// | gnorm 0.91 | 5.6k tok/s | pad 8%`.
pub(super) fn train_line(point: &TrainRecord) -> String {
    let &TrainRecord {
        epoch,
        step,
        loss,
        nll,
        lr,
        gnorm,
        ..
    } = point;
    let ppl = perplexity(point.ppl);
    let speed = thousands(point.tokens_per_second);
    let padding = 100.0 * point.padding;
    format!(
        "epoch {epoch} | step {step} | loss {loss:.3} | nll {nll:.3} | ppl {ppl} | lr {lr:.2e} \
         | gnorm {gnorm:.2} | {speed} tok/s | pad {padding:.0}%"
    )
}

/// Formats a validation:
/// `valid | step 1200 | loss 3.900 | nll 3.014 | ppl 20.4 | BLEU 24.31 | chrF 44.20 | best`, with
/// the last three if they apply.
pub(super) fn valid_line(point: &ValidRecord) -> String {
    let scores = [("BLEU", point.bleu), ("chrF", point.chrf)];
    let scores = scores
        .into_iter()
        .filter_map(|(name, score)| Some(format!(" | {name} {:.2}", score?)));
    let scores = scores.collect::<String>();
    let ppl = perplexity(point.ppl);
    let &ValidRecord {
        step, loss, nll, ..
    } = point;
    let averaged = if point.averaged { ", averaged" } else { "" };
    let best = if point.best { " | best" } else { "" };
    let pairs: String = point.pairs.iter().map(pair_line).collect();
    format!(
        "valid | step {step}{averaged} | loss {loss:.3} | nll {nll:.3} | ppl {ppl}{scores}{best}{pairs}"
    )
}

/// Formats the result of a pair of languages on a line of its own.
fn pair_line(pair: &PairRecord) -> String {
    let scores = [("BLEU", pair.bleu), ("chrF", pair.chrf)];
    let scores = scores
        .into_iter()
        .filter_map(|(name, score)| Some(format!(" | {name} {:.2}", score?)));
    let scores: String = scores.collect();
    let ppl = perplexity(pair.ppl);
    format!(
        "\n  {} | nll {:.3} | ppl {ppl}{scores}",
        pair.pair, pair.nll
    )
}

/// Formats a record of divergence: `diverged | step 1200 | loss NaN | gnorm inf | update skipped`.
pub(super) fn divergence_line(point: &DivergenceRecord) -> String {
    let answer = match (point.answer, point.back_to) {
        (Answer::Skip, _) => "update skipped".to_string(),
        (Answer::RollBack, back_to) => format!(
            "back to update {}, learning rate at {} of the schedule's",
            back_to.unwrap_or(0),
            point.rate_scale
        ),
        (Answer::Stop, _) => "giving up".to_string(),
    };
    format!(
        "diverged | step {} | loss {:.3} | gnorm {:.2} | {answer}",
        point.step, point.loss, point.gnorm
    )
}

/// Formats the text beside the bar:
/// `step 1200/100000 | 5.6k tok/s | loss 4.123 | ppl 24.8 | eta 3h05m`.
pub(super) fn bar_line(now: &TrainRecord, max_steps: Option<u64>, eta: Option<f64>) -> String {
    let of = max_steps.map(|max| format!("/{max}")).unwrap_or_default();
    let eta = eta.map(|seconds| format!(" | eta {}", duration(seconds)));
    format!(
        "step {}{of} | {} tok/s | loss {:.3} | ppl {}{}",
        now.step,
        thousands(now.tokens_per_second),
        now.loss,
        perplexity(now.ppl),
        eta.unwrap_or_default(),
    )
}

/// Formats a number with three significant digits: `1.05`, `24.8`, `36412`, `1.20e7`.
fn perplexity(value: f64) -> String {
    match value {
        v if v < 10.0 => format!("{v:.2}"),
        v if v < 100.0 => format!("{v:.1}"),
        v if v < 1e6 => format!("{v:.0}"),
        v => format!("{v:.2e}"),
    }
}

/// Formats a count: `950`, `5.6k`, `1.2M`. The limits are where rounding would show `1000.0k`.
fn thousands(value: f64) -> String {
    match value {
        v if v >= 999_950.0 => format!("{:.1}M", v / 1e6),
        v if v >= 999.5 => format!("{:.1}k", v / 1e3),
        v => format!("{v:.0}"),
    }
}

/// Formats a duration: `42s`, `3m05s`, `3h05m`, `2d03h`.
fn duration(seconds: f64) -> String {
    // `as` saturates and maps NaN to 0, so that no estimate panics.
    let s = seconds.round() as u64;
    match s {
        0..60 => format!("{s}s"),
        60..3600 => format!("{}m{:02}s", s / 60, s % 60),
        3600..86400 => format!("{}h{:02}m", s / 3600, s / 60 % 60),
        _ => format!("{}d{:02}h", s / 86400, s / 3600 % 24),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_train_line_is_the_documented_one() {
        let point = TrainRecord {
            epoch: 3,
            step: 1200,
            loss: 4.1234,
            nll: 3.2104,
            ppl: 24.79,
            lr: 6.9877e-4,
            gnorm: 0.911,
            tokens_per_second: 5612.0,
            padding: 0.083,
            ..TrainRecord::default()
        };
        // The example line that the documentation shows.
        let expected = "epoch 3 | step 1200 | loss 4.123 | nll 3.210 | ppl 24.8 | lr 6.99e-4 | gnorm 0.91 \
                        | 5.6k tok/s | pad 8%";
        assert_eq!(train_line(&point), expected);
    }

    #[test]
    fn the_valid_line_names_scores_and_best_only_where_they_apply() {
        let mut point = ValidRecord {
            step: 1200,
            loss: 3.9,
            nll: 3.0142,
            ppl: 20.37,
            bleu: Some(24.312),
            chrf: Some(44.196),
            best: true,
            ..ValidRecord::default()
        };
        let losses = "valid | step 1200 | loss 3.900 | nll 3.014 | ppl 20.4";
        assert_eq!(
            valid_line(&point),
            format!("{losses} | BLEU 24.31 | chrF 44.20 | best")
        );
        (point.bleu, point.chrf, point.best) = (None, None, false);
        assert_eq!(valid_line(&point), losses);
    }

    #[test]
    fn the_bar_shows_only_known_limits_and_ends() {
        let now = TrainRecord {
            step: 1200,
            loss: 4.1234,
            ppl: 24.79,
            tokens_per_second: 5612.0,
            ..TrainRecord::default()
        };
        assert_eq!(
            bar_line(&now, Some(100_000), Some(11_100.0)),
            "step 1200/100000 | 5.6k tok/s | loss 4.123 | ppl 24.8 | eta 3h05m"
        );
        assert_eq!(
            bar_line(&now, None, None),
            "step 1200 | 5.6k tok/s | loss 4.123 | ppl 24.8"
        );
    }

    #[test]
    fn numbers_of_every_size_stay_short() {
        let shown = [1.049, 24.79, 248.2, 36412.3, 1.2e7, f64::INFINITY, f64::NAN].map(perplexity);
        assert_eq!(
            shown,
            ["1.05", "24.8", "248", "36412", "1.20e7", "inf", "NaN"]
        );
        let shown = [0.0, 950.0, 999.7, 5612.0, 999_960.0, 1.23e6].map(thousands);
        assert_eq!(shown, ["0", "950", "1.0k", "5.6k", "1.0M", "1.2M"]);
        let shown = [41.7, 59.7, 185.0, 11_100.0, 183_600.0, f64::NAN].map(duration);
        assert_eq!(shown, ["42s", "1m00s", "3m05s", "3h05m", "2d03h", "0s"]);
    }
}
