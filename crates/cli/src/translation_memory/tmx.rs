//! TMX 1.4, read from its beginning to its end with one unit in memory.

use std::collections::BTreeSet;
use std::io::{BufRead, Read};
use std::mem::take;
use std::path::Path;

use anyhow::{Result, anyhow, bail, ensure};
use burnformer_data::corpus::open_text;
use quick_xml::Reader;
use quick_xml::escape::{partial_escape, unescape};
use quick_xml::events::{BytesStart, Event};

/// The elements in a segment whose content is code and not text.
const CODES: [&str; 5] = ["bpt", "ept", "it", "ph", "ut"];
/// The most bytes of a unit.
const LONGEST: usize = 16 << 20;

/// Passes the pairs of the TMX file `path` to `add`, with the time of their last change. Of
/// `languages` that are not known, the first is the file's source, and the second the unit's next.
///
/// # Errors
/// If the file cannot be read, is no TMX, is broken, or has no pair in these languages.
pub(super) fn read(
    path: &Path,
    languages: [Option<&str>; 2],
    add: &mut dyn FnMut([String; 2], String),
) -> Result<()> {
    let mut reader = Reader::from_reader(open_text(path)?);
    let mut units = Units { languages, ..Units::default() };
    let mut buffer = Vec::new();
    loop {
        buffer.clear();
        let event = reader.read_event_into(&mut buffer);
        let end = matches!(event, Ok(Event::Eof));
        let fault = match event {
            Err(error) => Some(format!(
                "the XML is broken: {error}; `xmllint --noout` shows more, and `iconv` makes UTF-8 of other text"
            )),
            Ok(event) => units.take(event, add).err().map(|fault| fault.to_string()),
        };
        if let Some(fault) = fault {
            let at = reader.error_position().max(reader.buffer_position());
            let line = open_text(path)?.take(at).split(b'\n').count().max(1);
            return Err(anyhow!("{}: line {line}: {fault}", path.display()));
        }
        if end {
            return units.check(path);
        }
    }
}

/// The state of the file so far, and the unit that is read.
#[derive(Default)]
struct Units<'a> {
    languages: [Option<&'a str>; 2],
    /// The language of the sources in the file, in small letters.
    source: Option<String>,
    named: BTreeSet<String>,
    /// The names of the elements that are open.
    open: Vec<String>,
    /// The languages and texts of the unit, its time, and its bytes so far.
    variants: Vec<(String, String)>,
    time: String,
    size: usize,
    pairs: usize,
}

impl Units<'_> {
    fn take(&mut self, event: Event<'_>, add: &mut dyn FnMut([String; 2], String)) -> Result<()> {
        self.size += event.len();
        if self.size > LONGEST {
            bail!("a unit has more than 16 MB; divide it");
        }
        match event {
            Event::Start(tag) => {
                self.begin(&tag)?;
                self.open.push(tag.local_name().as_ref().into());
            }
            Event::Empty(tag) => self.begin(&tag)?,
            Event::Text(text) => self.text(&text),
            Event::CData(text) => self.text(&partial_escape(&*text)),
            Event::GeneralRef(name) => self.text(&format!("&{};", &*name)),
            Event::End(_) if self.open.pop().is_some_and(|name| name == "tu") => self.finish(add),
            Event::Eof => {
                if let Some(name) = self.open.last() {
                    bail!("the element `{name}` is not closed; the file may be cut off");
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn begin(&mut self, tag: &BytesStart<'_>) -> Result<()> {
        let name = tag.local_name();
        if self.open.is_empty() && name.as_ref() != "tmx" {
            bail!("the file is no TMX: its first element is `{}`, not `tmx`", name.as_ref());
        }
        let value = |name: &str| {
            let mut all = tag.attributes();
            let mut all = all.with_checks(false).flatten();
            let found = all.find(|attribute| attribute.key.local_name().as_ref() == name);
            found.map(|attribute| attribute.value.to_string())
        };
        match name.as_ref() {
            "header" => self.source = value("srclang").filter(|source| source != "*all*"),
            "tu" | "tuv" => {
                let time = ["changedate", "creationdate"].into_iter().find_map(value);
                self.time = take(&mut self.time).max(time.unwrap_or_default());
            }
            _ => {}
        }
        if name.as_ref() == "tuv" {
            let language = value("lang").unwrap_or_default();
            self.named.insert(language.clone());
            self.variants.push((language, String::new()));
        }
        Ok(())
    }

    /// Adds the XML text `raw` to the segment, if it is one of it.
    fn text(&mut self, raw: &str) {
        let mut within = self.open.iter().skip_while(|name| *name != "seg");
        let is_text = within.next().is_some() && !within.any(|name| CODES.contains(&&**name));
        if let Some((_, text)) = self.variants.last_mut().filter(|_| is_text) {
            text.push_str(raw);
        }
    }

    /// Passes on the unit that has ended.
    fn finish(&mut self, add: &mut dyn FnMut([String; 2], String)) {
        let (variants, time) = (take(&mut self.variants), take(&mut self.time));
        self.size = 0;
        let [from, to] = self.languages;
        let of = |language: &str| variants.iter().position(|(known, _)| is_same(known, language));
        let source = from.or(self.source.as_deref()).map_or(Some(0), of);
        let other = || (0..variants.len()).find(|&index| Some(index) != source);
        let target = to.map_or_else(other, of);
        if let (Some(source), Some(target)) = (source, target.filter(|_| source != target)) {
            self.pairs += 1;
            let text = |index: usize| {
                let raw = variants.get(index).map_or("", |(_, text)| text);
                unescape(raw).map_or(raw.into(), |text| text.into_owned())
            };
            add([text(source), text(target)], time);
        }
    }

    /// Checks that there was a pair.
    fn check(&self, path: &Path) -> Result<()> {
        if self.pairs > 0 {
            return Ok(());
        }
        let path = path.display();
        let named = self.named.iter().cloned().collect::<Vec<_>>().join(", ");
        ensure!(!named.is_empty(), "{path}: no TMX with units; export the memory as TMX 1.4");
        let [from, to] = self.languages.map(|language| language.unwrap_or("another language"));
        bail!(
            "{path}: no unit has a text in {from} and one in {to}, but in {named}; take a memory of the model's languages"
        )
    }
}

/// Returns whether two codes (`de`, `DE-at`) name one language.
fn is_same(one: &str, other: &str) -> bool {
    let base = |code: &str| code.split(['-', '_']).next().map(str::to_ascii_lowercase);
    base(one) == base(other)
}
