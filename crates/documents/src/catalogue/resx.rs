//! Resource files of .NET: the texts among their data.

use super::message::{BrokenCatalogue, Message, Result};
use super::spelling::Spelling;
use crate::xml::{Element, elements};
use crate::xml_text::{plain, with_plain_line_ends};

/// Reads the texts of a file.
pub(super) fn read(text: &str) -> Result<Vec<Message>> {
    let all = elements(text)?;
    let fault = "the file is no resource file of .NET: its first element is not `root`; name its format with --format";
    if all.first().is_none_or(|root| root.name != "root") {
        return Err(BrokenCatalogue::at(text, 0, fault));
    }
    let values = all.iter().filter(|element| element.name == "value");
    let message = |value: &Element<'_>| {
        let data = &all[value.parent?];
        let is_text = data.name == "data" && data.parent == Some(0) && is_text(text, data);
        let name = data.attribute(text, "name").filter(|_| is_text)?;
        // The designer writes names and types of its parts under such names.
        let name = Some(name).filter(|name| !name.starts_with(">>"))?;
        let raw = &text[value.inner.clone()];
        let source = plain(&with_plain_line_ends(raw))?;
        let range = value.inner.clone();
        (!range.is_empty()).then(|| Message::text(name, range, source, Spelling::of_xml(raw)))
    };
    Ok(values.filter_map(message).collect())
}

/// Returns whether `data` is a string: a file, picture or number names its type.
fn is_text(text: &str, data: &Element<'_>) -> bool {
    let kind = data.attribute(text, "type");
    let is_string = |kind: &str| kind.split(',').next() == Some("System.String");
    data.attribute(text, "mimetype").is_none() && kind.is_none_or(|kind| is_string(&kind))
}
