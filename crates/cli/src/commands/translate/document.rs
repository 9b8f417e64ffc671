//! The whole input as one document.

use anyhow::Result;
use burnformer_data::corpus::read_text;
use burnformer_documents::{Document, Format, Link, Sentence, Translated};
use burnformer_infer::{TextLink, TranslateOptions, Translation, Translator};

use super::Args;
use crate::output::{Output, say};

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
    let limit = translator.longest_source(options);
    // One token is left for </s>.
    let fits = |sentence: &str| translator.tokenizers().source.encode(sentence).len() < limit;
    let language = args.language.as_ref().or(args.source_language.as_ref());
    let mut document = Document::parse(&text, format, language.map(String::as_str), &fits);
    loop {
        let pending = document.pending();
        if pending.is_empty() {
            break;
        }
        document.accept(translate(translator, &pending, options)?);
    }
    output.text(&document.finish())?;
    output.flush()
}

/// The translations of `sentences`, with links for those that need them.
fn translate(
    translator: &Translator,
    sentences: &[Sentence],
    options: &TranslateOptions,
) -> Result<Vec<Translated>> {
    let texts: Vec<&str> = sentences.iter().map(|sentence| sentence.text.as_str()).collect();
    let translations = translator.translate(&texts, options)?;
    let link = |(sentence, translation): (&Sentence, Translation)| {
        let links = match sentence.links {
            true => translator.links(&sentence.text, &translation.text)?,
            false => Vec::new(),
        };
        let link = |TextLink { source, target }| Link { source, target };
        Ok(Translated { text: translation.text, links: links.into_iter().map(link).collect() })
    };
    sentences.iter().zip(translations).map(link).collect()
}
