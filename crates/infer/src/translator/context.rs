//! Translation with the previous sentences of a document.

use burnformer_data::ContextSettings;
use burnformer_data::context::joined;

use super::Translator;
use super::options::TranslateOptions;
use super::request::{TextContext, TextRequest};
use crate::error::{InferError, Result};
use crate::hypothesis::{Hypothesis, Translation};
use crate::search::{SearchContext, len_with_eos};

/// Returns for each of `lines` whether it begins a document: the first line behind an empty one,
/// and the empty lines themselves. The first of all lines continues what is before it.
pub fn begin_documents<S: AsRef<str>>(lines: &[S]) -> Vec<bool> {
    let is_empty = |line: &S| burnformer_text::is_blank(line.as_ref());
    let mut was_empty = false;
    lines
        .iter()
        .map(|line| {
            let begins = was_empty || is_empty(line);
            was_empty = is_empty(line);
            begins
        })
        .collect()
}

impl Translator {
    /// The previous sentences with which the model was trained; `None` if it translates sentences
    /// alone.
    pub fn context(&self) -> Option<ContextSettings> {
        self.settings.context.filter(|context| context.source > 0)
    }

    /// Translates the sentences of documents as by
    /// [`translate_ids_until_error`](Self::translate_ids_until_error), each in the context of the
    /// sentences before it, if the model was trained so. Their contexts are written into the
    /// requests.
    ///
    /// `begins` says which sentences begin a document. The first sentence otherwise continues
    /// `history`, which is then the context behind the last sentence. A model that reads previous
    /// targets translates the sentences of a document one after the other, and those at the same
    /// place of several documents together.
    pub fn translate_documents_until_error(
        &self,
        requests: &mut [TextRequest],
        begins: &[bool],
        history: &mut TextContext,
        options: &TranslateOptions,
        done: &(dyn Fn(usize) + Sync),
    ) -> (Vec<Vec<Hypothesis>>, Option<InferError>) {
        let Some(context) = self.context() else {
            return self.translate_ids_until_error(requests.to_vec(), options, done);
        };
        let (found, failure) = if context.target == 0 {
            add_sources(requests, begins, history, context.source);
            self.translate_ids_until_error(requests.to_vec(), options, done)
        } else {
            self.translate_in_waves(requests, begins, history, options, done)
        };
        for index in 0..found.len() {
            if begins[index] {
                *history = TextContext::default();
            }
            let text = (context.target > 0).then(|| self.best_text(&found[index]));
            history.push(&requests[index].text, text, context.source);
        }
        (found, failure)
    }

    /// Translates the sentences of documents as by
    /// [`translate_documents_until_error`](Self::translate_documents_until_error). A model that reads previous
    /// targets [reports](TextRequest::report) each translation as a whole.
    ///
    /// # Errors
    /// Returns the errors of [`translate_requests`](Self::translate_requests).
    pub fn translate_documents(
        &self,
        requests: &mut [TextRequest],
        begins: &[bool],
        history: &TextContext,
        options: &TranslateOptions,
    ) -> Result<Vec<Translation>> {
        let Some(context) = self.context() else {
            return self.translate_requests(requests.to_vec(), options);
        };
        if context.target == 0 {
            add_sources(requests, begins, history, context.source);
            return self.translate_requests(requests.to_vec(), options);
        }
        let (found, failure) = self.translate_in_waves(requests, begins, history, options, &|_| ());
        if let Some(failure) = failure {
            return Err(failure);
        }
        let mut translations = Vec::with_capacity(found.len());
        for (request, hypotheses) in requests.iter().zip(found) {
            let translation = Translation::new(self.alternatives(hypotheses));
            if let Some(report) = &request.report {
                report.call(&translation.text);
            }
            translations.push(translation);
        }
        Ok(translations)
    }

    /// Translates the first sentences of all documents, then the second ones, and so on, up to the
    /// first error.
    fn translate_in_waves(
        &self,
        requests: &mut [TextRequest],
        begins: &[bool],
        history: &TextContext,
        options: &TranslateOptions,
        done: &(dyn Fn(usize) + Sync),
    ) -> (Vec<Vec<Hypothesis>>, Option<InferError>) {
        let most = self.context().map_or(0, |context| context.source);
        let places = places(begins);
        let last = places.iter().copied().max().unwrap_or(0);
        let mut found: Vec<Vec<Hypothesis>> = vec![Vec::new(); requests.len()];
        let mut contexts = vec![TextContext::default(); requests.len()];
        let mut count = requests.len();
        let mut failure = None;
        for place in 0..=last {
            let mut wave: Vec<usize> = (0..count).filter(|&i| places[i] == place).collect();
            for &index in &wave {
                contexts[index] = match index {
                    0 if !begins[0] => history.clone(),
                    _ if place == 0 => TextContext::default(),
                    _ => {
                        let mut context = std::mem::take(&mut contexts[index - 1]);
                        let text = self.best_text(&found[index - 1]);
                        context.push(&requests[index - 1].text, Some(text), most);
                        context
                    }
                };
                requests[index].context = contexts[index].clone();
            }
            while !wave.is_empty() {
                let wave_requests = wave.iter().map(|&index| requests[index].clone());
                match self.translate_counting(wave_requests.collect(), options, done) {
                    Ok(all) => {
                        for (index, hypotheses) in wave.drain(..).zip(all) {
                            found[index] = hypotheses;
                        }
                    }
                    Err(error) => {
                        let index = error.sentence().map(|sentence| wave[sentence - 1]);
                        count = index.unwrap_or(0);
                        failure = Some(error.renumbered(count + 1));
                        wave.retain(|&index| index < count);
                    }
                }
            }
        }
        found.truncate(count);
        (found, failure)
    }

