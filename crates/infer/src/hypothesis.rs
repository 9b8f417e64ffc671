/// Why a hypothesis ends where it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FinishReason {
    /// The model closed the sentence.
    EndOfSentence,
    /// The length limit was reached, or no token was allowed to follow.
    Limit,
}

/// A translation as token ids.
#[derive(Clone, Debug, PartialEq)]
pub struct Hypothesis {
    /// Generated ids, with `</s>` if the model closed the sentence.
    pub tokens: Vec<u32>,
    /// The model's natural log-probability of each of `tokens`, before any constraint or temperature.
    pub log_probs: Vec<f32>,
    /// Their sum divided by the [`LengthPenalty`](crate::LengthPenalty); hypotheses are ranked by it.
    pub score: f64,
    /// Why it ends.
    pub finish: FinishReason,
}

impl Hypothesis {
    /// The translation of nothing: no tokens, certain.
    pub fn empty() -> Self {
        Self {
            tokens: Vec::new(),
            log_probs: Vec::new(),
            score: 0.0,
            finish: FinishReason::EndOfSentence,
        }
    }
}
