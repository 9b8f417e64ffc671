//! The whole input as one document.

use anyhow::{Context, Result};
use burnformer_documents::{Catalogue, Format, Message, MessageState};
use burnformer_infer::Cancel;

use super::job::Job;
use crate::memory::{Remedy, with_remedy};
use crate::output::{OnFailure, Output, check_writable, note};
use crate::texts::read_document;

impl Job<'_> {
    /// Translates the input as one document in `format`, or as an office document of the kind
    /// `office`.
    pub fn document(&self, format: Format, office: Option<&str>) -> Result<()> {
        let Self {
            args,
            translator,
            options,
            input,
            output,
        } = *self;
        let name = input.display().to_string();
        let has_translation = [MessageState::Fuzzy, MessageState::Translated];
        let more = if args.retranslate {
            &has_translation[..]
        } else {
            &[]
        };
        let file = read_document(input, office.unwrap_or(format.name()))?;
        if format.is_catalogue() && office.is_none() {
            let all = Catalogue::read(&file.text, format, [None; 2])
                .with_context(|| name.clone())?
                .messages;
            let count = all.len();
            let new = all
                .iter()
                .filter(|message: &&Message| message.state == MessageState::Untranslated)
                .count();
            note(format_args!(
                "{name}: {new} of {count} messages have no translation"
            ));
        }
        output.map_or(Ok(()), check_writable)?;
        let language = args.language.as_deref();
        let translated = with_remedy(Remedy::Batch, || {
            let cancel = Cancel::default();
            anyhow::Ok(burnformer_translation::translate(
                translator, &file, language, more, options, &cancel,
            )?)
        });
        let translated = translated.with_context(|| name.clone())?;
        let mut output = Output::create(output, OnFailure::Discard)?;
        output.text(translated)?;
        output.finish()
    }
}
