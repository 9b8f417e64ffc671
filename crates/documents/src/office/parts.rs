//! Finds the files of an archive that contain text. An Office document relates its files to each
//! other and names their types, and a book lists its files; the names of the files are free.

use std::collections::HashMap;

use burnformer_files::archive::unpack;

use super::archive::{Archive, name};
use super::kind::{LEFT, OfficeKind, READ, has};
use crate::encoding::Charset;
use crate::format::Format;
use crate::xml::elements;

/// Maximum number of bytes in all lists of files.
const MAX_LIST_BYTES: u64 = 16 << 20;
/// The list of the types of an Office document's files.
const TYPES: &str = "[content_types].xml";
/// The file of a book that names its lists of files.
const CONTAINER: &str = "meta-inf/container.xml";

/// The files of an archive that contain text for readers, or declare its language.
pub(super) struct Parts {
    kind: OfficeKind,
    /// For the path of a file, what relationships, types and lists say that it is.
    roles: HashMap<String, String>,
    /// If true, the archive lists every file with text.
    is_complete: bool,
    /// If true, a file is the main file of this kind of document.
    pub(super) has_main: bool,
}

impl Parts {
    /// Reads the lists of files in `zip`. A broken list is ignored.
    pub(super) fn of(zip: &mut Archive<'_>, kind: OfficeKind) -> Self {
        let mut lists = Lists::of(zip);
        let mut parts = Self {
            kind,
            roles: HashMap::new(),
            is_complete: false,
            has_main: false,
        };
        match kind {
            OfficeKind::Epub => parts.read_book(&mut lists),
            OfficeKind::OpenDocument => {}
            _ => {
                parts.read_types(&mut lists);
                let is_related = parts.read_relationships(&mut lists);
                parts.is_complete = (parts.has_main || is_related) && lists.left > 0;
            }
        }
        parts
    }

    /// Reads the types of an Office document's files.
    fn read_types(&mut self, lists: &mut Lists<'_, '_>) {
        let mut by_extension = HashMap::new();
        let mut types = Vec::new();
        for [file, extension, kind] in
            lists.entries(TYPES, ["PartName", "Extension", "ContentType"])
        {
            if file.is_empty() {
                by_extension.insert(extension.to_lowercase(), kind);
            } else {
                types.push((path("", &file), kind));
            }
        }
        for file in lists.files.keys() {
            let extension = file.rsplit('.').next().unwrap_or_default();
            let kind = by_extension.get(extension);
            types.extend(kind.map(|kind| (file.clone(), kind.clone())));
        }
        let programs = self.kind.entry(6);
        for (file, kind) in types {
            let kind = kind.strip_suffix("+xml").unwrap_or(&kind);
            let (program, last) = kind.rsplit_once('.').unwrap_or_default();
            self.has_main |=
                last == "main" && programs.split(' ').any(|name| program.contains(name));
            if has(READ, last) || has(LEFT, last) {
                self.roles.entry(file).or_insert_with(|| last.to_owned());
            }
        }
    }

    /// Reads the relationships of all files that are related to the document, and returns whether
    /// it has a main file.
    fn read_relationships(&mut self, lists: &mut Lists<'_, '_>) -> bool {
        let mut open = vec![String::new()];
        let mut is_related = false;
        while let Some(file) = open.pop() {
            let (folder, last) = file.rsplit_once('/').unwrap_or(("", &file));
            let list = path(folder, &format!("_rels/{last}.rels"));
            for [target, kind, mode] in lists.entries(&list, ["Target", "Type", "TargetMode"]) {
                let target = path(folder, &target);
                if mode == "External" || !lists.files.contains_key(&target) {
                    continue;
                }
                let role = kind.rsplit('/').next().unwrap_or_default();
                is_related |= role == "officeDocument";
                if has(READ, role) || has(LEFT, role) {
                    self.roles.insert(target.clone(), role.to_owned());
                }
                open.push(target);
            }
        }
        is_related
    }

    /// Reads the lists of a book's files.
    fn read_book(&mut self, lists: &mut Lists<'_, '_>) {
        let roots = lists.entries(CONTAINER, ["full-path", "media-type", "id"]);
        let roots = roots.into_iter().map(|[root, ..]| path("", &root));
        let others = lists.files.keys().filter(|file| file.ends_with(".opf"));
        let mut packages: Vec<String> = roots.chain(others.cloned()).collect();
        packages.sort();
        packages.dedup();
        for package in packages {
            let folder = package.rsplit_once('/').map_or("", |(folder, _)| folder);
            for [file, kind, _] in lists.entries(&package, ["href", "media-type", "id"]) {
                let role = kind.rsplit('/').next().unwrap_or_default();
                self.roles.insert(path(folder, &file), role.to_owned());
            }
            self.roles.insert(package, "opf".into());
        }
    }

