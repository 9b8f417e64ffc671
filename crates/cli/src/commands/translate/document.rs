//! The whole input as one document.

use anyhow::Result;
use burnformer_data::corpus::read_text;
use burnformer_documents::Format;
use burnformer_infer::Cancel;

use super::job::Job;
use crate::embedded::DEFAULT_MODEL;
use crate::output::{Output, say};
use crate::whole_documents::{Source, translate};

impl Job<'_> {
    /// Translates the input as one document in `format`.
    pub fn document(&self, format: Format) -> Result<()> {
        let Self { args, translator, options, input, output } = *self;
        let (text, replaced) = read_text(input)?;
        if replaced {
            let name = input.display();
            say(format_args!("{name}: bytes that are not UTF-8 are replaced by U+FFFD"));
        }
        let mut output = Output::create(output, &[input])?;
        let model = args.model.first().map_or(Some(DEFAULT_MODEL), |model| model.to_str());
        let language = args.language.as_deref().or(args.searching.source_language.as_deref());
        let language = language.or_else(|| source_language(model?));
        let source = Source { text: &text, format, language };
        output.text(&translate(translator, source, options, &Cancel::default())?)?;
        output.flush()
    }
}

/// The first language of a model that is called by its pair (`opus-mt-de-en`).
fn source_language(model: &str) -> Option<&str> {
    let (rest, target) = model.rsplit_once('-')?;
    let source = rest.rsplit(['-', '/', ':', '\\']).next()?;
    let is_code = |code: &str| code.len() == 2 && code.bytes().all(|c| c.is_ascii_lowercase());
    (is_code(source) && is_code(target)).then_some(source)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_model_tells_its_language() {
        for name in ["embedded:de-en", "models/opus-mt-de-en", "de-fr", "firefox:de-en"] {
            assert_eq!(source_language(name), Some("de"));
        }
        for name in ["runs/mine/best", "m2m-100", "my-model", "en"] {
            assert_eq!(source_language(name), None);
        }
    }
}
