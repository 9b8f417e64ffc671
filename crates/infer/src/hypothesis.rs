//! Translations, as token ids and as text.

use derive_more::Display;

/// The reason why a hypothesis ends.
#[derive(Clone, Copy, Debug, Default, Display, PartialEq, Eq, Hash)]
#[display(rename_all = "kebab-case")]
pub enum FinishReason {
    /// The model ended the sentence with `</s>`.
    #[default]
    EndOfSentence,
    /// The length limit was reached, or every next token was forbidden.
    Limit,
    /// A translation memory has the translation.
    Memory,
    /// The source has nothing to translate, and stays.
    Kept,
}

/// A translation as token ids. The default is the translation of an empty source: no tokens, with
/// probability 1.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Hypothesis {
    /// The generated ids, with `</s>` if the model ended the sentence.
    pub tokens: Vec<u32>,
    /// The model's natural log-probability of each of `tokens`, before any constraint or
    /// temperature.
    pub log_probs: Vec<f32>,
    /// The [score](crate::SearchSettings::score) of the sum of `log_probs`. Hypotheses are ranked
    /// by it. If the hypothesis [is uppercased](Self::is_uppercased), it is the score of the text
    /// in capitals, as [`Translator::score`](crate::Translator::score) gives it.
    pub score: f64,
    /// The reason why the hypothesis ends.
    pub finish: FinishReason,
    /// If true, this hypothesis comes from a second search: the first found a loop
    /// ([`Protections::second_search`](crate::Protections::second_search)), or lost a number, a
    /// placeholder, a bracket or a joining sign
    /// ([`Protections::keep_parts`](crate::Protections::keep_parts)).
    pub is_second: bool,
    /// If true, the source was in capitals and was translated in small letters; the text of this
    /// hypothesis is in capitals again. See
    /// [`Protections::small_letters`](crate::Protections::small_letters).
    pub is_uppercased: bool,
    /// The source text for each unknown token.
    pub copies: Vec<String>,
    /// The text, if the tokens do not give it: a translation in capitals, or without tokens the
    /// text of a translation memory or of a source with nothing to translate.
    pub text: Option<String>,
}

/// A translated sentence.
#[derive(Clone, Debug, PartialEq)]
pub struct Translation {
    /// The text of the best hypothesis, on one line.
    pub text: String,
    /// The score of the best hypothesis: its log-probability divided by the length penalty.
    pub score: f64,
    /// The ids of the best hypothesis, with `</s>` if the model ended the sentence.
    pub tokens: Vec<u32>,
    /// The reason why the best hypothesis ends.
    pub finish: FinishReason,
    /// All hypotheses of [`search`](crate::search), in its order, the best first.
    pub n_best: Vec<Alternative>,
}

/// A hypothesis and its text.
#[derive(Clone, Debug, PartialEq)]
pub struct Alternative {
    /// The text on one line.
    pub text: String,
    /// The ids, log-probabilities and score.
    pub hypothesis: Hypothesis,
}

impl Translation {
    pub(crate) fn new(n_best: Vec<Alternative>) -> Self {
        let best = n_best
            .first()
            .expect("a search returns at least one hypothesis")
            .clone();
        Self {
            text: best.text,
            score: best.hypothesis.score,
            tokens: best.hypothesis.tokens,
            finish: best.hypothesis.finish,
            n_best,
        }
    }
}

/// `text` with a space for each line break: a model can spell any byte, but one line of input gives
/// one line of output.
pub(crate) fn one_line(text: &str) -> String {
    text.replace(
        |c| matches!(c, '\n'..='\r' | '\u{85}' | '\u{2028}' | '\u{2029}'),
        " ",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_translation_is_always_one_line() {
        assert_eq!(one_line("a\nb\r\nc\u{2028}d\te"), "a b  c d\te");
    }
}
