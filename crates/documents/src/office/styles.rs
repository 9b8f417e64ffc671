//! Character styles that raise their text, such as those of note references in Word and
//! LibreOffice.

use std::borrow::Cow;
use std::collections::HashMap;

use super::kind::has;
use super::names::names;
use crate::xml::{Element, elements};

/// Maximum number of styles that inherit from each other.
const MAX_PARENTS: usize = 20;

/// What a style says itself.
#[derive(Clone, Debug, Default)]
struct Style {
    is_raised: Option<bool>,
    parent: Option<String>,
}

/// The character styles of a file, by name.
#[derive(Clone, Debug, Default)]
pub(super) struct Styles(HashMap<String, Style>);

impl Styles {
    /// Reads the styles that the other files of a document use; `None` if `xml` has none. A broken
    /// file has none.
    pub(super) fn shared(xml: &str) -> Option<Self> {
        let all = elements(xml).ok().filter(|_| xml.contains("styles"))?;
        let names = names(xml, &all);
        let has_styles = names.iter().any(|name| has("office:styles w:styles", name));
        has_styles.then(|| Self::of(xml, &all, &names))
    }

    /// Returns the styles in `xml`, which has the elements `all` with the names `kinds`.
    pub(super) fn of(xml: &str, all: &[Element<'_>], kinds: &[Cow<'_, str>]) -> Self {
        let mut styles = HashMap::<String, Style>::new();
        let mut names = HashMap::<usize, String>::new();
        for (index, element) in all.iter().enumerate() {
            let own = |name| element.attribute(xml, name);
            let kind = &*kinds[index];
            match kind {
                "style:style" | "w:style" => {
                    let family = own("family").or_else(|| own("type"));
                    let is_character = family.is_none_or(|it| it == "text" || it == "character");
                    let name = own("styleId").or_else(|| own("name"));
                    if let Some(name) = name.filter(|_| is_character) {
                        let parent = own("parent-style-name");
                        let is_raised = None;
                        styles.insert(name.clone(), Style { is_raised, parent });
                        names.insert(index, name);
                    }
                }
                "w:basedOn" | "style:text-properties" | "w:vertAlign" => {
                    let mut around = element.parent;
                    if kind == "w:vertAlign" {
                        around = around.and_then(|parent| all[parent].parent);
                    }
                    let name = around.and_then(|style| names.get(&style));
                    let Some(style) = name.and_then(|name| styles.get_mut(name)) else {
                        continue;
                    };
                    match kind {
                        "w:basedOn" => style.parent = own("val"),
                        "w:vertAlign" => style.is_raised = own("val").map(|it| is_raised(&it)),
                        _ => style.is_raised = own("text-position").map(|it| is_raised(&it)),
                    }
                }
                _ => {}
            }
        }
        Self(styles)
    }

    /// Returns whether the style `name` raises its text. Names that this file lacks are in
    /// `shared`.
    pub(super) fn raises(&self, name: &str, shared: &Self) -> bool {
        let mut name = name;
        for _ in 0..MAX_PARENTS {
            let style = self.0.get(name).or_else(|| shared.0.get(name));
            match style {
                Some(Style {
                    is_raised: Some(is_raised),
                    ..
                }) => return *is_raised,
                Some(Style {
                    parent: Some(parent),
                    ..
                }) => name = parent,
                _ => return false,
            }
        }
        false
    }
}

/// Returns whether a position of text, such as `superscript`, `super 58%` or `33% 58%`, is above
/// the line.
pub(super) fn is_raised(position: &str) -> bool {
    position.starts_with("super") || position.starts_with(|c: char| c.is_ascii_digit() && c != '0')
}
