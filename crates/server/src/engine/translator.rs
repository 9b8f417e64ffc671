//! A [`Translator`] as an engine.

use std::slice::from_ref;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use burnformer_documents::Remembered;
use burnformer_infer::view::SentenceAttention;
use burnformer_infer::{
    AlignmentOptions, Alternative, FinishReason, Hypothesis, InferError, Languages, LengthPenalty,
    LongSources, MAX_LINKED_TOKENS, SentenceError, Shortlist, Term, TextRequest, TranslateOptions,
    Translation, TranslationMemory, Translator, quality_warnings,
};

use super::{Candidate, Choice, Engine, EngineError, Job, Sentence};

/// The maximum number of tokens of a sentence for attention weights. With six layers of eight
/// heads, this is about ten megabytes of JSON.
const MAX_ATTENTION_TOKENS: usize = 100;

/// A [`Translator`] for one pair of languages.
pub struct TranslatorEngine {
    translator: Arc<Translator>,
    /// The default options of the model, with the language tokens if it is multilingual.
    options: TranslateOptions,
}

impl TranslatorEngine {
    /// Creates an engine that translates between `languages` with `translator`, which other engines
    /// may share.
    pub fn new(translator: Arc<Translator>, languages: Languages) -> Self {
        let options = TranslateOptions {
            languages,
            long_sources: LongSources::Truncate,
            ..translator.options()
        };
        Self {
            translator,
            options,
        }
    }

    /// Restricts the target tokens of each sentence by `shortlist`, or uses all tokens if it is
    /// `None`.
    ///
    /// # Errors
    /// Returns [`InferError::Shortlist`] if the shortlist was made for another model.
    pub fn with_shortlist(mut self, shortlist: Option<Arc<Shortlist>>) -> Result<Self, InferError> {
        shortlist
            .iter()
            .try_for_each(|shortlist| self.translator.check_shortlist(shortlist))?;
        self.options.shortlist = shortlist;
        Ok(self)
    }

    /// Reuses exact matches from the translation memory `memory`.
    pub fn with_memory(mut self, memory: Option<Arc<TranslationMemory>>) -> Self {
        self.options.memory = memory;
        self
    }

    /// The default options of the model, overridden by `choice`.
    ///
    /// # Errors
    /// Returns [`EngineError::Request`] if the beam is narrower than the number of translations.
    fn options(&self, choice: Choice) -> Result<TranslateOptions, EngineError> {
        let mut options = self.options.clone();
        let search = &mut options.search;
        if let Some(thousandths) = choice.alpha {
            search.length_penalty = LengthPenalty::Gnmt(f64::from(thousandths) / 1000.0);
        }
        let set = search.set_n_best(choice.n_best, choice.beam);
        set.map_err(|error| EngineError::Request(error.to_string()))?;
        Ok(options)
    }

    fn request(&self, sentence: &Sentence) -> Result<TextRequest, InferError> {
        let source = self
            .translator
            .encode_source(&sentence.text, &self.options.languages);
        let terms = sentence.terms.clone();
        let mut request = self.translator.request(&sentence.text, source, terms)?;
        sentence.complete(&mut request, &self.translator);
        Ok(request)
    }

    /// The largest number of tokens of the context of `sentence`.
    fn tokens_of_context(&self, sentence: &Sentence) -> usize {
        // A token has at least one byte, and a separator stands behind each sentence.
        let most = sentence.context.iter().map(|before| before.len() + 1).sum();
        let settings = self.translator.context();
        settings.map_or(0, |settings| settings.longest_source.min(most))
    }

    fn candidate(
        &self,
        sentence: &Sentence,
        found: Alternative,
        cancelled: &AtomicBool,
    ) -> Result<Candidate, EngineError> {
        let links = if sentence.links && !cancelled.load(Ordering::Relaxed) {
            self.translator
                .links(&sentence.text, &found.text, &self.options.languages)
                .map_err(engine_error)?
        } else {
            Vec::new()
        };
        let doubts = quality_warnings(&sentence.text, &found.text);
        let confidence = self
            .translator
            .confidence(&sentence.text, &found.text, &found.hypothesis);
        let Hypothesis {
            score,
            is_second,
            finish,
            ..
        } = found.hypothesis;
        let text = found.text;
        let is_known = finish == FinishReason::Memory;
        Ok(Candidate {
            text,
            score,
            links,
            doubts,
            confidence,
            is_second,
            is_known,
        })
    }
}

