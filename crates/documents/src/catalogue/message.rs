//! Messages of a catalogue, and the slots of the file into which their translations are written.

use std::fmt;
use std::sync::{Arc, LazyLock};

use regex::Regex;

use super::spelling::Spelling;
use crate::words::{Span, has_letters, regex};
use crate::xml_text::text_of;

/// A message of a catalogue: a source text and, if it is translated, its translation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// The line of the file at which the message begins, from 1.
    pub line: usize,
    /// The context that distinguishes messages with the same source: PO's `msgctxt`, a unit's id.
    pub context: Context,
    /// The source text. It may have tags.
    pub source: String,
    /// The translation; empty if there is none.
    pub target: String,
    /// The state of the translation.
    pub state: MessageState,
    /// The time at which the translation was made or changed, as the file writes it (TMX:
    /// `20240131T120000Z`); empty if the file does not say it.
    pub time: String,
    pub(crate) slot: Slot,
}

impl Message {
    /// A text of a file of one language, whose line is not known yet. A translation replaces the
    /// bytes of `range`.
    pub(super) fn text(
        context: impl Into<Context>,
        range: Span,
        source: String,
        spelling: Spelling,
    ) -> Self {
        let states = [MessageState::Kept, MessageState::Untranslated];
        let state = states[usize::from(is_language(&source))];
        let (group, around, [target, time]) = (range.start, Default::default(), Default::default());
        let slot = Slot {
            range,
            around,
            spelling,
            marks: vec![],
            group,
        };
        Self {
            line: 0,
            context: context.into(),
            source,
            target,
            state,
            time,
            slot,
        }
    }

    /// The source and the translation without elements of XLIFF or TMX and the code in them.
    pub fn plain(&self) -> [String; 2] {
        let is_markup = self.slot.is_markup();
        [&self.source, &self.target].map(|it| if is_markup { text_of(it) } else { it.clone() })
    }
}

/// The name of a message in its file. It is written as the names with a dot between them. Messages
/// of one group share its name, which may be long, and have no copies of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Context {
    group: Option<Arc<str>>,
    name: Arc<str>,
}

impl Context {
    /// The context of the message `name` in `group`.
    pub(super) fn new(group: &Arc<str>, name: &str) -> Self {
        Self {
            group: Some(Arc::clone(group)),
            name: name.into(),
        }
    }
}

impl From<Arc<str>> for Context {
    fn from(name: Arc<str>) -> Self {
        Self { group: None, name }
    }
}

impl From<String> for Context {
    fn from(name: String) -> Self {
        Arc::<str>::from(name).into()
    }
}

impl fmt::Display for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(group) = &self.group {
            write!(f, "{group}.")?;
        }
        f.write_str(&self.name)
    }
}

/// Values with letters that are not text to translate: identifiers with a sign, a capital or a
/// digit within, language codes, switches, plural rules, choice formats of Java, single letters.
static CODE: LazyLock<Regex> = LazyLock::new(|| {
    regex(concat!(
        r"^(?:true|false|null|[A-Za-z]|nplurals\s*=.*|[^\s{}%<>$]*(?:[a-z][A-Z]|[a-zA-Z][0-9]|\w[_.:=+]\w)[^\s{}%<>$]*|",
        r"[:.#@/?][A-Za-z][^\s{}%<>$]*|[a-z]{2,3}[-_](?:[A-Z]{2}|[A-Z][a-z]{3}))$|\{\s*\d+\s*,\s*choice\s*,",
    ))
});

/// Returns whether `text` has words to translate.
fn is_language(text: &str) -> bool {
    has_letters(text) && !(text.is_ascii() && CODE.is_match(text.trim()))
}

/// The state of the translation of a [`Message`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageState {
    /// The message has no translation.
    Untranslated,
    /// The translation has to be reviewed.
    Fuzzy,
    /// It is ready for use.
    Translated,
    /// The message is not to be translated.
    Kept,
}

/// The bytes of a file that a translation replaces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Slot {
    pub(crate) range: Span,
    /// The text before and after the written translation.
    pub(crate) around: [String; 2],
    pub(crate) spelling: Spelling,
    /// Other bytes that change with the translation: flags and states.
    pub(crate) marks: Vec<(Span, String)>,
    /// The number of the message. The plural forms of one message are written together.
    pub(crate) group: usize,
}

impl Slot {
    /// Does not write the PO flag that asks for a review: a person wrote the translation.
    pub(crate) fn accept(&mut self) {
        if matches!(self.spelling, Spelling::Po(_)) {
            self.marks.clear();
        }
    }

    /// Returns whether the text has tags of the file, which a text from elsewhere has not.
    pub(crate) fn has_tags(&self) -> bool {
        self.is_markup() || self.spelling == Spelling::Arms
    }

    /// Returns whether the text is XML.
    pub(crate) fn is_markup(&self) -> bool {
        matches!(self.spelling, Spelling::Markup | Spelling::Android(true))
    }
}

/// The error for a file that is not a valid catalogue of its format.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {fault}")]
pub struct BrokenCatalogue {
    /// The line at which it is broken, from 1.
    pub line: usize,
    /// The fault and its remedy.
    pub fault: String,
}

impl BrokenCatalogue {
    /// The fault at byte `at` of `text`.
    pub(crate) fn at(text: &str, at: usize, fault: impl Into<String>) -> Self {
        Self {
            line: Lines::of(text).number(at),
            fault: fault.into(),
        }
    }
}

/// The lines of a file.
pub(crate) struct Lines(Vec<usize>);

impl Lines {
    pub(crate) fn of(text: &str) -> Self {
        Self(text.match_indices('\n').map(|(at, _)| at).collect())
    }

    /// The number of the line of byte `at`, from 1.
    pub(crate) fn number(&self, at: usize) -> usize {
        self.0.partition_point(|&end| end < at) + 1
    }
}

/// The result of reading a catalogue.
pub(crate) type Result<T, E = BrokenCatalogue> = std::result::Result<T, E>;

/// Returns whether two codes (`de`, `DE-at`) name one language.
pub(crate) fn is_same(one: &str, other: &str) -> bool {
    let base = |code: &str| {
        code.split(['-', '_', '@'])
            .next()
            .map(str::to_ascii_lowercase)
    };
    base(one) == base(other)
}
