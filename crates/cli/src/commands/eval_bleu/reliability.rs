//! The reliability of a model's confidence in its translations.

use std::path::Path;

use anyhow::{Result, bail};
use burnformer_infer::{
    Calibration, GenerationSettings, Hypothesis, load_settings, quality_warnings,
};
use burnformer_metrics::{Chrf, Metric as _, References};
use burnformer_text::counted;
use burnformer_train::checkpoint::set_generation;

use crate::output::{note, print};

/// The number of equal bins of confidence.
const PARTS: usize = 10;

/// Translations with their quality: the chrF of the segment divided by 100.
pub struct RatedTranslations {
    good: Vec<(Hypothesis, f64)>,
    /// The quality of doubtful translations. Their confidence is 0.
    doubted: Vec<f64>,
}

impl RatedTranslations {
    /// Rates the translations `texts` of `sources` against `references`.
    ///
    /// # Errors
    /// Returns an error if there are not as many references as translations.
    pub fn new(
        sources: &[String],
        texts: &[&str],
        found: Vec<Hypothesis>,
        references: &References,
    ) -> Result<Self> {
        let quality = Chrf::default().by_segment(texts, references)?;
        let mut rated = Self {
            good: Vec::new(),
            doubted: Vec::new(),
        };
        let pairs = sources.iter().zip(texts);
        for ((hypothesis, chrf), (source, text)) in found.into_iter().zip(quality).zip(pairs) {
            match quality_warnings(source, text)[..] {
                [] => rated.good.push((hypothesis, chrf / 100.0)),
                _ => rated.doubted.push(chrf / 100.0),
            }
        }
        Ok(rated)
    }

    /// Fits a confidence calibration and writes it to the default settings of `model`.
    ///
    /// # Errors
    /// Returns an error if the settings of `model` cannot be read or written.
    pub fn calibrate(&self, model: &Path) -> Result<()> {
        let good = self
            .good
            .iter()
            .map(|(hypothesis, quality)| (hypothesis, *quality));
        let Some(calibration) = Calibration::fit(good) else {
            bail!(
                "the chrF of these translations does not rise with their probability, so that no confidence follows from \
                 it: take more sentences, or another text"
            )
        };
        let settings = GenerationSettings {
            calibration: Some(calibration),
            ..load_settings(model)?
        };
        set_generation(model, &settings)?;
        let count = counted(self.good.len(), "translation");
        note(format_args!(
            "{}: confidence fitted to {count}",
            model.display()
        ));
        Ok(())
    }

    /// Prints a reliability table of the calibrated confidence of `model`: for each of ten bins,
    /// the number of translations, their mean confidence and their mean quality. The last line is
    /// the expected calibration error: the mean difference between the two, weighted by the number
    /// of translations.
    ///
    /// # Errors
    /// Returns an error if `model` has no calibration, or the output cannot be written.
    pub fn print(&self, model: &Path) -> Result<()> {
        let Some(calibration) = load_settings(model)?.calibration else {
            bail!(
                "{}: this model has no confidence; fit it first, with --calibrate and a text that it did not learn from",
                model.display()
            )
        };
        let good = self
            .good
            .iter()
            .map(|(found, quality)| (calibration.confidence(found), quality));
        let all: Vec<_> = good
            .chain(self.doubted.iter().map(|quality| (0.0, quality)))
            .collect();
        let mut parts = [(0, 0.0, 0.0); PARTS];
        for &(confidence, quality) in &all {
            let part = &mut parts[((confidence * PARTS as f64) as usize).min(PARTS - 1)];
            *part = (part.0 + 1, part.1 + confidence, part.2 + quality);
        }
        print("confidence  translations  mean  chrF/100")?;
        let mut error = 0.0;
        for (number, (count, confidence, quality)) in parts.into_iter().enumerate() {
            if count > 0 {
                error += (confidence - quality).abs() / all.len() as f64;
                let low = number as f64 / PARTS as f64;
                let [confidence, quality] = [confidence, quality].map(|sum| sum / f64::from(count));
                print(format!(
                    "{low:.1}–{:.1}     {count:>12}  {confidence:.2}      {quality:.2}",
                    low + 1.0 / PARTS as f64
                ))?;
            }
        }
        print(format!("expected calibration error: {error:.3}"))
    }
}