impl Engine for TranslatorEngine {
    fn translate(
        &self,
        jobs: &[&Job],
        choice: Choice,
        cancelled: &[Arc<AtomicBool>],
    ) -> Result<Vec<Vec<Candidate>>, EngineError> {
        let options = self.options(choice)?;
        let requests = jobs
            .iter()
            .zip(cancelled)
            .map(|(job, flag): (&&Job, &Arc<AtomicBool>)| {
                let request = job.request.clone();
                let mut request = request.expect("a job that this engine prepared");
                request.search.cancel = flag.clone().into();
                request.report = job.report.clone();
                request
            })
            .collect();
        let translations = self.translator.translate_requests(requests, &options);
        let translations = translations.map_err(engine_error)?;
        jobs.iter()
            .zip(cancelled)
            .zip(translations)
            .map(
                |((job, flag), translation): ((&&Job, &Arc<AtomicBool>), Translation)| {
                    let found = translation.n_best.into_iter();
                    found
                        .map(|found| self.candidate(&job.sentence, found, flag))
                        .collect()
                },
            )
            .collect()
    }

    fn prepare(&self, sentence: Sentence, choice: Choice) -> Result<Job, EngineError> {
        let options = self.options(choice)?;
        let request = self.request(&sentence).map_err(engine_error)?;
        let tokens = request
            .search
            .source
            .len()
            .min(self.translator.longest_source(&options));
        let searches = self.translator.searches(&sentence.text, &options);
        let searched =
            (tokens + self.tokens_of_context(&sentence) + request.search.prefix.len() + 1)
                * request.search.rows(&options.search)
                * searches;
        // Links need a forward pass over both texts for each translation.
        let linked = if sentence.links {
            2 * tokens.min(MAX_LINKED_TOKENS) * options.search.n_best
        } else {
            0
        };
        let checked = self
            .translator
            .check_requests(vec![request.clone()], &options);
        checked.map_err(engine_error)?;
        Ok(Job {
            sentence,
            cost: searched + linked,
            request: Some(request),
            report: None,
        })
    }

    /// A model that reads previous translations translates sentences alone here: in a queue, nothing is
    /// known of the sentence before.
    fn context(&self) -> usize {
        let settings = self.translator.context();
        let sources = settings.filter(|settings| settings.target == 0);
        sources.map_or(0, |settings| settings.source)
    }

    fn fits(&self, sentence: &str) -> bool {
        self.translator.fits(sentence, &self.options)
    }

    fn can_write(&self, term: &Term) -> bool {
        self.translator.terms(from_ref(term), &[]).is_ok()
    }

    fn remembered(&self, segment: &str, context: &str) -> Option<Remembered> {
        burnformer_translation::remembered(&self.options, segment, context)
    }

    fn attention(
        &self,
        sentence: &str,
        translation: &str,
    ) -> Result<SentenceAttention, EngineError> {
        let tokenizers = self.translator.tokenizers();
        let sides = [
            (&tokenizers.source, sentence),
            (&tokenizers.target, translation),
        ];
        let longest = sides
            .map(|(tokenizer, text)| tokenizer.encode(text).len())
            .into_iter()
            .max();
        if let Some(tokens) = longest.filter(|&tokens| tokens > MAX_ATTENTION_TOKENS) {
            let message = format!(
                "attention is shown for up to {MAX_ATTENTION_TOKENS} tokens, not for {tokens}; send a shorter sentence"
            );
            return Err(EngineError::Request(message));
        }
        let attention = self
            .translator
            .attention(sentence, translation, &self.options.languages)
            .map_err(engine_error)?;
        Ok(SentenceAttention::new(
            sentence,
            translation,
            attention,
            AlignmentOptions::default(),
        ))
    }
}

fn engine_error(error: InferError) -> EngineError {
    match error {
        InferError::Sentence {
            error: SentenceError::UnknownId { .. } | SentenceError::NotFinite(_),
            ..
        } => EngineError::Failed(error.to_string()),
        InferError::Sentence { .. }
        | InferError::Term(_)
        | InferError::NoAttention
        | InferError::Settings(_) => EngineError::Request(error.to_string()),
        error => EngineError::Failed(error.to_string()),
    }
}
