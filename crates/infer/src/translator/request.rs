//! Requests with their texts.

use burnformer_terminology::Term;

use crate::hypothesis::FinishReason;
use crate::search::Request;

/// A sentence to translate: a request to the search, and the text that it was made from.
#[derive(Clone, Debug, Default)]
pub struct TextRequest {
    /// The text of the source. If it is empty, the text of the ids is used.
    pub text: String,
    /// The terms as text. Searches with another form of the source look for them again.
    pub wanted: Vec<Term>,
    /// The request to the search.
    pub search: Request,
    /// The text of the translation and the reason, if no search is needed. The source is empty then.
    pub(super) answer: Option<(String, FinishReason)>,
}

impl TextRequest {
    /// Returns the request for `text`, another form of the same sentence.
    pub(super) fn in_form(&self, text: String, search: Request) -> Self {
        Self {
            text,
            wanted: self.wanted.clone(),
            search,
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
