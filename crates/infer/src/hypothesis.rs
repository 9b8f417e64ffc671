use derive_more::Display;

/// The reason why a hypothesis ends, displayed by its name in results.
#[derive(Clone, Copy, Debug, Default, Display, PartialEq, Eq, Hash)]
#[display(rename_all = "kebab-case")]
pub enum FinishReason {
    /// The model ended the sentence with `</s>`.
    #[default]
    EndOfSentence,
    /// The length limit was reached, or no token was allowed to follow.
    Limit,
    /// A translation memory has the translation.
    Memory,
}

/// A translation as token ids.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Hypothesis {
    /// The generated ids, with `</s>` if the model ended the sentence.
    pub tokens: Vec<u32>,
    /// The model's natural log-probability of each of `tokens`, before any constraint or
    /// temperature.
    pub log_probs: Vec<f32>,
    /// The sum of `log_probs` divided by the [`LengthPenalty`](crate::LengthPenalty). Hypotheses
    /// are ranked by it. Of one that [is raised](Self::is_raised) it is the score of the text in
    /// capitals, as [`Translator::score`](crate::Translator::score) gives it.
    pub score: f64,
    /// The reason why the hypothesis ends.
    pub finish: FinishReason,
    /// If true, the first search found a loop, or lost a number or a placeholder, and this was
    /// found by another one; see
    /// [`SearchSettings::second_search`](crate::SearchSettings::second_search) and
    /// [`SearchSettings::keep_parts`](crate::SearchSettings::keep_parts).
    pub is_second: bool,
    /// If true, the source was in capitals and this is a translation of its small letters, whose
    /// text is written in capitals again; see
    /// [`SearchSettings::small_letters`](crate::SearchSettings::small_letters).
    pub is_raised: bool,
    /// The text of the source that each unknown token stands for.
    pub copies: Vec<String>,
    /// The text that a translation memory has, in the place of one of `tokens`.
    pub memory: Option<String>,
}

impl Hypothesis {
    /// The translation of an empty source: no tokens, with probability 1.
    pub fn empty() -> Self {
        Self::default()
    }

    /// The translation of a memory, with probability 1.
    pub(crate) fn from_memory(text: String) -> Self {
        Self { memory: Some(text), finish: FinishReason::Memory, ..Self::default() }
    }
}
