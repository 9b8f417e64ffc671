//! Messages of a catalogue, and the slots of the file that receive their translations.

use std::fmt;
use std::sync::{Arc, LazyLock};

use burnformer_text::{Grammar, is_code};
use isolang::Language;
use regex::Regex;

use super::spelling::Spelling;
use crate::split::Splitting;
use crate::words::{Span, has_letters, regex};
use crate::xml_text::text_of;

/// A message of a catalogue: a source text and its translation, if there is one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// The line where the message begins, from 1.
    pub line: usize,
    /// Distinguishes messages with the same source: PO's `msgctxt`, or the unit's id.
    pub context: Context,
    /// The source text, which may contain tags.
    pub source: String,
    /// The translation; empty if there is none.
    pub target: String,
    /// The state of the translation.
    pub state: MessageState,
    /// When the translation was made or changed, as the file writes it (TMX: `20240131T120000Z`);
    /// empty if the file does not say.
    pub time: String,
    pub(crate) slot: Slot,
}

impl Message {
    /// Creates the message for a text in a monolingual file. A translation replaces the bytes of
    /// `range`. The line is set later.
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
            is_plural: false,
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

    /// Returns the source and translation without XLIFF and TMX elements and the code in them.
    pub fn plain(&self) -> [String; 2] {
        let is_markup = self.slot.is_markup();
        [&self.source, &self.target].map(|it| if is_markup { text_of(it) } else { it.clone() })
    }
}

/// The name of a message in its file, written with dots between its parts. The messages of a group
/// share the group's name, because it may be long.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Context {
    group: Option<Arc<str>>,
    name: Arc<str>,
}

impl Context {
    /// Creates the context of the message `name` in `group`.
    pub(super) fn new(group: &Arc<str>, name: &str) -> Self {
        Self {
            group: Some(Arc::clone(group)),
            name: name.into(),
        }
    }

    /// Returns whether the message has a name in its group.
    pub(crate) fn has_group(&self) -> bool {
        self.group.is_some()
    }

    /// The last part, if it has several words. Without white space it is a name, such as `button`.
    pub(crate) fn note(&self) -> Option<Arc<str>> {
        let is_text = self.name.trim().contains(char::is_whitespace);
        is_text.then(|| Arc::clone(&self.name))
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

/// Values that are not prose although they contain letters: identifiers (with a sign, or a capital
/// or digit inside), language codes, switches, plural rules, Java choice formats, single letters.
static CODE: LazyLock<Regex> = LazyLock::new(|| {
    regex(concat!(
        r"^(?:true|false|null|[A-Za-z]|nplurals\s*=.*|[^\s{}%<>$]*(?:[a-z][A-Z]|[a-zA-Z][0-9]|\w[_.:=+]\w)[^\s{}%<>$]*|",
        r"[:.#@/?][A-Za-z][^\s{}%<>$]*|[a-z]{2,3}[-_](?:[A-Z]{2}|[A-Z][a-z]{3}))$|\{\s*\d+\s*,\s*choice\s*,",
    ))
});

/// Returns whether `text` has words to translate.
pub(super) fn is_language(text: &str) -> bool {
    has_letters(text) && !is_code(text) && !(text.is_ascii() && CODE.is_match(text.trim()))
}

/// The state of the translation of a [`Message`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageState {
    /// The message has no translation.
    Untranslated,
    /// The translation needs a review.
    Fuzzy,
    /// The translation is ready for use.
    Translated,
    /// The message must not be translated.
    Kept,
}

/// The bytes of a file that a translation replaces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Slot {
    pub(crate) range: Span,
    /// Text written before and after the translation.
    pub(crate) around: [String; 2],
    pub(crate) spelling: Spelling,
    /// Other edits made with the translation: flags and states.
    pub(crate) marks: Vec<(Span, String)>,
    /// The index of the message. Plural forms of one message are written together.
    pub(crate) group: usize,
    /// If true, the text is one of several plural forms.
    pub(crate) is_plural: bool,
}

impl Slot {
    /// Removes the PO flag that asks for a review, because a person wrote the translation.
    pub(crate) fn accept(&mut self) {
        if matches!(self.spelling, Spelling::Po(..)) {
            self.marks.clear();
        }
    }

