//! The whole input as one document.

use std::fs;

use anyhow::{Context, Result, ensure};
use burnformer_data::corpus::read_text;
use burnformer_documents::{Catalogue, Format, Message, MessageState, Office, OfficeKind};
use burnformer_infer::Cancel;

use super::job::Job;
use crate::output::{Output, note, say};
use crate::whole_documents::{Source, translate};

impl Job<'_> {
    /// Translates the input as one document in `format`, or as an office document of this kind.
    pub fn document(&self, format: Format, kind: Option<OfficeKind>) -> Result<()> {
        let Self { args, translator, options, input, output } = *self;
        let name = || input.display().to_string();
        let read = |kind| Office::read(fs::read(input)?, kind).map_err(anyhow::Error::from);
        let office = kind.map(read).transpose().with_context(name)?;
        let (text, format) = match &office {
            Some(office) => (office.html(), Format::Html),
            None => (self.text(format)?, format),
        };
        let mut output = Output::create(output, &[input])?;
        let language = args.language.as_deref().or(options.languages.source());
        let source = Source { text: &text, format, language };
        let translated = translate(translator, source, options, &Cancel::default());
        let translated = translated.with_context(name)?;
        output.text(match office {
            Some(office) => office.write(&translated),
            None => translated.into_bytes(),
        })?;
        output.flush()
    }

    /// The text of the input in `format`.
    fn text(&self, format: Format) -> Result<String> {
        let (text, replaced) = read_text(self.input)?;
        let name = self.input.display();
        if replaced {
            ensure!(
                !format.is_catalogue(),
                "{name}: has bytes that are not UTF-8; `iconv` converts it (PO: `msgconv -t UTF-8`)"
            );
            say(format_args!("{name}: bytes that are not UTF-8 are replaced by U+FFFD"));
        }
        let read = Catalogue::read(&text, format, [None; 2]);
        let messages = read.with_context(|| name.to_string())?.messages;
        if format.is_catalogue() {
            let is_new = |message: &&Message| message.state == MessageState::Untranslated;
            let (count, new) = (messages.len(), messages.iter().filter(is_new).count());
            note(format_args!("{name}: {new} of {count} messages have no translation"));
        }
        Ok(text)
    }
}