    /// The text of the best of `hypotheses`.
    fn best_text(&self, hypotheses: &[Hypothesis]) -> String {
        hypotheses
            .first()
            .map_or(String::new(), |best| self.text_of(best))
    }

    /// Encodes the contexts of `requests`, as far as they fit in front of the sources.
    pub(super) fn add_contexts(&self, requests: &mut [TextRequest], options: &TranslateOptions) {
        let Some(settings) = self.context() else {
            return;
        };
        let eos = self.model.special().eos;
        for request in requests {
            if !request.context.sources.is_empty() && !request.search.is_empty(eos) {
                request.search.context = self.encoded_context(request, settings, options);
            }
        }
    }

    /// The ids of the context of `request`, with the languages in its source.
    fn encoded_context(
        &self,
        request: &TextRequest,
        settings: ContextSettings,
        options: &TranslateOptions,
    ) -> SearchContext {
        let [Some(of_source), of_target] = self.separators else {
            return SearchContext::default();
        };
        let languages = options.languages.tokens().map(<[u32]>::len);
        let TextContext { sources, targets } = &request.context;
        let sources = sources.iter().rev().take(settings.source);
        let sources: Vec<Vec<u32>> = sources
            .map(|text| self.encode_source(text, &options.languages))
            .collect();
        let targets = targets.iter().rev().take(settings.target);
        let targets: Vec<Vec<u32>> = targets
            .map(|text| self.tokenizers.target.encode(text))
            .collect();
        let eos = self.model.special().eos;
        let sentence = len_with_eos(&request.search.source, eos);
        let sentence = sentence.saturating_sub(1 + languages[0]);
        let lengths = sources.iter().enumerate().map(|(back, source)| {
            // A model with previous targets knows no previous source without its target.
            let target = targets.get(back).map_or(usize::MAX / 2, Vec::len);
            [source.len(), target]
        });
        // The length of the translation is not known; the source's length stands for it.
        let settings = self.within_positions(settings, languages);
        let [before_source, before_target] = settings.fitting(lengths, [sentence; 2]);
        SearchContext {
            source: joined(sources[..before_source].iter().rev(), of_source),
            target: of_target.map_or(Vec::new(), |separator| {
                joined(targets[..before_target].iter().rev(), separator)
            }),
            separator: of_target,
        }
    }

    /// `settings` with the lengths that the positions of the model allow besides `</s>` and the
    /// tokens of `languages` on each side.
    fn within_positions(
        &self,
        settings: ContextSettings,
        languages: [usize; 2],
    ) -> ContextSettings {
        let positions = self.model.max_positions().unwrap_or(usize::MAX);
        let [source, target] = languages.map(|tokens| positions.saturating_sub(1 + tokens));
        ContextSettings {
            longest_source: settings.longest_source.min(source),
            longest_target: settings.longest_target.min(target),
            ..settings
        }
    }
}

/// Writes the previous sources into `requests`, at most `most` of each document.
fn add_sources(requests: &mut [TextRequest], begins: &[bool], history: &TextContext, most: usize) {
    let mut before = history.clone();
    for (request, begins) in requests.iter_mut().zip(begins) {
        if *begins {
            before = TextContext::default();
        }
        request.context = before.clone();
        before.push(&request.text, None, most);
    }
}

/// The place of each sentence in its document, from 0.
fn places(begins: &[bool]) -> Vec<usize> {
    let mut place = 0;
    let mut places = Vec::with_capacity(begins.len());
    for (index, begins) in begins.iter().enumerate() {
        place = if *begins || index == 0 { 0 } else { place + 1 };
        places.push(place);
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_lines_divide_documents() {
        let lines = ["a", "b", "", " ", "c", "d", "\u{200b}", "e"];
        let begins = begin_documents(&lines);
        let expected = [false, false, true, true, true, false, true, true];
        assert_eq!(begins, expected);
        assert_eq!(places(&begins), [0, 1, 0, 0, 0, 1, 0, 0]);
    }

    #[test]
    fn sources_are_added_within_their_document() {
        let texts = ["a", "b", "c", "d"];
        let mut requests: Vec<TextRequest> = texts
            .iter()
            .map(|text| TextRequest {
                text: text.to_string(),
                ..TextRequest::default()
            })
            .collect();
        let history = TextContext::of_sources(["x", "y"]);
        add_sources(&mut requests, &[false, false, true, false], &history, 2);
        let found: Vec<_> = requests
            .iter()
            .map(|it| it.context.sources.concat())
            .collect();
        assert_eq!(found, ["xy", "ya", "", "c"]);
    }
}