    /// Returns the grammar of the placeholders in `source`, the text of the message. Android and
    /// Apple have one, and use it for texts with arguments.
    pub(crate) fn grammar(&self, source: &str) -> Grammar {
        let flag = match self.spelling {
            Spelling::Po(_, grammar) => return grammar,
            Spelling::Android(_) | Spelling::AndroidQuoted => "java-printf-format",
            Spelling::Apple => "objc-format",
            _ => return Grammar::default(),
        };
        // Names in brackets are of another grammar.
        let has_arguments = !source.contains("%(")
            && (source.contains("%1$") || !Grammar::default().arguments(source).is_empty());
        Grammar::of_flag(flag)
            .filter(|_| has_arguments)
            .unwrap_or_default()
    }

    /// Returns the signs of accelerators in labels of the format.
    pub(crate) fn accelerators(&self) -> &'static str {
        match self.spelling {
            Spelling::Po(..) => "&_",
            Spelling::Xml | Spelling::Markup | Spelling::Json(_) | Spelling::Property { .. } => "&",
            _ => "",
        }
    }

    /// Returns how the text is divided. The lines of a pattern of Fluent are one paragraph.
    pub(crate) fn splitting(&self) -> Splitting {
        match self.spelling {
            Spelling::Pattern(_) => Splitting::Sentences,
            _ => Splitting::Lines,
        }
    }

    /// Returns whether the text contains the file's own tags, which a text from elsewhere lacks.
    pub(crate) fn has_tags(&self) -> bool {
        self.is_markup() || self.spelling == Spelling::Arms
    }

    /// Returns whether the text is XML.
    pub(crate) fn is_markup(&self) -> bool {
        matches!(self.spelling, Spelling::Markup | Spelling::Android(true))
    }
}

/// The error for a file that violates its catalogue format.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {fault}")]
pub struct BrokenCatalogue {
    /// The line of the error, from 1.
    pub line: usize,
    /// What is wrong, and the remedy.
    pub fault: String,
}

impl BrokenCatalogue {
    /// Creates the error for byte `at` of `text`.
    pub(crate) fn at(text: &str, at: usize, fault: impl Into<String>) -> Self {
        Self {
            line: Lines::of(text).number(at),
            fault: fault.into(),
        }
    }
}

/// The offsets of a file's lines.
pub(crate) struct Lines(Vec<usize>);

impl Lines {
    pub(crate) fn of(text: &str) -> Self {
        Self(text.match_indices('\n').map(|(at, _)| at).collect())
    }

    /// Returns the line number of byte `at`, from 1.
    pub(crate) fn number(&self, at: usize) -> usize {
        self.0.partition_point(|&end| end < at) + 1
    }
}

/// The result of reading a catalogue.
pub(crate) type Result<T, E = BrokenCatalogue> = std::result::Result<T, E>;

/// Returns whether two codes, such as `de` and `DE-at` or `deu`, name the same language.
pub(crate) fn is_same(one: &str, other: &str) -> bool {
    base(one) == base(other)
}

/// Returns whether two codes name different languages. Unknown codes name none.
pub(super) fn differ(one: &str, other: &str) -> bool {
    let [one, other] = [one, other].map(base);
    matches!((one, other), (Base::Known(one), Base::Known(other)) if one != other)
}

/// The language of a code without its region and script.
#[derive(PartialEq, Eq)]
enum Base {
    Known(Language),
    Unknown(String),
}

fn base(code: &str) -> Base {
    let code = code.split(['-', '_', '@']).next().unwrap_or_default();
    let code = code.to_ascii_lowercase();
    // Old codes, and languages that others include.
    let code = match code.as_str() {
        "iw" => "he",
        "in" => "id",
        "no" | "nor" => "nb",
        "cmn" => "zh",
        "tl" | "tgl" => "fil",
        code => code,
    };
    match Language::from_639_1(code).or_else(|| Language::from_639_3(code)) {
        Some(language) => Base::Known(language),
        None => Base::Unknown(code.into()),
    }
}

/// Returns a model's language code, such as `pt_BR` or `deu_Latn`, as files write it.
pub(crate) fn tag_of(code: &str) -> String {
    let parts: Vec<&str> = code.split(['-', '_']).collect();
    let short = Language::from_639_3(parts[0]).and_then(|language| language.to_639_1());
    let first = short.unwrap_or(parts[0]);
    // mBART's codes without a region have the region XX.
    let rest = parts[1..]
        .iter()
        .filter(|part| !["Latn", "XX"].contains(part));
    rest.fold(first.to_owned(), |all, part| all + "-" + part)
}
