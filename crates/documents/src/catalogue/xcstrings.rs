//! Xcode's string catalogues: each string with its localizations. The localizations of the target
//! language are read and written.

mod copy;
mod file;
mod language;
mod layout;

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use self::copy::Copy;
use self::file::{File, TO_REVIEW, has_text, is_object};
use self::language::target_of;
use self::layout::Layout;
use super::message::is_language;
use super::message::{BrokenCatalogue, Context, Lines, Message, MessageState, Result, Slot};
use super::spelling::Spelling;
use crate::json_tree::{Value, value};
use crate::plurals::{Categories, NAMES, hides};

/// Reads the messages of `text` for the language `target`, by default the first one in the file,
/// and the source and target language.
pub(super) fn read(
    text: &str,
    target: Option<&str>,
) -> Result<(Vec<Message>, [Option<String>; 2])> {
    let root = value(text)?;
    let source = root.get("sourceLanguage").and_then(|it| it.string(text));
    let strings = root.get("strings").filter(|it| is_object(text, it));
    let (Some(source), Some(strings)) = (source, strings) else {
        let fault = "the file is no string catalogue of Xcode: it has no `sourceLanguage` and \
            `strings`; name its format with --format";
        return Err(BrokenCatalogue::at(text, 0, fault));
    };
    let target = target_of(strings, &source, target);
    let target = target.map_err(|fault| BrokenCatalogue::at(text, 0, fault))?;
    let mut file = File {
        text,
        lines: Lines::of(text),
        layout: Layout::of(text, &root, strings),
        spelling: Spelling::Json(text.is_ascii() && text.contains("\\u")),
        categories: Categories::of(&target),
        languages: [&source, &target],
        messages: Vec::new(),
    };
    strings.children.iter().for_each(|it| file.string(it));
    let messages = file.messages;
    Ok((messages, [Some(source), Some(target)]))
}

/// A localization and its source.
#[derive(Clone, Copy)]
struct Pair<'a> {
    target: &'a Value,
    /// `None` if the source is the key.
    source: Option<&'a Value>,
    /// If true, it is an arm of a plural.
    is_arm: bool,
}

