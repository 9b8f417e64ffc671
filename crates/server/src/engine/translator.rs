//! A [`Translator`] as an engine.

use burnformer_documents::Link;
use burnformer_infer::{
    Alternative, InferError, LengthPenalty, LongSources, Translation, Translator,
};

use super::{Candidate, Choice, Engine, EngineError, Work};

impl Engine for Translator {
    fn translate(&self, work: &[Work], choice: Choice) -> Result<Vec<Vec<Candidate>>, EngineError> {
        let mut options = self.options();
        let search = &mut options.search;
        search.beam_size = choice.beam.unwrap_or(search.beam_size).max(choice.n_best);
        search.n_best = choice.n_best.max(1);
        if let Some(thousandths) = choice.alpha {
            search.length_penalty = LengthPenalty::Gnmt(f64::from(thousandths) / 1000.0);
        }
        options.long_sources = LongSources::Truncate;
        let texts: Vec<&str> = work.iter().map(|work| &work.text[..]).collect();
        let prefixes: Vec<&str> = work.iter().map(|work| &work.prefix[..]).collect();
        let translations =
            self.translate_with_prefixes(&texts, &prefixes, &options).map_err(engine_error)?;
        let candidates = |(work, translation): (&Work, Translation)| {
            let candidate = |alternative: Alternative| {
                let links =
                    if work.links { links(self, work, &alternative.text)? } else { Vec::new() };
                let score = alternative.hypothesis.score;
                Ok(Candidate { text: alternative.text, score, links })
            };
            translation.n_best.into_iter().map(candidate).collect()
        };
        work.iter().zip(translations).map(candidates).collect()
    }

    fn fits(&self, sentence: &str) -> bool {
        let limit = self.longest_source(&self.options());
        // A token has at least one byte, and `</s>` is one more.
        sentence.len() < limit || self.tokenizers().source.encode(sentence).len() < limit
    }
}

fn links(translator: &Translator, work: &Work, target: &str) -> Result<Vec<Link>, EngineError> {
    match translator.links(&work.text, target) {
        Ok(links) => Ok(links
            .into_iter()
            .map(|link| Link { source: link.source, target: link.target })
            .collect()),
        // Without them markup is placed by the length of the texts.
        Err(
            InferError::NoAttention
            | InferError::SourceTooLong { .. }
            | InferError::TargetTooLong { .. },
        ) => Ok(Vec::new()),
        Err(error) => Err(engine_error(error)),
    }
}

fn engine_error(error: InferError) -> EngineError {
    match error {
        InferError::PrefixTooLong { .. }
        | InferError::PrefixToken { .. }
        | InferError::Setting { .. } => EngineError::Request(error.to_string()),
        error => EngineError::Failed(error.to_string()),
    }
}
