//! Reads documents and catalogues.

use super::entry::Entry;
use super::{BYTE_ORDER_MARK, Document};
use crate::catalogue::{self, BrokenCatalogue, Catalogue, MessageState};
use crate::format::Format;
use crate::plurals::Categories;

/// Reads documents and gives their plurals the categories of the target language.
pub(super) struct Reader<'a> {
    /// The source and target language.
    languages: [Option<&'a str>; 2],
    target: Option<Categories>,
    more: &'a [MessageState],
}

impl<'a> Reader<'a> {
    /// Creates a reader that also reads translated messages in the states `more`.
    pub fn new(languages: [Option<&'a str>; 2], more: &'a [MessageState]) -> Self {
        Self {
            languages,
            target: languages[1].and_then(Categories::of),
            more,
        }
    }

    /// Reads a document of `format`.
    ///
    /// # Errors
    /// See [`Catalogue::read`].
    pub fn document(&self, text: &str, format: Format) -> Result<Document, BrokenCatalogue> {
        let rest = text.strip_prefix(BYTE_ORDER_MARK);
        let source = catalogue::in_language(rest.unwrap_or(text), format, self.languages);
        let source = match &self.target {
            Some(target) => catalogue::with_categories(&source, format, target)?,
            None => source,
        };
        let is_pending =
            |state: &_| *state == MessageState::Untranslated || self.more.contains(state);
        let messages = Catalogue::read_into(&source, format, self.languages)?.messages;
        let messages = messages.into_iter().filter(|it| is_pending(&it.state));
        let entries = messages
            .map(|message| Entry::new(message, format))
            .collect();
        Ok(Document {
            byte_order_mark: rest.is_some(),
            ..Document::with_messages(source, format, entries)
        })
    }
}
