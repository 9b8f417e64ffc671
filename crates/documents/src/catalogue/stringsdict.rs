//! Apple's plural tables: property lists with a text for each category of a number.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use super::message::{BrokenCatalogue, Context, Message, Result};
use super::spelling::Spelling;
use crate::plurals::{Arm, NAMES, Plural};
use crate::xml::{Element, elements};
use crate::xml_text::{plain, with_plain_line_ends};

/// The beginning of the keys that are not names.
const RESERVED: &str = "NSString";
/// The key of a rule, and the rule of plurals.
const RULE: &str = "NSStringFormatSpecTypeKey";
const PLURAL_RULE: &str = "NSStringPluralRuleType";
/// The key of the type of a number.
const NUMBER: &str = "NSStringFormatValueTypeKey";

/// Reads the texts of a file and their plurals.
pub(super) fn read(text: &str) -> Result<(Vec<Message>, Vec<Plural>)> {
    let all = elements(text)?;
    let fault = "the file is no plural table of Apple: its first element is not `plist`; name its format with --format";
    if all.first().is_none_or(|root| root.name != "plist") {
        return Err(BrokenCatalogue::at(text, 0, fault));
    }
    let mut file = File {
        text,
        all: &all,
        ..File::default()
    };
    (0..all.len()).for_each(|index| file.element(index));
    if !file.has_rules && !file.messages.is_empty() {
        let fault = "the file is a property list without rules of plurals; `plutil -convert json \
            -o NEW.json FILE` makes JSON of it";
        return Err(BrokenCatalogue::at(text, 0, fault));
    }
    let plurals = file.arms.into_iter();
    let plurals = plurals.filter(|(dictionary, _)| file.plurals.contains(dictionary));
    Ok((file.messages, plurals.map(|(_, plural)| plural).collect()))
}

#[derive(Default)]
struct File<'a> {
    text: &'a str,
    all: &'a [Element<'a>],
    /// The key of the next value of each dictionary, as an element.
    keys: HashMap<usize, usize>,
    /// The name of each dictionary.
    names: HashMap<usize, Arc<str>>,
    /// The dictionaries that are plurals.
    plurals: HashSet<usize>,
    /// If true, one of the keys is [`RESERVED`].
    has_rules: bool,
    arms: BTreeMap<usize, Plural>,
    messages: Vec<Message>,
}

impl File<'_> {
    fn element(&mut self, index: usize) {
        let element = &self.all[index];
        let Some(dictionary) = element.parent.filter(|it| self.all[*it].name == "dict") else {
            return;
        };
        if element.name == "key" {
            self.keys.insert(dictionary, index);
            return;
        }
        let Some(key) = self.keys.remove(&dictionary) else {
            return;
        };
        let Some(name) = plain(&self.text[self.all[key].inner.clone()]) else {
            return;
        };
        self.has_rules |= name.starts_with(RESERVED);
        match element.name {
            "dict" => drop(self.names.insert(index, name.into())),
            "string" => self.string(dictionary, (key, &name), element),
            _ => {}
        }
    }

    /// Reads the string of the key `name`, an element, in `dictionary`.
    fn string(&mut self, dictionary: usize, (key, name): (usize, &str), element: &Element<'_>) {
        let raw = &self.text[element.inner.clone()];
        let Some(source) = plain(&with_plain_line_ends(raw)) else {
            return;
        };
        if name == RULE && source == PLURAL_RULE {
            self.plurals.insert(dictionary);
        }
        let is_empty = element.inner.is_empty();
        if name == RULE || name == NUMBER || is_empty {
            return;
        }
        let range = element.inner.clone();
        if NAMES.contains(&name) {
            let whole = self.all[key].outer.start..element.outer.end;
            let arm = Arm::new(self.text, name, whole, range.clone());
            let plural = self.arms.entry(dictionary).or_default();
            // Foundation takes this arm for 0 in every language.
            plural.has_zero = true;
            plural.arms.push(arm);
        }
        let group = self.names.entry(dictionary).or_default();
        let context = Context::new(group, name);
        let message = Message::text(context, range, source, Spelling::of_xml(raw));
        self.messages.push(message);
    }
}