impl File<'_> {
    /// Reads the string `entry`. Xcode marks a string as stale if the program lacks it.
    fn string(&mut self, entry: &Value) {
        let [translates, extracted] = ["shouldTranslate", "extractionState"]
            .map(|name| entry.get(name).map(|it| &self.text[it.range.clone()]));
        let is_kept = translates == Some("false") || extracted == Some("\"stale\"");
        if is_kept || !is_object(self.text, entry) {
            return;
        }
        let all = entry.get("localizations");
        let [source, target] = self.languages.map(|language| all?.get(language));
        let key = Arc::from(&*entry.key);
        let target = target.filter(|target| has_text(target));
        let Some(target) = target else {
            return self.new_localization(&key, entry, source);
        };
        let pair = Pair {
            target,
            source,
            is_arm: false,
        };
        self.localization(&key, pair);
    }

    /// Adds the localization that the string `entry` lacks, a copy of its `source`.
    fn new_localization(&mut self, key: &Arc<str>, entry: &Value, source: Option<&Value>) {
        let language = self.languages[1];
        let all = entry.get("localizations");
        let mut copy = Copy::new(self, key);
        if let Some(empty) = all.and_then(|all| all.get(language)) {
            copy.localization(source, 4, false);
            let messages = copy.messages(empty.range.clone());
            return self.messages.extend(messages);
        }
        let (parent, name, depth) = match all {
            Some(all) => (all, language, 4),
            None => (entry, "localizations", 3),
        };
        let (at, [before, after]) = self.layout.place(parent, name, depth);
        copy.push(&before);
        copy.key(name);
        if all.is_none() {
            copy.open(3);
            copy.key(language);
        }
        copy.localization(source, 4, false);
        if all.is_none() {
            copy.close(3);
        }
        copy.push(&after);
        let messages = copy.messages(at);
        self.messages.extend(messages);
    }

    /// Reads the texts of an existing localization.
    fn localization(&mut self, key: &Arc<str>, pair: Pair<'_>) {
        let [substitutions, variations] =
            ["substitutions", "variations"].map(|name| pair.source.and_then(|it| it.get(name)));
        for child in &pair.target.children {
            match &*child.key {
                "stringUnit" => self.unit(key, child, pair),
                "substitutions" => self.arms(key, child, substitutions, pair),
                "variations" => {
                    for kind in &child.children {
                        let source = variations.and_then(|it| it.get(&kind.key));
                        match &*kind.key {
                            "plural" => self.plural(key, kind, source, pair),
                            _ => self.arms(key, kind, source, pair),
                        }
                    }
                }
                _ => {}
            }
        }
    }

    /// Reads each value in `arms`, which vary by the device or width, or are numbers of the text.
    fn arms(&mut self, key: &Arc<str>, arms: &Value, source: Option<&Value>, pair: Pair<'_>) {
        let sources = source.map_or(&[][..], |source| &source.children);
        let sources: HashMap<&str, &Value> = sources.iter().map(|it| (&*it.key, it)).collect();
        let whole = pair.source.filter(|it| it.get("stringUnit").is_some());
        for target in &arms.children {
            let source = sources.get(&*target.key).copied().or(whole);
            let pair = Pair {
                target,
                source,
                ..pair
            };
            self.localization(key, pair);
        }
    }

    /// Reads the arms of a plural, and adds the ones that the target language needs. A plural in an
    /// arm of another stays unchanged.
    fn plural(&mut self, key: &Arc<str>, plural: &Value, source: Option<&Value>, pair: Pair<'_>) {
        if pair.is_arm || plural.children.is_empty() {
            return;
        }
        let start = self.messages.len();
        for target in &plural.children {
            let source = match source {
                Some(source) => self.arm_for(source, &target.key),
                None => pair.source,
            };
            let pair = Pair {
                target,
                source,
                is_arm: true,
            };
            if NAMES.contains(&&*target.key) {
                self.localization(key, pair);
            }
        }
        let depth = self.layout.depth(self.text, plural) + 1;
        for name in self.needed(plural) {
            if plural.get(name).is_some() {
                continue;
            }
            let source = match source {
                Some(source) => self.arm_for(source, name),
                None => pair.source,
            };
            let (at, [before, after]) = self.layout.place(plural, name, depth);
            let mut copy = Copy::new(self, key);
            copy.push(&before);
            copy.key(name);
            copy.localization(source, depth, true);
            copy.push(&after);
            let messages = copy.messages(at);
            self.messages.extend(messages);
        }
        self.messages[start..].sort_by_key(|message| message.slot.range.start);
    }

    /// Returns the categories of the target language and of `plural`, in the order of Xcode.
    /// Foundation takes `zero` for 0 in every language.
    fn needed(&self, plural: &Value) -> BTreeSet<&'static str> {
        let own = NAMES
            .iter()
            .copied()
            .filter(|name| plural.get(name).is_some());
        match &self.categories {
            Some(categories) => {
                let zero = own.filter(|name| *name == "zero");
                categories.names().chain(zero).collect()
            }
            None => own.collect(),
        }
    }

    /// Returns the arm of the plural `source` that is translated for the category `name`. A
    /// category with several numbers must show the number.
    fn arm_for<'a>(&self, source: &'a Value, name: &str) -> Option<&'a Value> {
        let other = source.get("other").or(source.children.last());
        let arm = source.get(name);
        let categories = self.categories.as_ref();
        let texts = [arm, other].map(|value| main_text(self.text, value?));
        let is_hidden = match texts {
            [Some(arm), Some(other)] => hides(&arm, &other),
            _ => false,
        };
        let is_hidden = is_hidden && categories.is_some_and(|it| it.has_several(name));
        arm.filter(|_| !is_hidden).or(other)
    }

    /// Reads a text with its state.
    fn unit(&mut self, key: &Arc<str>, unit: &Value, pair: Pair<'_>) {
        let value = unit.get("value");
        let Some((value, target)) = value.and_then(|it| Some((it, it.string(self.text)?))) else {
            return;
        };
        let source = pair.source.and_then(|it| main_text(self.text, it));
        let source = source.unwrap_or_else(|| key.to_string());
        let state = unit.get("state");
        let marks = state.map(|state| (state.range.clone(), TO_REVIEW.to_string()));
        let state = match state.and_then(|it| it.string(self.text)).as_deref() {
            Some("new") => MessageState::Untranslated,
            _ if target.is_empty() => MessageState::Untranslated,
            Some("translated") | None => MessageState::Translated,
            Some(_) => MessageState::Fuzzy,
        };
        let state = match state {
            MessageState::Untranslated if !is_language(&source) => MessageState::Kept,
            state => state,
        };
        let slot = Slot {
            range: value.inner(),
            around: Default::default(),
            spelling: self.spelling.clone(),
            marks: marks.into_iter().collect(),
            group: value.range.start,
            is_plural: pair.is_arm,
        };
        let message = self.message(key, [source, target], state, slot);
        self.messages.push(message);
    }

    fn message(
        &self,
        key: &Arc<str>,
        [source, target]: [String; 2],
        state: MessageState,
        slot: Slot,
    ) -> Message {
        Message {
            line: self.lines.number(slot.range.start),
            context: Context::from(Arc::clone(key)),
            source,
            target,
            state,
            time: String::new(),
            slot,
        }
    }
}

/// Returns the text of a localization: the one for other numbers and devices, if there are several.
fn main_text(text: &str, localization: &Value) -> Option<String> {
    if let Some(unit) = localization.get("stringUnit") {
        return unit.get("value")?.string(text);
    }
    let variations = localization.get("variations")?.children.first()?;
    let other = variations.get("other").or(variations.children.last())?;
    main_text(text, other)
}
