//! Language detection for texts without a given language.

use std::collections::BTreeMap;

use burnformer_documents::{Detection, Format, Languages, prose, words_of};

use super::error::{ApiError, Result};
use super::{AUTO, Client, known_code};
use crate::compute::{CancelWatch, compute};
use crate::engine::{Choice, Sentence};
use crate::language::{LanguagePair, name};
use crate::sender::Permit;
use crate::text::{ReadText, ReadTexts, Reading};

/// A text stays unchanged only if its score (log-probability over the length penalty) in the target
/// language exceeds the score in any other by this. With it, 22 of 1,000 short texts stay wrongly
/// and 944 of 1,000 rightly; without it, 36 and 964.
const STAYS: f64 = 0.6;

/// The maximum number of characters of a text that models score to detect its language.
const MAX_CHARACTERS: usize = 200;

/// The maximum number of languages, besides the target, that models score a text in.
const MAX_ASKED: usize = 3;

/// The result of the detector, before any model scores the text: the words, and the possible
/// languages if it is not sure.
struct Guess {
    words: String,
    found: Option<Detection>,
    sure: bool,
    codes: Vec<String>,
}

/// Texts with their languages.
pub(super) struct TextsWithLanguages {
    pub read: ReadTexts,
    /// The language pair of each text.
    pub pairs: Vec<LanguagePair>,
    /// The detected languages, if the request names none.
    pub detected: Option<Vec<Detection>>,
}

/// The words of a text for language detection. A catalogue is not parsed a second time. Other texts
/// lose their code before they are read.
fn words(read: &ReadText, format: Format, cancel: &CancelWatch) -> String {
    if !format.is_catalogue() {
        return prose(&read.text, format, &|_| goes_on(cancel));
    }
    let mut document = read.document.clone();
    document.divide([None; 2], &|_| goes_on(cancel));
    words_of(&document)
}

/// Returns true, or ends the work if it is cancelled.
fn goes_on(cancel: &CancelWatch) -> bool {
    cancel.unwind_if_cancelled();
    true
}

impl Guess {
    /// Guesses the language of a text that is translated into `target`.
    fn new(
        read: &ReadText,
        format: Format,
        known: &Languages,
        target: Option<&str>,
        cancel: &CancelWatch,
    ) -> Self {
        cancel.unwind_if_cancelled();
        let words = words(read, format, cancel);
        let (found, sure) = known.detect(&words).unzip();
        let is_open = sure != Some(true) && !words.is_empty();
        let mut codes = Vec::new();
        if is_open {
            codes = known.ranked(&words, MAX_ASKED);
            codes.extend(target.filter(|target| !codes.contains(target)));
        }
        let codes = codes.into_iter().map(String::from).collect();
        Self {
            words,
            found,
            sure: sure.unwrap_or_default(),
            codes,
        }
    }

    /// The language of the text: the `likely` one by the scores of the models, or else the detected
    /// one. If there is neither, it is the first possible language other than `target`.
    fn settle(
        self,
        likely: Option<Detection>,
        sources: &[&str],
        target: Option<&str>,
    ) -> Detection {
        let found = self.found.filter(|found| {
            let is_source = found.served && Some(&*found.language) != target;
            self.sure || is_source
        });
        likely.or(found).unwrap_or_else(|| {
            let codes = self.codes.iter().map(String::as_str);
            let mut possible = codes.chain(sources.iter().copied());
            let first = possible.find(|code| Some(*code) != target).or(target);
            Detection {
                language: first.unwrap_or_default().to_owned(),
                confidence: 0.0,
                served: true,
            }
        })
    }
}

impl Client {
    /// Parses `texts`, and finds the language pair of each: from `source`, or from the detected
    /// language.
    ///
    /// # Errors
    /// Returns an error if a language is not served, if a text is clearly in a language that is not
    /// served, or if a text is a broken catalogue.
    pub(super) async fn sourced(
        &self,
        source: &str,
        target: &str,
        texts: Vec<String>,
        reading: impl Into<Reading>,
        permit: Permit,
    ) -> Result<TextsWithLanguages> {
        let reading = reading.into();
        let count = texts.len();
        if source != AUTO {
            let pair = self.pair(source, target)?;
            let read = self
                .read(texts, reading, Some(&pair.target), permit)
                .await?;
            return Ok(TextsWithLanguages {
                read,
                pairs: vec![pair; count],
                detected: None,
            });
        }
        let targets = self.codes(|pair| &pair.target);
        let target = known_code("target", target, &targets, "")?.to_owned();
        let read = self.read(texts, reading, Some(&target), permit).await?;
        let detected = self.detect(&read, Some(&target)).await?;
        let mut pairs = Vec::with_capacity(count);
        for (number, found) in (1..).zip(&detected) {
            let text = if count == 1 {
                "the text".into()
            } else {
                format!("text {number}")
            };
            pairs.push(self.served_pair(&text, &found.language, &target)?);
        }
        Ok(TextsWithLanguages {
            read,
            pairs,
            detected: Some(detected),
        })
    }

    /// The pair from the detected language `source` of `text` into `target`.
    ///
    /// # Errors
    /// Returns an error that names the text as `text` if the pair is not served.
    fn served_pair(&self, text: &str, source: &str, target: &str) -> Result<LanguagePair> {
        let pair = LanguagePair {
            source: source.into(),
            target: target.into(),
        };
        if source == target || self.models.pairs().any(|known| *known == pair) {
            return Ok(pair);
        }
        let known = self.sources(Some(target)).join(", ");
        let message = format!(
            "{text} seems to be {} ({source}), which is not served",
            name(source)
        );
        let remedy = format!("if it is not, name its language: one of {known}");
        Err(ApiError::bad("source", message, remedy))
    }

