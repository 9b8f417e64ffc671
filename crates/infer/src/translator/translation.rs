use burnformer_data::Tokenizer;

use crate::hypothesis::{FinishReason, Hypothesis};

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
    /// All hypotheses that [`search`](crate::search) returned, in its order; the first is the best
    /// one.
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
    pub(super) fn new(hypotheses: Vec<Hypothesis>, tokenizer: &Tokenizer) -> Self {
        let alternative = |hypothesis: Hypothesis| {
            let text = text_of(&hypothesis, tokenizer);
            Alternative { text, hypothesis }
        };
        let n_best: Vec<Alternative> = hypotheses.into_iter().map(alternative).collect();
        let best = n_best.first().expect("a search returns at least one hypothesis").clone();
        Self {
            text: best.text,
            score: best.hypothesis.score,
            tokens: best.hypothesis.tokens,
            finish: best.hypothesis.finish,
            n_best,
        }
    }
}

/// The text of a hypothesis, on one line.
pub(super) fn text_of(hypothesis: &Hypothesis, tokenizer: &Tokenizer) -> String {
    if let Some(text) = &hypothesis.memory {
        return one_line(text);
    }
    let text = one_line(&tokenizer.decode_copying(&hypothesis.tokens, &hypothesis.copies));
    if hypothesis.is_raised { text.to_uppercase() } else { text }
}

/// `text` with each line break replaced by a space. A model can spell any byte, and one line of
/// input must give one line of output.
fn one_line(text: &str) -> String {
    let breaks = |c| matches!(c, '\n'..='\r' | '\u{85}' | '\u{2028}' | '\u{2029}');
    text.replace(breaks, " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_translation_is_one_line_whatever_the_model_spells() {
        assert_eq!(one_line("a\nb\r\nc\u{2028}d\te"), "a b  c d\te");
    }
}
