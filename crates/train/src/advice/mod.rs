//! Warnings with remedies, about the texts before a run and about the measures during it.

pub(crate) mod fit;
pub(crate) mod pair_sizes;
pub(crate) mod text_check;

use crate::validation::Relation;

/// Above this perplexity, a model has learned little more than token frequencies.
const MAX_LEARNED_PERPLEXITY: f64 = 100.0;

/// Below this perplexity, the lengths of translations are meaningful.
const MAX_LENGTH_PERPLEXITY: f64 = 20.0;

/// The smallest relative change of a loss that counts.
const MIN_LOSS_CHANGE: f64 = 0.01;

/// Below this score, no part of the translations is right.
const MIN_SCORE: f64 = 0.1;

/// Below this ratio of a score to the score of exchanged translations, translations do not depend
/// on their sources.
const MIN_RELATION_RATIO: f64 = 1.1;

/// The number of consecutive updates with a loss above guessing before the warning.
const MAX_GUESSING_UPDATES: u64 = 50;

/// Advice if the validation loss does not fall.
const CHECK_LINES: &str = "Check that each line of the source belongs to the same line of the target, in the training and \
                           in the validation text, and that the sides of neither are swapped";

/// The measures of a validation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Measures {
    /// The number of updates.
    pub step: u64,
    /// The negative log-likelihood per token, in nats.
    pub nll: f64,
    /// The score of the translations, if they are scored.
    pub score: Option<f64>,
    /// The ratio of characters in translations to characters in references, if the text was
    /// translated.
    pub length_ratio: Option<f64>,
    /// How much the translations depend on their sources, if it is known.
    pub relation: Option<Relation>,
}

/// The validations of a run since it was started or resumed, and the warnings given.
#[derive(Clone, Debug)]
pub(crate) struct Diagnostics {
    /// The last update of the warm-up.
    warmup: u64,
    /// The loss of a uniform guess over the target vocabulary, in nats.
    guessing: f64,
    /// The loss of the first update since the start.
    first: Option<f64>,
    /// The count and the sum of consecutive losses above `guessing`.
    above: (u64, f64),
    validations: Vec<Measures>,
    given: Vec<Problem>,
}

/// Problems that the measures show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Problem {
    /// The validation loss stays high, or rises. Only one explanation is given.
    Loss,
    /// The training loss is above the loss of guessing.
    Guessing,
    /// The score stays 0 while the loss falls.
    Score,
    /// Translations are much shorter than their references.
    Short,
    /// Translations are much longer than their references.
    Long,
}

impl Diagnostics {
    /// Diagnostics of a run with `warmup` updates of warm-up, for a model with `target_vocab`
    /// tokens.
    pub fn new(warmup: u64, target_vocab: usize) -> Self {
        let guessing = (target_vocab as f64).ln();
        let validations = Vec::new();
        let given = Vec::new();
        Self {
            warmup,
            guessing,
            first: None,
            above: (0, 0.0),
            validations,
            given,
        }
    }

    /// Returns a warning, once a process, if [`MAX_GUESSING_UPDATES`] consecutive losses are above
    /// guessing. `nll` is the negative log-likelihood per token in update `step`.
    pub fn after_update(&mut self, step: u64, nll: f64) -> Option<String> {
        let first = *self.first.get_or_insert(nll);
        let (count, sum) = self.above;
        self.above = if nll > self.guessing {
            (count + 1, sum + nll)
        } else {
            (0, 0.0)
        };
        let (count, sum) = self.above;
        // Until the warm-up is over, random weights are a little worse than guessing.
        let has_begun = step > self.warmup || sum > first * (1.0 + MIN_LOSS_CHANGE) * count as f64;
        if count < MAX_GUESSING_UPDATES || !has_begun || self.given.contains(&Problem::Guessing) {
            return None;
        }
        self.given.push(Problem::Guessing);
        Some(format!(
            "warning: the loss has been above {:.2} nats per token, the logarithm of the vocabulary's size, for {MAX_GUESSING_UPDATES} updates: the \
             model is worse than one that guesses. Begin again with a lower learning rate (a tenth of schedule.factor or \
             schedule.peak), a longer schedule.warmup, or optimizer.clip_norm = 1",
            self.guessing
        ))
    }

