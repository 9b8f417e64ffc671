//! Requests with their texts and contexts.

use std::fmt;
use std::sync::Arc;

use burnformer_terminology::Term;

use crate::hypothesis::FinishReason;
use crate::search::Request;

/// A function that takes the settled beginning of a translation each time that it has grown. Clones
/// share it. It is called from the threads that search.
#[derive(Clone)]
pub struct Report(Arc<dyn Fn(&str) + Send + Sync>);

impl Report {
    /// Reports to `take`.
    pub fn new(take: impl Fn(&str) + Send + Sync + 'static) -> Self {
        Self(Arc::new(take))
    }

    /// Passes on the settled beginning of the text.
    pub fn call(&self, settled: &str) {
        (self.0)(settled);
    }
}

impl fmt::Debug for Report {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("Report")
    }
}

/// The sentences before a sentence in its document, the oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TextContext {
    /// The previous sources.
    pub sources: Vec<String>,
    /// Their translations. If there are fewer than sources, the translations of the oldest are
    /// missing.
    pub targets: Vec<String>,
}

impl TextContext {
    /// The context of sources alone.
    pub fn of_sources<S: Into<String>>(sources: impl IntoIterator<Item = S>) -> Self {
        Self {
            sources: sources.into_iter().map(Into::into).collect(),
            targets: Vec::new(),
        }
    }

    /// Appends a sentence and its translation, and forgets all but the last `most`. An empty
    /// sentence ends the document.
    pub(super) fn push(&mut self, source: &str, target: Option<String>, most: usize) {
        if burnformer_text::is_blank(source) {
            *self = Self::default();
            return;
        }
        self.sources.push(source.into());
        self.targets.extend(target);
        for side in [&mut self.sources, &mut self.targets] {
            let surplus = side.len().saturating_sub(most);
            side.drain(..surplus);
        }
    }
}

/// A sentence to translate: a request to the search, and the text that it was made from.
#[derive(Clone, Debug, Default)]
pub struct TextRequest {
    /// The text of the source. If it is empty, the text of the ids is used.
    pub text: String,
    /// The terms as text. Searches with another form of the source look for them again.
    pub wanted: Vec<Term>,
    /// The sentences before it in its document. A model that was not trained with context ignores
    /// them.
    pub context: TextContext,
    /// The request to the search.
    pub search: Request,
    /// Follows the translation to text. What was reported is never taken back: the translation
    /// begins with it, and the last report is the whole.
    ///
    /// A greedy search settles each token, and a beam search the tokens that all of its hypotheses
    /// share. A sentence that a protection may search for again is reported as a whole: one with
    /// terms, numbers, placeholders or paired signs, in capitals, or with unknown characters. If
    /// a translation changes all the same, for example after a loop, it is searched for again with
    /// the reported text as its prefix.
    pub report: Option<Report>,
    /// The text of the translation and the reason, if no search is needed. The source is empty
    /// then.
    pub(super) answer: Option<(String, FinishReason)>,
}

impl TextRequest {
    /// A request for `text` that needs no search, with the `translation` of a memory.
    pub fn known(text: &str, translation: String) -> Self {
        Self {
            text: text.into(),
            answer: Some((translation, FinishReason::Memory)),
            ..Self::default()
        }
    }

    /// Returns the request for `text`, another form of the same sentence.
    pub(super) fn in_form(&self, text: String, search: Request) -> Self {
        Self {
            text,
            wanted: self.wanted.clone(),
            context: self.context.clone(),
            search,
            report: None,
            answer: self.answer.clone(),
        }
    }
}

impl From<Request> for TextRequest {
    /// A request without a text.
    fn from(search: Request) -> Self {
        Self {
            search,
            ..Self::default()
        }
    }
}

/// The searches of `requests`.
pub(super) fn searches(requests: &[TextRequest]) -> Vec<Request> {
    requests
        .iter()
        .map(|request| request.search.clone())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_history_is_bounded() {
        let mut context = TextContext::default();
        for number in 0..5 {
            context.push(&number.to_string(), Some(format!("t{number}")), 2);
        }
        assert_eq!(context.sources, ["3", "4"]);
        assert_eq!(context.targets, ["t3", "t4"]);
        context.push(" ", Some(String::new()), 2);
        assert_eq!(context, TextContext::default());
    }
}
