//! The names of elements, whatever prefixes a file gives to namespaces.

use std::borrow::Cow;
use std::collections::HashMap;

use crate::words::Span;
use crate::xml::{Element, attributes};

/// Namespaces, one a line, and their usual prefixes, in tab-separated columns.
const NAMESPACES: &str = include_str!("namespaces.tsv");
/// The beginnings of Office's namespaces in the transitional and in the strict form of its formats.
const OFFICE_NAMESPACES: [&str; 2] = [
    "http://schemas.openxmlformats.org/",
    "http://purl.oclc.org/ooxml/",
];

/// Returns the names of the elements `all` of `xml` with the usual prefixes of their namespaces. An
/// element of an unknown namespace keeps its prefix.
pub(super) fn names<'a>(xml: &'a str, all: &[Element<'a>]) -> Vec<Cow<'a, str>> {
    let mut scope = Scope::default();
    all.iter().map(|element| scope.name(xml, element)).collect()
}

/// The prefixes that are declared at a place of a file.
#[derive(Default)]
struct Scope<'a> {
    /// For each prefix, the usual prefixes of its namespaces, the innermost last.
    prefixes: HashMap<&'a str, Vec<Option<&'static str>>>,
    /// The ends of elements with declarations, and the prefixes that they declare.
    open: Vec<(usize, &'a str)>,
}

impl<'a> Scope<'a> {
    fn name(&mut self, xml: &'a str, element: &Element<'a>) -> Cow<'a, str> {
        self.enter(xml, element);
        let (prefix, local) = element.name.split_once(':').unwrap_or(("", element.name));
        let usual = self.prefixes.get(prefix).and_then(|all| *all.last()?);
        match usual {
            Some(usual) if usual == prefix => element.name.into(),
            Some("") => local.into(),
            Some(usual) => format!("{usual}:{local}").into(),
            None => element.name.into(),
        }
    }

    /// Reads the declarations of `element`, and ends the declarations of elements before it.
    fn enter(&mut self, xml: &'a str, element: &Element<'a>) {
        while let Some((_, prefix)) = self.open.pop_if(|(end, _)| *end <= element.tag.start) {
            self.prefixes.get_mut(prefix).and_then(Vec::pop);
        }
        let Span { start, end } = element.tag;
        let tag = &xml[start..end];
        if !tag.contains("xmlns") {
            return;
        }
        for (name, value) in attributes(tag) {
            let prefix = match name.strip_prefix("xmlns") {
                Some("") => "",
                Some(rest) => rest.trim_start_matches(':'),
                None => continue,
            };
            let usual = usual(&tag[value]);
            self.prefixes.entry(prefix).or_default().push(usual);
            self.open.push((element.outer.end, prefix));
        }
    }
}

/// Returns the usual prefix of a namespace.
fn usual(namespace: &str) -> Option<&'static str> {
    let office = OFFICE_NAMESPACES
        .iter()
        .find_map(|office| namespace.strip_prefix(office));
    let short = office.map(|rest| rest.replacen("/2006/", "/", 1));
    let namespace = short.as_deref().unwrap_or(namespace);
    let mut rows = NAMESPACES.lines().filter_map(|row| row.split_once('\t'));
    rows.find_map(|(known, prefix)| (known == namespace).then_some(prefix))
}
