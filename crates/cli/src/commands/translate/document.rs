//! The whole input as one document.

use anyhow::Result;
use burnformer_data::corpus::read_text;
use burnformer_documents::Format;
use burnformer_infer::{Cancel, TranslateOptions, Translator};

use super::args::Args;
use crate::output::{Output, say};
use crate::whole_documents::{Source, translate};

/// Translates `--input` and writes `--output`, both in `format`.
pub(super) fn run(
    args: &Args,
    format: Format,
    translator: &Translator,
    options: &TranslateOptions,
) -> Result<()> {
    let (text, replaced) = read_text(&args.input)?;
    if replaced {
        let name = args.input.display();
        say(format_args!("{name}: bytes that are not UTF-8 are replaced by U+FFFD"));
    }
    let mut output = Output::create(args.output.as_deref(), &[&args.input])?;
    let language = args.language.as_ref().or(args.searching.source_language.as_ref());
    let source = Source { text: &text, format, language: language.map(String::as_str) };
    output.text(&translate(translator, source, options, &Cancel::default())?)?;
    output.flush()
}