    /// The warnings after a validation, each once a process.
    pub fn after(&mut self, measured: Measures) -> Vec<String> {
        self.validations.push(measured);
        let unrelated = self.unrelated();
        let loss = unrelated
            .or_else(|| self.stalled())
            .or_else(|| self.turned());
        let problems = [loss, self.nothing_right(), self.short(), self.long()];
        let new: Vec<_> = problems
            .into_iter()
            .flatten()
            .filter(|(kind, _)| !self.given.contains(kind))
            .collect();
        self.given.extend(new.iter().map(|(kind, _)| *kind));
        new.into_iter()
            .map(|(_, text)| format!("warning: {text}"))
            .collect()
    }

    /// The last `count` validations, oldest first; `None` if there are fewer, or if the first is in
    /// the warm-up.
    fn last(&self, count: usize) -> Option<&[Measures]> {
        let begin = self.validations.len().checked_sub(count)?;
        let last = &self.validations[begin..];
        (last.first()?.step > self.warmup).then_some(last)
    }

    fn unrelated(&self) -> Option<(Problem, String)> {
        let last = self.last(3)?;
        let are_unrelated = last.iter().all(|one| {
            one.relation
                .is_some_and(|relation| relation.own < MIN_RELATION_RATIO * relation.exchanged)
        });
        if !are_unrelated {
            return None;
        }
        let Relation {
            own,
            exchanged,
            same,
        } = last[2].relation?;
        let text = format!(
            "the targets do not seem to belong to their sources: translations of the validation text are no better than those of \
             other sentences in their place (chrF {own:.1} and {exchanged:.1}), and {:.0} % of them are the same. {CHECK_LINES}",
            100.0 * same
        );
        Some((Problem::Loss, text))
    }

    fn stalled(&self) -> Option<(Problem, String)> {
        let [first, .., last] = self.last(3)? else {
            return None;
        };
        let perplexity = last.nll.exp();
        let text = format!(
            "the validation loss has not fallen since update {}, and its perplexity of {perplexity:.0} is that of a model that has \
             hardly begun. {CHECK_LINES}; try a lower learning rate (half of schedule.factor or schedule.peak) or a longer \
             schedule.warmup",
            first.step
        );
        let stalled =
            perplexity > MAX_LEARNED_PERPLEXITY && last.nll > first.nll * (1.0 - MIN_LOSS_CHANGE);
        stalled.then_some((Problem::Loss, text))
    }

    fn turned(&self) -> Option<(Problem, String)> {
        let best = self
            .validations
            .iter()
            .min_by(|a, b| a.nll.total_cmp(&b.nll))?;
        let last = self.last(3)?;
        let text = format!(
            "the validation loss has risen since update {} (from {:.3} to {:.3} nats per token): the model memorises the training text. \
             More model.dropout or a smaller model help, or fewer updates",
            best.step, best.nll, last[2].nll
        );
        // A model that has learned nothing cannot overfit.
        let has_learned = best.nll.exp() < MAX_LEARNED_PERPLEXITY;
        let turned = has_learned
            && last
                .iter()
                .all(|one| one.nll > best.nll * (1.0 + MIN_LOSS_CHANGE));
        turned.then_some((Problem::Loss, text))
    }

    fn nothing_right(&self) -> Option<(Problem, String)> {
        let last = self.last(3)?;
        let [first, .., newest] = last else {
            return None;
        };
        let has_learned = newest.nll.exp() < MAX_LEARNED_PERPLEXITY;
        let falls = newest.nll < first.nll * (1.0 - MIN_LOSS_CHANGE);
        let text = format!(
            "the score of the translations stays 0 although the perplexity has fallen from {:.1} to {:.1}, so that it cannot tell good \
             models from bad ones. Look at the run's hypotheses (valid/), and compare models by another validation.metric, such as \
             \"chrf\" or \"ppl\"",
            first.nll.exp(),
            newest.nll.exp()
        );
        let scores_nothing = last
            .iter()
            .all(|one| one.score.is_some_and(|score| score < MIN_SCORE));
        (has_learned && falls && scores_nothing).then_some((Problem::Score, text))
    }

    fn short(&self) -> Option<(Problem, String)> {
        let remedy = ", which costs BLEU. Let the validation text choose a larger length penalty (validation.test_alphas = [0.6, 1.0, \
                      1.4]); more updates mend it, too";
        Some((Problem::Short, self.lengths(|ratio| ratio < 0.85, remedy)?))
    }

