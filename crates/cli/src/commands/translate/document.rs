//! The whole input as one document.

use std::fs;

use anyhow::{Context, Result, ensure};
use burnformer_data::corpus::read_text;
use burnformer_documents::{Catalogue, Format, Message, MessageState, WholeFile};
use burnformer_infer::Cancel;

use super::job::Job;
use crate::output::{Output, note, say};
use crate::whole_documents::translate;

impl Job<'_> {
    /// Translates the input as one document in `format`, or as an office document of this kind.
    pub fn document(&self, format: Format, office: Option<&str>) -> Result<()> {
        let Self { args, translator, options, input, output } = *self;
        let name = || input.display().to_string();
        let read = |kind| anyhow::Ok(WholeFile::read(fs::read(input)?, kind)?);
        let file = match office {
            Some(kind) => read(kind).with_context(name)?,
            None => WholeFile::of_text(self.text(format)?, format),
        };
        let mut output = Output::create(output, &[input])?;
        let language = args.language.as_deref().or(options.languages.source());
        let translated = translate(translator, &file, language, options, &Cancel::default());
        output.text(translated.with_context(name)?)?;
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
