//! Documents for a translation model: text, HTML, Markdown, subtitles and localisation files.
//!
//! A [`Document`] yields sentences and accepts their translations. It writes the translated
//! document with its markup, white space and line structure. An [`Office`] document is read as a
//! page of HTML.
//!
//! A document consists of *blocks* (a paragraph, a heading, a table cell, a subtitle) and the
//! *skeleton* between them (block tags, scripts, code, indentation, subtitle times). The skeleton
//! stays unchanged, byte for byte, except for a declared language (`lang` in HTML). A block is
//! split into sentences, because models translate sentences. Markup within a block (`<b>`, a link,
//! an image) is taken out of the sentences. It is put back around the words of the translation that
//! are aligned to its words in the source. No translation can lose or duplicate a tag.
//!
//! Addresses, placeholders such as `{name}`, numbers and code must not be translated. They first go
//! to the model inside their sentence, because the sentence is then complete. If the translation
//! changes one of them, the sentence is translated again without them, and they are put back by
//! alignment.
//!
//! A [`Catalogue`] is a file of messages (PO, XLIFF, TMX, JSON and others). Each message without a
//! translation is a separate document. Its translation is written into the message's slot. All
//! other bytes stay unchanged, except states of messages, and the declared languages and plural
//! forms of the file.
//!
//! [`detect`] detects the language of a text from its words, without markup, code and addresses.
//!
//! The crate depends on no model and no tokeniser. It trades completeness for bounded cost: work
//! grows with the length of the text, and nothing recurses by the depth of the markup.
//!
//! ```
//! use burnformer_documents::{Document, Format, Link, PendingSentence, Translated};
//!
//! // A model that knows one sentence; a real one returns a link for every token.
//! fn translate(sentence: &PendingSentence) -> Translated {
//!     assert_eq!(sentence.text, "A red house.");
//!     let links = [(0..1, 0..3), (2..5, 10..15), (6..11, 4..9), (11..12, 15..16)];
//!     let links = links.map(|(source, target)| Link { source, target }).to_vec();
//!     Translated { text: "Une maison rouge.".into(), links }
//! }
//!
//! let page = "<p class=x>A <b>red</b> house.</p>";
//! let mut document = Document::parse(page, Format::Html, Some("en"), &|_| true);
//! loop {
//!     let pending = document.pending();
//!     if pending.is_empty() {
//!         break;
//!     }
//!     document.accept(pending.iter().map(translate).collect());
//! }
//! assert_eq!(document.finish(), "<p class=x>Une maison <b>rouge</b>.</p>");
//! ```

#![forbid(unsafe_code)]

mod accelerator;
mod alignment;
mod block;
mod builder;
mod catalogue;
mod cost;
mod detect;
mod document;
mod encoding;
mod ends;
mod escape;
mod format;
mod json_tree;
mod language;
mod message;
mod office;
mod placeables;
mod plurals;
mod projection;
mod render;
mod sentences;
mod split;
mod whole_file;
mod words;
mod xml;
mod xml_text;

use std::sync::Arc;

pub use burnformer_text::Link;
pub use catalogue::{BrokenCatalogue, Catalogue, Context, Message, MessageState, stream_tmx};
pub use cost::Cost;
pub use detect::{Detection, Languages, detect, prose, words_of};
pub use document::{Document, Remembered};
pub use encoding::BrokenFile;
pub use format::{Format, UnknownFormat};
pub use office::{Office, OfficeKind};
pub use split::Splitting;
pub use whole_file::WholeFile;

/// Plain text for the model: a sentence, or a clause of a sentence that is too long. It has no
/// markup, and no white space at its ends.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PendingSentence {
    /// The text to translate.
    pub text: String,
    /// If true, [`Translated::links`] are needed to put markup back. Without them, positions are
    /// estimated from word order.
    pub links: bool,
    /// The place of the sentence among the others.
    pub place: Place,
    /// What the file says about the text that begins with this sentence: PO's `msgctxt` or the
    /// comment of Qt, if it has several words.
    pub note: Option<Arc<str>>,
}

/// The place of a sentence among the other pending sentences.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Place {
    /// It stands alone: the text of an attribute, or a form of a plural.
    #[default]
    Alone,
    /// It begins a text: the document, or a message of a catalogue.
    First,
    /// It follows the previous sentence of its text.
    Next,
}

/// The translation of a [`PendingSentence`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Translated {
    /// The translation of [`PendingSentence::text`].
    pub text: String,
    /// The alignment, which may be empty. Links with ranges outside of the texts are ignored.
    pub links: Vec<Link>,
}

/// The README's program, compiled and run as a documentation test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