    fn long(&self) -> Option<(Problem, String)> {
        let remedy = ". Look for repeated words in the run's hypotheses; more updates help, and so does leaving out pairs of unequal \
                      lengths (data.max_length_ratio)";
        Some((Problem::Long, self.lengths(|ratio| ratio > 1.3, remedy)?))
    }

    /// A warning with `remedy` if the last two length ratios are `wrong` and the model already
    /// translates.
    fn lengths(&self, wrong: impl Fn(f64) -> bool, remedy: &str) -> Option<String> {
        let last = self.last(2)?;
        let are_wrong = last.iter().all(|one| {
            one.nll.exp() < MAX_LENGTH_PERPLEXITY && one.length_ratio.is_some_and(&wrong)
        });
        let percent = 100.0 * last[1].length_ratio.filter(|_| are_wrong)?;
        Some(format!(
            "the translations have {percent:.0} % of the length of their references{remedy}"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The warnings after each validation, one every 100 updates.
    fn warnings(validations: &[(f64, f64)]) -> Vec<Vec<String>> {
        let mut diagnostics = Diagnostics::new(50, 300);
        (1..)
            .zip(validations)
            .map(|(index, &(nll, ratio))| Measures {
                step: 100 * index,
                nll,
                score: Some(20.0),
                length_ratio: Some(ratio),
                relation: None,
            })
            .map(|one| diagnostics.after(one))
            .collect()
    }

    fn one(warnings: &[Vec<String>], index: usize, part: &str) {
        let counts: Vec<usize> = warnings.iter().map(Vec::len).collect();
        assert_eq!(counts.iter().sum::<usize>(), 1, "{warnings:?}");
        assert!(warnings[index][0].contains(part), "{warnings:?}");
    }

    #[test]
    fn a_run_that_learns_has_no_warning() {
        let said = warnings(&[
            (6.0, 0.4),
            (3.0, 0.7),
            (2.0, 0.9),
            (1.6, 0.95),
            (1.605, 0.95),
            (1.59, 1.0),
        ]);
        assert!(said.iter().all(Vec::is_empty), "{said:?}");
    }

    #[test]
    fn a_loss_that_stays_high_is_a_warning_once() {
        let said = warnings(&[
            (6.0, 0.1),
            (5.99, 0.1),
            (5.98, 0.1),
            (5.98, 0.1),
            (5.98, 0.1),
        ]);
        one(&said, 2, "has not fallen since update 100");
    }

    #[test]
    fn a_loss_that_rises_again_is_a_warning_with_the_best_update() {
        let said = warnings(&[
            (2.0, 1.0),
            (1.5, 1.0),
            (1.52, 1.0),
            (1.55, 1.0),
            (1.6, 1.0),
            (1.7, 1.0),
        ]);
        one(&said, 4, "since update 200 (from 1.500 to 1.600");
    }

    #[test]
    fn a_rising_loss_that_never_was_low_is_not_overfitting() {
        let rose = [7.0, 6.5, 6.7, 7.0, 7.3, 7.5].map(|nll| (nll, 1.0));
        one(&warnings(&rose), 3, "sides of neither are swapped");
        // It falls, from far above what it was in the warm-up.
        let mut diagnostics = Diagnostics::new(150, 300);
        for (step, nll) in [(100, 6.5), (200, 9.5), (300, 9.0), (400, 8.0)] {
            let measured = Measures {
                step,
                nll,
                score: None,
                length_ratio: None,
                relation: None,
            };
            assert_eq!(diagnostics.after(measured), Vec::<String>::new());
        }
        // One explanation only, whichever came first.
        let stood = [6.0, 5.99, 5.98, 2.0, 2.2, 2.3, 2.4].map(|nll| (nll, 1.0));
        one(&warnings(&stood), 2, "sides of neither are swapped");
        let learned = [2.0, 2.2, 2.3, 2.4, 5.0, 5.1, 5.2].map(|nll| (nll, 1.0));
        one(&warnings(&learned), 3, "memorises");
    }

    /// A model of shuffled targets memorises the training text. That is not the first remedy.
    #[test]
    fn targets_that_do_not_belong_to_their_sources_are_the_only_explanation() {
        let text = "(chrF 17.2 and 17.0), and 85 % of them";
        one(&warnings_with(17.2), 2, text);
        one(&warnings_with(30.0), 3, "memorises");
    }

    /// The warnings while the loss rises, with this chrF of the translations of the own sources.
    fn warnings_with(own: f64) -> Vec<Vec<String>> {
        let mut diagnostics = Diagnostics::new(50, 300);
        let losses = [3.0, 3.1, 3.2, 3.3, 3.4];
        let measured = losses.into_iter().zip(1..).map(|(nll, index)| Measures {
            step: 100 * index,
            nll,
            score: None,
            length_ratio: None,
            relation: Some(Relation {
                own,
                exchanged: 17.0,
                same: 0.85,
            }),
        });
        measured.map(|one| diagnostics.after(one)).collect()
    }

    #[test]
    fn wrong_lengths_are_a_warning_once_they_are_meaningful() {
        one(
            &warnings(&[(4.0, 0.2), (2.5, 0.8), (2.0, 0.8), (1.9, 0.8)]),
            2,
            "80 % of the length",
        );
        one(
            &warnings(&[(4.0, 3.0), (2.5, 1.4), (2.0, 1.5), (1.9, 1.6)]),
            2,
            "150 % of the length",
        );
    }

    #[test]
    fn the_warm_up_has_no_warnings() {
        let mut diagnostics = Diagnostics::new(10_000, 300);
        for step in [100, 200, 300, 400] {
            let score = Some(0.0);
            let length_ratio = Some(9.0);
            let measured = Measures {
                step,
                nll: 8.0,
                score,
                length_ratio,
                relation: None,
            };
            assert_eq!(diagnostics.after(measured), Vec::<String>::new());
        }
    }

    /// The updates after which a warning comes, of 200 updates with these losses, 4,000 of warm-up
    /// and 300 tokens.
    fn guesses(warmup: u64, nll: impl Fn(u64) -> f64) -> Vec<u64> {
        let mut diagnostics = Diagnostics::new(warmup, 300);
        (1..=200)
            .filter(|&step| diagnostics.after_update(step, nll(step)).is_some())
            .collect()
    }

    #[test]
    fn a_loss_above_guessing_for_50_updates_is_a_warning_once() {
        // ln 300 is 5.70.
        // The weights before the first update are not the fault of a learning rate.
        assert_eq!(guesses(4000, |_| 23.0), Vec::<u64>::new());
        assert_eq!(
            guesses(4000, |step| if step < 10 { 6.0 } else { 9.0 }),
            [50]
        );
        assert_eq!(guesses(100, |_| 6.0), [101]);
        assert_eq!(
            guesses(4000, |step| 6.2 - step as f64 / 1000.0),
            Vec::<u64>::new()
        );
        assert_eq!(
            guesses(10, |step| if step.is_multiple_of(40) { 5.0 } else { 9.0 }),
            Vec::<u64>::new()
        );
        assert_eq!(guesses(10, |_| f64::NAN), Vec::<u64>::new());
    }

    #[test]
    fn a_score_that_stays_0_while_the_loss_falls_is_a_warning() {
        for (losses, score, count) in [
            ([4.0, 3.0, 2.0, 1.0], 0.0, 1),
            ([4.0, 3.0, 2.0, 1.0], 0.5, 0),
            ([7.0, 6.5, 6.0, 5.5], 0.0, 0),
            ([2.0, 2.0, 2.0, 2.0], 0.0, 0),
        ] {
            let mut diagnostics = Diagnostics::new(50, 300);
            let measured = losses.into_iter().zip(1..).map(|(nll, index)| Measures {
                step: 100 * index,
                nll,
                score: Some(score),
                length_ratio: None,
                relation: None,
            });
            let warnings = measured.flat_map(|one| diagnostics.after(one));
            let told = warnings.filter(|text| text.contains("stays 0")).count();
            assert_eq!(told, count, "{losses:?} {score}");
        }
    }

    #[test]
    fn nan_is_no_warning_about_the_loss() {
        let said = warnings(&[
            (f64::NAN, f64::NAN),
            (f64::NAN, f64::NAN),
            (f64::NAN, f64::NAN),
        ]);
        assert!(said.iter().all(Vec::is_empty), "{said:?}");
    }
}
