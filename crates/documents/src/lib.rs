//! Documents for a translation model: text, pages, Markdown, subtitles and localisation files go
//! in; sentences come out; their translations go back in; and the translated document comes out
//! with its markup, white space and line structure. An [`Office`] document is a page of HTML on the
//! way.
//!
//! A [`Document`] is a *skeleton* that stays unchanged, byte for byte (tags of blocks, scripts,
//! code, indentation, times of subtitles), and *blocks* of text between its parts (a paragraph, a
//! heading, a table cell, a subtitle). A block is split into sentences, because models translate
//! sentences. Markup within a block (`<b>`, a link, an image) is taken out of the sentences. It is
//! put back around the words of the translation that are aligned to its words in the source. No
//! translation can lose or double a tag.
//!
//! Addresses, placeholders such as `{name}`, numbers and code must not be translated. They go to
//! the model with their sentence first, because the sentence is then complete. If the translation
//! changes one of them, the sentence is translated a second time without them, and they are put
//! back by alignment.
//!
//! A [`Catalogue`] is a file of messages (PO, XLIFF, TMX, JSON and others). Each message without a
//! translation is a separate document, whose translation is written into the message's slot; all
//! other bytes stay unchanged.
//!
//! [`detect`] tells the language of a text from its words, without markup, code and addresses.
//!
//! The crate knows no model and no tokeniser. It trades completeness for a bounded cost: work grows
//! with the length of the text, and nothing recurses by the depth of the markup.
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

pub use burnformer_glossary::{Link, rows};
pub use catalogue::{BrokenCatalogue, Catalogue, Context, Message, MessageState, stream_tmx};
pub use cost::Cost;
pub use detect::{Detection, Languages, detect, prose, words_of};
pub use document::Document;
pub use encoding::BrokenFile;
pub use format::{Format, UnknownFormat};
pub use office::{Office, OfficeKind};
pub use whole_file::WholeFile;

/// Plain text for the model: one sentence, or a clause of a sentence that is too long for the
/// model. It has no markup and neither leading nor trailing white space.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingSentence {
    /// The text to translate.
    pub text: String,
    /// If true, [`Translated::links`] are needed to put markup back. If they are missing, positions
    /// are estimated from the order of words.
    pub links: bool,
}

/// The translation of a [`PendingSentence`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Translated {
    /// The translation of [`PendingSentence::text`].
    pub text: String,
    /// The alignment. It may be empty; links with ranges outside of the texts are ignored.
    pub links: Vec<Link>,
}

/// The program in the README, which the tests compile and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
