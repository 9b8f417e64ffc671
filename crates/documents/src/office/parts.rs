//! Finds the files of an archive that contain text. An Office document names the type of each file,
//! and a book lists its files; the names of the files are free.

use std::collections::HashSet;

use burnformer_files::archive::unpack;

use super::archive::{Archive, name};
use super::kind::{OfficeKind, has};
use crate::encoding::Charset;
use crate::format::Format;
use crate::xml::{Element, elements};

/// Maximum number of bytes in all lists of files.
const MAX_LIST_BYTES: u64 = 4 << 20;
/// The list of the types of an Office document's files.
const TYPES: &str = "[Content_Types].xml";

/// The files of an archive that contain text for readers, or declare its language.
pub(super) struct Parts {
    kind: OfficeKind,
    listed: HashSet<String>,
    /// If true, the archive lists every file with text.
    is_complete: bool,
    /// If true, a file is the main file of this kind of document.
    pub(super) has_main: bool,
}

impl Parts {
    /// Reads the lists of files in `zip`. A broken list is ignored.
    pub(super) fn of(zip: &mut Archive<'_>, kind: OfficeKind) -> Self {
        let mut parts = Self {
            kind,
            listed: HashSet::new(),
            is_complete: false,
            has_main: false,
        };
        let mut left = MAX_LIST_BYTES;
        for index in 0..zip.len() {
            let Ok(file) = name(zip, index) else { continue };
            let is_list = match kind {
                OfficeKind::Epub => file.ends_with(".opf"),
                OfficeKind::OpenDocument => false,
                _ => file == TYPES,
            };
            if let Some(xml) = is_list.then(|| list(zip, index, &mut left)).flatten()
                && let Ok(all) = elements(&xml)
            {
                all.iter().for_each(|element| match kind {
                    OfficeKind::Epub => parts.item(&xml, element, &file),
                    _ => parts.part(&xml, element),
                });
            }
        }
        parts.is_complete = parts.has_main;
        parts
    }

    /// Adds an element of an Office document's list of types.
    fn part(&mut self, xml: &str, element: &Element<'_>) {
        let attribute = |name| element.attribute(xml, name);
        let (Some(part), Some(kind)) = (attribute("PartName"), attribute("ContentType")) else {
            return;
        };
        let kind = kind.strip_suffix("+xml").unwrap_or_default();
        let (program, last) = kind.rsplit_once('.').unwrap_or_default();
        let types = self.kind.entry(6);
        let is_ours = || types.split(' ').any(|name| program.contains(name));
        self.has_main |= last == "main" && is_ours();
        if has(types, last) {
            self.listed.insert(part.trim_start_matches('/').into());
        }
    }

    /// Adds an element of a book's list of files, which is in the file `list`.
    fn item(&mut self, xml: &str, element: &Element<'_>, list: &str) {
        let attribute = |name| element.attribute(xml, name);
        let (Some(href), Some(kind)) = (attribute("href"), attribute("media-type")) else {
            return;
        };
        if has("application/xhtml+xml application/x-dtbncx+xml", &kind) {
            let folder = list.rfind('/').map_or("", |slash| &list[..slash + 1]);
            self.listed.insert(format!("{folder}{href}"));
        }
    }

    /// Returns whether the file `name` contains text for readers, or declares its language.
    pub(super) fn has_text(&self, name: &str) -> bool {
        self.listed.contains(name) || !self.is_complete && self.kind.has_text(name)
    }
}

/// Returns the text of file `index`, a list of files. `left` is the number of bytes that it and
/// other lists may have.
fn list(zip: &mut Archive<'_>, index: usize, left: &mut u64) -> Option<String> {
    let file = zip.by_index(index).ok()?;
    *left = left.checked_sub(file.size())?;
    let mut bytes = Vec::new();
    unpack(file, &mut bytes).ok()?;
    Some(Charset::decode(&bytes, Format::Android).ok()?.0)
}
