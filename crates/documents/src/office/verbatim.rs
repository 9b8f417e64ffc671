//! Elements that stay unchanged.

use std::borrow::Cow;
use std::collections::HashSet;

use super::kind::{HIDDEN, OfficeKind, has};
use crate::format::keeps;
use crate::xml::Element;

/// The parts of PowerPoint that slides inherit from.
const MASTERS: &str = "p:sldMaster p:sldLayout p:notesMaster p:handoutMaster";

/// For each element, whether it or an enclosing one stays unchanged. Books follow the rules of
/// HTML.
pub(super) fn verbatim_elements(
    xml: &str,
    kind: OfficeKind,
    all: &[Element<'_>],
    names: &[Cow<'_, str>],
) -> Vec<bool> {
    let prompts = prompts(xml, all, names);
    let mut is_verbatim: Vec<bool> = Vec::with_capacity(all.len());
    for (index, element) in all.iter().enumerate() {
        let around = element.parent.is_some_and(|parent| is_verbatim[parent]);
        let own = if kind == OfficeKind::Epub {
            keeps(&tag(xml, element, &names[index]))
        } else {
            has(HIDDEN, &names[index]).then_some(true)
        };
        is_verbatim.push(own.unwrap_or(around || prompts.contains(&index)));
    }
    is_verbatim
}

/// Returns the start tag of `element` with the name `name`.
fn tag<'a>(xml: &'a str, element: &Element<'_>, name: &str) -> Cow<'a, str> {
    let raw = &xml[element.tag.clone()];
    if element.name == name {
        raw.into()
    } else {
        format!("<{name}{}", &raw[1 + element.name.len()..]).into()
    }
}

/// Returns the shapes of a master with PowerPoint's own words, such as "Click to edit". No slide
/// shows them.
fn prompts(xml: &str, all: &[Element<'_>], names: &[Cow<'_, str>]) -> HashSet<usize> {
    let is_master = names.first().is_some_and(|root| has(MASTERS, root));
    let mut shapes = HashSet::new();
    for (index, element) in all.iter().enumerate().filter(|_| is_master) {
        if names[index] == "p:ph" && element.attribute(xml, "hasCustomPrompt").is_none() {
            let mut shape = Some(index);
            while let Some(at) = shape.filter(|&at| names[at] != "p:sp") {
                shape = all[at].parent;
            }
            shapes.extend(shape);
        }
    }
    shapes
}