    /// Returns whether the file `name` contains text for readers, or declares its language.
    pub(super) fn has_text(&self, name: &str) -> bool {
        let role = self.roles.get(&path("", name));
        match self.kind {
            OfficeKind::Epub => {
                role.is_some_and(|role| has(self.kind.entry(3), role)) || self.kind.has_text(name)
            }
            _ => {
                role.is_some_and(|role| has(READ, role))
                    || !self.is_complete && self.kind.has_text(name)
            }
        }
    }

    /// Returns whether the file `name` is a picture of a book, which may have texts that stay.
    pub(super) fn is_picture(&self, name: &str) -> bool {
        self.kind == OfficeKind::Epub
            && self
                .roles
                .get(&path("", name))
                .is_some_and(|role| role == "svg+xml")
    }

    /// Returns what the file `name` is, if it may contain text that is not read.
    pub(super) fn left(&self, name: &str) -> Option<&str> {
        let role = self.roles.get(&path("", name))?;
        has(LEFT, role).then_some(role)
    }
}

/// The files of an archive, by their paths, and how many bytes of their lists may be read.
struct Lists<'z, 'a> {
    zip: &'z mut Archive<'a>,
    files: HashMap<String, usize>,
    left: u64,
}

impl<'z, 'a> Lists<'z, 'a> {
    fn of(zip: &'z mut Archive<'a>) -> Self {
        let names = (0..zip.len()).filter_map(|index| Some((name(zip, index).ok()?, index)));
        let files = names
            .map(|(name, index)| (path("", &name), index))
            .collect();
        Self {
            zip,
            files,
            left: MAX_LIST_BYTES,
        }
    }

    /// Returns the values of these attributes of the elements in the list at `path` that have any
    /// of them. A list is read once.
    fn entries(&mut self, path: &str, names: [&str; 3]) -> Vec<[String; 3]> {
        let Some(xml) = self.files.remove(path).and_then(|index| self.text(index)) else {
            return Vec::new();
        };
        let all = elements(&xml).unwrap_or_default();
        let values = all
            .iter()
            .map(|element| names.map(|name| element.attribute(&xml, name).unwrap_or_default()));
        values
            .filter(|values: &[String; 3]| values.iter().any(|value| !value.is_empty()))
            .collect()
    }

    /// Returns the text of file `index`.
    fn text(&mut self, index: usize) -> Option<String> {
        let file = self.zip.by_index(index).ok()?;
        self.left = self.left.saturating_sub(file.size());
        if self.left == 0 {
            return None;
        }
        let mut bytes = Vec::new();
        unpack(file, &mut bytes).ok()?;
        Some(Charset::decode(&bytes, Format::Android).ok()?.0)
    }
}

/// Returns the path of the file that `target` names in `folder`. Names differ neither by case nor
/// by how their characters are written in an address.
fn path(folder: &str, target: &str) -> String {
    let target = target.split(['#', '?']).next().unwrap_or_default();
    let target = decoded(target).replace('\\', "/").to_lowercase();
    let folder = if target.starts_with('/') { "" } else { folder };
    let mut parts: Vec<&str> = Vec::new();
    for part in folder.split('/').chain(target.split('/')) {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// Decodes the bytes that an address writes by their numbers, such as `%20`.
fn decoded(address: &str) -> String {
    let mut bytes = Vec::with_capacity(address.len());
    let mut rest = address.as_bytes();
    while let [first, others @ ..] = rest {
        let number = others.get(..2).filter(|_| *first == b'%');
        let number = number.and_then(|digits| std::str::from_utf8(digits).ok());
        let number = number.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(number.unwrap_or(*first));
        rest = &others[number.map_or(0, |_| 2)..];
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_target_of_a_relationship_is_a_path_of_the_archive() {
        for (folder, target, expected) in [
            ("", "word/document.xml", "word/document.xml"),
            (
                "xl/worksheets",
                "../comments/comment1.xml",
                "xl/comments/comment1.xml",
            ),
            (
                "xl/worksheets",
                "/xl/Comments/Comment1.xml",
                "xl/comments/comment1.xml",
            ),
            (
                "oebps",
                "Text/chapter%201.xhtml#top",
                "oebps/text/chapter 1.xhtml",
            ),
            ("a", "./b/.././c%C3%A4.xml", "a/cä.xml"),
            ("a", "../../../b", "b"),
            ("a", "b\\c%2", "a/b/c%2"),
        ] {
            assert_eq!(path(folder, target), expected);
        }
    }
}
