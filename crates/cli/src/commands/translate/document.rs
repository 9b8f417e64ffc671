//! The whole input as one document.

use std::path::Path;

use anyhow::{Context, Result};
use burnformer_documents::{Catalogue, Message, MessageState};
use burnformer_infer::Cancel;
use burnformer_translation::Route;

use super::args::Args;
use crate::allocator::{Remedy, with_remedy};
use crate::output::{OnFailure, Output, check_writable, note, say};
use crate::texts::read_document;

/// Translates `input` as one document of this `kind`, the name of a format or an extension, into
/// the file `output`; `None` is standard output.
pub(super) fn translate(
    args: &Args,
    route: &Route,
    input: &Path,
    output: Option<&Path>,
    kind: &str,
) -> Result<()> {
    let name = input.display().to_string();
    let has_translation = [MessageState::Fuzzy, MessageState::Translated];
    let more = if args.retranslate {
        &has_translation[..]
    } else {
        &[]
    };
    let file = read_document(input, kind)?;
    let leftovers = file.untranslated();
    if !leftovers.is_empty() {
        say(format_args!(
            "warning: {name}: stays in the source language: {leftovers}"
        ));
    }
    if file.format.is_catalogue() {
        let all = Catalogue::read_into(&file.text, file.format, route.languages())
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
            route, &file, language, more, &cancel,
        )?)
    });
    let translated = translated.with_context(|| name.clone())?;
    let mut output = Output::create(output, OnFailure::Discard)?;
    output.text(translated)?;
    output.finish()
}
