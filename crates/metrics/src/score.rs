//! The score that every metric returns, in sacreBLEU's two output formats.

use std::fmt;

use serde_json::{Map, Value};

use crate::Signature;

/// Mean and 95 % confidence interval of resampled scores.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Confidence {
    /// Mean of the resampled scores.
    pub mean: f64,
    /// Half the distance between the 2.5 % and the 97.5 % quantile.
    pub interval: f64,
}

/// The score of any metric, with everything that is needed to print it.
#[derive(Debug, Clone, PartialEq)]
pub struct Score {
    /// The metric's name as sacreBLEU prints it: `BLEU`, `chrF2`, `chrF2++`, `TER`.
    pub name: String,
    /// The score on a scale of 100.
    pub value: f64,
    /// Details that are printed after the score: precisions and lengths for BLEU, nothing for other
    /// metrics.
    pub verbose: String,
    /// The settings of the metric, in sacreBLEU's form.
    pub signature: Signature,
    /// Mean and interval of resampled scores, if the corpus was resampled.
    pub confidence: Option<Confidence>,
}

impl Score {
    /// sacreBLEU's text line with `width` decimals (its library prints 2, its command line 1):
    /// `BLEU|nrefs:1|… = 34.30 65.1/40.2/… (BP = 1.000 ratio = … hyp_len = … ref_len = …)`.
    pub fn text(&self, width: usize) -> String {
        let head = format!(
            "{}|{} = {}",
            self.name,
            self.signature,
            self.score_only(width)
        );
        if self.verbose.is_empty() {
            head
        } else {
            format!("{head} {}", self.verbose)
        }
    }

    /// Only the score, with its confidence interval if there is one (sacreBLEU's `--score-only`).
    pub fn score_only(&self, width: usize) -> String {
        match self.shown_confidence() {
            Some(c) => format!("{:.width$} ({})", self.value, confidence_text(c, width)),
            None => format!("{:.width$}", self.value),
        }
    }

    /// Returns the object that sacreBLEU prints for `--format json`, with its keys in its order and
    /// numbers rounded to `width` decimals.
    pub fn json(&self, width: usize) -> Value {
        let mut object = Map::new();
        object.insert("name".into(), self.name.clone().into());
        object.insert("score".into(), rounded(self.value, width));
        object.insert("signature".into(), self.signature.to_string().into());
        if let Some(confidence) = self.shown_confidence() {
            object.insert("confidence_mean".into(), rounded(confidence.mean, width));
            object.insert("confidence_var".into(), rounded(confidence.interval, width));
            object.insert(
                "confidence".into(),
                confidence_text(confidence, width).into(),
            );
        }
        if !self.verbose.is_empty() {
            object.insert("verbose_score".into(), self.verbose.clone().into());
        }
        object.extend(
            self.signature
                .fields()
                .map(|(key, value)| (key.into(), value.into())),
        );
        Value::Object(object)
    }

    // sacreBLEU prints an interval only around a positive mean.
    fn shown_confidence(&self) -> Option<Confidence> {
        self.confidence.filter(|confidence| confidence.mean > 0.0)
    }
}

impl fmt::Display for Score {
    /// Writes the text line with two decimals, or with the precision of the formatter.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text(f.precision().unwrap_or(2)))
    }
}

fn confidence_text(confidence: Confidence, width: usize) -> String {
    format!(
        "μ = {:.width$} ± {:.width$}",
        confidence.mean, confidence.interval
    )
}

/// Python's `float(f"{value:.{width}f}")`.
fn rounded(value: f64, width: usize) -> Value {
    let text = format!("{value:.width$}");
    text.parse::<f64>().map_or(Value::Null, Value::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn score(confidence: Option<Confidence>) -> Score {
        let signature = Signature::new(1.into());
        Score {
            name: "BLEU".into(),
            value: 34.296,
            verbose: "65.1/40.2 (BP = 1.000)".into(),
            signature,
            confidence,
        }
    }

    #[test]
    fn the_text_line_is_name_signature_score_and_detail() {
        let text = score(None).to_string();
        assert!(
            text.starts_with("BLEU|nrefs:1|version:burnformer-"),
            "{text}"
        );
        assert!(text.ends_with(" = 34.30 65.1/40.2 (BP = 1.000)"), "{text}");
    }

    #[test]
    fn an_interval_follows_the_score() {
        let confidence = Confidence {
            mean: 34.31,
            interval: 1.2,
        };
        assert_eq!(
            score(Some(confidence)).score_only(2),
            "34.30 (μ = 34.31 ± 1.20)"
        );
    }

    #[test]
    fn json_keys_come_in_sacrebleus_order() {
        let confidence = Confidence {
            mean: 34.31,
            interval: 1.2,
        };
        let json = score(Some(confidence)).json(2);
        let keys: Vec<_> = json.as_object().unwrap().keys().collect();
        assert_eq!(
            keys,
            [
                "name",
                "score",
                "signature",
                "confidence_mean",
                "confidence_var",
                "confidence",
                "verbose_score",
                "nrefs",
                "version"
            ]
        );
        assert_eq!(json["score"], 34.3);
    }
}