    /// Detects the most probable language of each text: one that can be translated (into `target`,
    /// if given), or `target` itself. If the detector is not sure, the models score the text in
    /// each possible language. If they cannot decide either, it is the first language that can be
    /// translated.
    ///
    /// # Errors
    /// Returns an error if the server fails.
    pub(super) async fn detect(
        &self,
        read: &ReadTexts,
        target: Option<&str>,
    ) -> Result<Vec<Detection>> {
        let sources = self.sources(target);
        let codes: Vec<String> = sources
            .iter()
            .copied()
            .chain(target)
            .map(String::from)
            .collect();
        let texts = read.texts.clone();
        let format = read.format;
        let into = target.map(String::from);
        let guesses = compute(&self.sender, read.price(), move |cancel| {
            let codes: Vec<&str> = codes.iter().map(String::as_str).collect();
            let known = Languages::new(&codes);
            texts
                .iter()
                .map(|read| Guess::new(read, format, &known, into.as_deref(), cancel))
                .collect::<Vec<_>>()
        })
        .await?;
        let likely = tokio::time::timeout(self.limits.time, self.likely(&guesses, target)).await;
        let likely = likely
            .ok()
            .and_then(Result::ok)
            .unwrap_or_else(|| vec![None; guesses.len()]);
        Ok(guesses
            .into_iter()
            .zip(likely)
            .map(|(guess, likely)| guess.settle(likely, &sources, target))
            .collect())
    }

    /// Returns the candidate language with the highest score for each text. The score is the
    /// log-probability, over the length penalty, of the text itself as output of a model into that
    /// language, less `STAYS` for `target`. If any candidate has no such model, a translation from
    /// the language (into `target`, if given) is scored instead. `None` if fewer than two
    /// candidates have a model, if all scores are equal, or if the models do not fit into memory
    /// together.
    ///
    /// # Errors
    /// Returns an error if a model fails.
    async fn likely(
        &self,
        texts: &[Guess],
        target: Option<&str>,
    ) -> Result<Vec<Option<Detection>>> {
        let mut asked = BTreeMap::<_, Vec<(usize, &str)>>::new();
        for (index, text) in texts.iter().enumerate().filter(|_| self.models.fit()) {
            let is_said = text.codes.iter().all(|code| self.pair_into(code).is_some());
            let models = text.codes.iter().filter_map(|code| {
                let pair = if is_said {
                    self.pair_into(code)
                } else {
                    self.pair_from(code, target)
                };
                Some((pair?, code))
            });
            for (pair, code) in models.clone().filter(|_| models.clone().count() > 1) {
                asked
                    .entry((pair, is_said))
                    .or_default()
                    .push((index, code));
            }
        }
        let mut scores = vec![Vec::<(f64, &str)>::new(); texts.len()];
        let choice = Choice {
            beam: Some(1),
            alpha: Some(1000),
            n_best: 1,
        };
        for ((pair, is_said), indices) in asked {
            let pipeline = self.pipeline(pair, choice, Vec::new()).await?;
            let all = pipeline
                .sentences(
                    indices
                        .iter()
                        .map(|&(index, _): &(usize, &str)| {
                            let text: String =
                                texts[index].words.chars().take(MAX_CHARACTERS).collect();
                            let prefix = if is_said { text.clone() } else { String::new() };
                            Sentence {
                                text,
                                prefix,
                                ..Sentence::default()
                            }
                        })
                        .collect(),
                )
                .await?;
            for ((index, code), found) in indices.into_iter().zip(all) {
                let stays = if Some(code) == target { STAYS } else { 0.0 };
                scores[index].extend(found.first().map(|best| (best.score - stays, code)));
            }
        }
        Ok(scores.iter().map(|scores| best(scores)).collect())
    }

    /// The pair of the first model into a language.
    fn pair_into(&self, code: &str) -> Option<&LanguagePair> {
        self.models.direct_pairs().find(|pair| pair.target == code)
    }

    /// The pair of the first model from a language, into `target` if given.
    fn pair_from(&self, code: &str, target: Option<&str>) -> Option<&LanguagePair> {
        self.models
            .direct_pairs()
            .find(|pair| pair.source == code && target.is_none_or(|it| pair.target == it))
    }

    /// The codes of the languages that can be translated (into `target`, if given).
    fn sources(&self, target: Option<&str>) -> Vec<&str> {
        let pairs = self.models.pairs();
        let pairs = pairs.filter(|pair| target.is_none_or(|target| pair.target == target));
        let mut codes: Vec<&str> = pairs.map(|pair| pair.source.as_str()).collect();
        codes.dedup();
        codes
    }
}

/// The language with the highest score, unless all scores are equal.
fn best(scores: &[(f64, &str)]) -> Option<Detection> {
    let (most, code) = *scores.iter().max_by(|a, b| a.0.total_cmp(&b.0))?;
    let others: f64 = scores.iter().map(|(score, _)| (score - most).exp()).sum();
    let differs = scores.iter().any(|(score, _)| *score < most);
    differs.then_some(Detection {
        language: code.to_owned(),
        confidence: 100.0 / others,
        served: true,
    })
}
