//! Text in, text out.

mod files;
mod options;
mod stream;
mod translation;

use std::path::Path;

use burn::tensor::Device;
use burnformer_core::model_dir;
use burnformer_data::{Tokenizers, special};
use burnformer_models::ModelConfig;

pub use files::{
    SOURCE_TOKENIZER_FILE, TARGET_TOKENIZER_FILE, TOKENIZER_FILE, load_settings, load_tokenizers,
    save_text_files,
};
pub use options::{LONGEST_SENTENCE, LongSources, TranslateOptions};
pub use translation::{Alternative, Translation};

use crate::attention::{Attention, pieces};
use crate::error::InferError;
use crate::hypothesis::Hypothesis;
use crate::model::{Ensemble, NeuralModel, SpecialIds, StepModel};
use crate::score::{TargetScore, check_pairs, closed, force_score};
use crate::search::{Request, search};
use crate::settings::SearchSettings;

/// A model with its tokenisers: translates text, and scores translations.
///
/// It has no state between calls and can serve several threads at once.
pub struct Translator {
    model: Box<dyn StepModel>,
    tokenizers: Tokenizers,
    settings: SearchSettings,
}

impl Translator {
    /// Loads the model directory `dir` onto `device`, checking the hash of every file.
    ///
    /// # Errors
    /// [`InferError::ModelDir`], [`InferError::NoTokenizer`], [`InferError::Tokenizer`],
    /// [`InferError::SettingsFile`] or [`InferError::Setting`] by the file that is wrong; and as [`new`](Self::new).
    pub fn load(dir: impl AsRef<Path>, device: &Device) -> Result<Self, InferError> {
        let (model, tokenizers) = load_model(dir.as_ref(), device)?;
        Self::new(Box::new(model), tokenizers, load_settings(dir.as_ref())?)
    }

    /// Loads several model directories as an [`Ensemble`]. Default settings are those of the first.
    ///
    /// # Errors
    /// As [`load`](Self::load); [`InferError::EmptyEnsemble`] or [`InferError::Ensemble`] if the models do not share
    /// their vocabularies.
    pub fn load_ensemble<P: AsRef<Path>>(dirs: &[P], device: &Device) -> Result<Self, InferError> {
        let first = dirs.first().ok_or(InferError::EmptyEnsemble)?.as_ref();
        let tokenizers = load_tokenizers(first)?;
        let mut members: Vec<Box<dyn StepModel>> = Vec::with_capacity(dirs.len());
        for (place, dir) in dirs.iter().enumerate() {
            let (model, own) = load_model(dir.as_ref(), device)?;
            let hashes = |all: &Tokenizers| [all.source.hash(), all.target.hash()];
            if hashes(&own) != hashes(&tokenizers) {
                return Err(InferError::Ensemble { member: place + 1, what: "tokeniser" });
            }
            members.push(Box::new(model));
        }
        Self::new(Box::new(Ensemble::new(members)?), tokenizers, load_settings(first)?)
    }

    /// Any model with the tokenisers that it was trained with, and its default settings.
    ///
    /// # Errors
    /// [`InferError::Vocabulary`] or [`InferError::SpecialId`] if model and tokenisers do not fit,
    /// [`InferError::Setting`] if a setting is out of its range.
    pub fn new(
        model: Box<dyn StepModel>,
        tokenizers: Tokenizers,
        settings: SearchSettings,
    ) -> Result<Self, InferError> {
        settings.validate()?;
        check_sizes(&*model, &tokenizers)?;
        check_special(model.special())?;
        Ok(Self { model, tokenizers, settings })
    }

    /// Options with the model's default search settings.
    pub fn options(&self) -> TranslateOptions {
        TranslateOptions { search: self.settings.clone(), ..TranslateOptions::default() }
    }

    /// The model.
    pub fn model(&self) -> &dyn StepModel {
        &*self.model
    }

    /// The tokenisers.
    pub fn tokenizers(&self) -> &Tokenizers {
        &self.tokenizers
    }

    /// The text of a hypothesis, on one line.
    pub fn text_of(&self, hypothesis: &Hypothesis) -> String {
        translation::one_line(&self.tokenizers.target.decode(&hypothesis.tokens))
    }

    /// Translates `sources`, one sentence each, in order. An empty one has an empty translation.
    ///
    /// # Errors
    /// As [`search`]; sentences are counted from 1.
    pub fn translate<S: AsRef<str> + Sync>(
        &self,
        sources: &[S],
        options: &TranslateOptions,
    ) -> Result<Vec<Translation>, InferError> {
        let ids = self.tokenizers.source.encode_batch(sources);
        self.translate_requests(ids.into_iter().map(Request::new).collect(), options)
    }

    /// Translates `sources` by translations that begin with the texts `prefixes`, one for each source. An
    /// empty source is translated by its prefix alone.
    ///
    /// A prefix is cut into tokens on its own: end it at a word's end.
    ///
    /// # Errors
    /// As [`translate`](Self::translate); [`InferError::Count`] if there is not one prefix a source.
    pub fn translate_with_prefixes<S: AsRef<str> + Sync, T: AsRef<str> + Sync>(
        &self,
        sources: &[S],
        prefixes: &[T],
        options: &TranslateOptions,
    ) -> Result<Vec<Translation>, InferError> {
        if sources.len() != prefixes.len() {
            let (sources, others) = (sources.len(), prefixes.len());
            return Err(InferError::Count { sources, others, what: "prefixes" });
        }
        let sources = self.tokenizers.source.encode_batch(sources);
        let prefixes = self.tokenizers.target.encode_batch(prefixes);
        let request = |(source, prefix)| Request { source, prefix, key: None };
        let requests = sources.into_iter().zip(prefixes).map(request).collect();
        self.translate_requests(requests, options)
    }

    /// Translates sentences that are ids already (with or without their `</s>`), to ids.
    ///
    /// # Errors
    /// As [`search`]; [`InferError::SourceTooLong`] for a source above
    /// [`longest_source`](Self::longest_source), unless it is to be truncated.
    pub fn translate_ids(
        &self,
        mut requests: Vec<Request>,
        options: &TranslateOptions,
    ) -> Result<Vec<Vec<Hypothesis>>, InferError> {
        self.truncate_sources(&mut requests, options);
        self.search(&requests, options)
    }

    /// Translates sentences that are ids already up to the first that cannot be translated, and says
    /// what is wrong with that one: for streams, in which nothing done is to be lost.
    pub fn translate_ids_until_error(
        &self,
        mut requests: Vec<Request>,
        options: &TranslateOptions,
    ) -> (Vec<Vec<Hypothesis>>, Option<InferError>) {
        self.truncate_sources(&mut requests, options);
        let mut failure = None;
        loop {
            match self.search(&requests, options) {
                Ok(translations) => return (translations, failure),
                Err(error) => {
                    // A model that gives NaN may do so for several, and not in the order of the sentences.
                    requests.truncate(error.sentence().map_or(0, |sentence| sentence - 1));
                    failure = Some(error);
                    if requests.is_empty() {
                        return (Vec::new(), failure);
                    }
                }
            }
        }
    }

    /// The longest source that `options` and the model take, in tokens with `</s>`.
    pub fn longest_source(&self, options: &TranslateOptions) -> usize {
        options.longest.min(self.model.max_positions().unwrap_or(usize::MAX)).max(1)
    }

    /// The longest translation of `source` (ids, with or without their `</s>`) that `options` and the model
    /// allow, in tokens with `</s>`: what a forced prefix must fit into.
    pub fn longest_target(&self, source: &[u32], options: &TranslateOptions) -> usize {
        let source_len = closed_len(source, self.model.special().eos);
        let source_len = source_len.min(self.longest_source(options));
        options.search.limit(source_len, self.model.max_positions())
    }

    /// Scores `targets` as translations of `sources`, in order, under the penalty and batching of
    /// `options`. Sources are never truncated: the score would be another sentence's.
    ///
    /// # Errors
    /// As [`score_ids`](Self::score_ids).
    pub fn score<S: AsRef<str> + Sync, T: AsRef<str> + Sync>(
        &self,
        sources: &[S],
        targets: &[T],
        options: &TranslateOptions,
    ) -> Result<Vec<TargetScore>, InferError> {
        let sources = self.tokenizers.source.encode_batch(sources);
        let targets = self.tokenizers.target.encode_batch(targets);
        self.score_ids(&sources, &targets, options)
    }

    /// As [`score`](Self::score), of sentences that are ids already.
    ///
    /// # Errors
    /// As [`force_score`]; a source or target of more than `options.longest` tokens is refused.
    pub fn score_ids(
        &self,
        sources: &[Vec<u32>],
        targets: &[Vec<u32>],
        options: &TranslateOptions,
    ) -> Result<Vec<TargetScore>, InferError> {
        let limit = self.longest_source(options);
        let too_long =
            |all: &[Vec<u32>]| self.first_too_long(all.iter().map(|ids| &ids[..]), limit);
        if let Some((sentence, length)) = too_long(sources) {
            return Err(InferError::SourceTooLong { sentence, length, limit });
        }
        if let Some((sentence, length)) = too_long(targets) {
            return Err(InferError::TargetTooLong { sentence, length, limit });
        }
        let penalty = options.search.length_penalty;
        force_score(&*self.model, sources, targets, penalty, &options.batching)
    }

    /// Scores pairs of ids up to the first that cannot be scored, and says what is wrong with that one: for
    /// streams, in which nothing done is to be lost.
    pub fn score_ids_until_error(
        &self,
        sources: &[Vec<u32>],
        targets: &[Vec<u32>],
        options: &TranslateOptions,
    ) -> (Vec<TargetScore>, Option<InferError>) {
        let (mut end, mut failure) = (sources.len(), None);
        loop {
            let targets = &targets[..end.min(targets.len())];
            match self.score_ids(&sources[..end], targets, options) {
                Ok(scores) => return (scores, failure),
                Err(error) => {
                    end = error.sentence().map_or(0, |sentence| sentence - 1);
                    failure = Some(error);
                    if end == 0 {
                        return (Vec::new(), failure);
                    }
                }
            }
        }
    }

    /// Number, from 1, and tokens with `</s>` of the first sentence above `limit`.
    fn first_too_long<'a>(
        &self,
        mut sentences: impl Iterator<Item = &'a [u32]>,
        limit: usize,
    ) -> Option<(usize, usize)> {
        let eos = self.model.special().eos;
        let mut place = 0;
        sentences.find_map(|ids| {
            place += 1;
            let length = closed_len(ids, eos);
            (length > limit).then_some((place, length))
        })
    }

    /// What every layer and head looks at while `target` is said as the translation of `source`.
    ///
    /// # Errors
    /// As [`force_score`]; [`InferError::NoAttention`] for an ensemble.
    pub fn attention(&self, source: &str, target: &str) -> Result<Attention, InferError> {
        let SpecialIds { bos, eos, .. } = self.model.special();
        let source = closed(&self.tokenizers.source.encode(source), eos);
        let target = closed(&self.tokenizers.target.encode(target), eos);
        let (sources, targets) = ([source], [target]);
        check_pairs(&*self.model, &sources, &targets)?;
        let ([source], [target]) = (sources, targets);
        let weights = self.model.attention(&source, &target).ok_or(InferError::NoAttention)?;
        let input: Vec<u32> = [bos].iter().chain(&target[..target.len() - 1]).copied().collect();
        let special = [bos, eos];
        let Tokenizers { source: reader, target: writer } = &self.tokenizers;
        Ok(Attention {
            source: pieces(reader, &source, &special),
            target_input: pieces(writer, &input, &special),
            target_output: pieces(writer, &target, &special),
            weights,
        })
    }

    fn translate_requests(
        &self,
        requests: Vec<Request>,
        options: &TranslateOptions,
    ) -> Result<Vec<Translation>, InferError> {
        Ok(self.texts_of(self.translate_ids(requests, options)?))
    }

    fn texts_of(&self, hypotheses: Vec<Vec<Hypothesis>>) -> Vec<Translation> {
        let decode = |hypotheses| Translation::new(hypotheses, &self.tokenizers.target);
        hypotheses.into_iter().map(decode).collect()
    }

    /// Keeps of every source what fits, with `</s>`, if `options` say so.
    fn truncate_sources(&self, requests: &mut [Request], options: &TranslateOptions) {
        if options.long_sources == LongSources::Refuse {
            return;
        }
        let (eos, limit) = (self.model.special().eos, self.longest_source(options));
        for Request { source, .. } in requests {
            if source.last() == Some(&eos) {
                source.pop();
            }
            source.truncate(limit - 1);
        }
    }

    fn search(
        &self,
        requests: &[Request],
        options: &TranslateOptions,
    ) -> Result<Vec<Vec<Hypothesis>>, InferError> {
        let limit = self.longest_source(options);
        let sources = requests.iter().map(|request| &request.source[..]);
        match self.first_too_long(sources, limit) {
            Some((sentence, length)) => Err(InferError::SourceTooLong { sentence, length, limit }),
            None => search(&*self.model, requests, &options.search, &options.batching),
        }
    }
}

/// Tokens of `ids` with the `</s>` that they may lack.
fn closed_len(ids: &[u32], eos: u32) -> usize {
    ids.len() + usize::from(ids.last() != Some(&eos))
}

fn load_model(dir: &Path, device: &Device) -> Result<(NeuralModel, Tokenizers), InferError> {
    model_dir::verify(dir)?;
    let tokenizers = load_tokenizers(dir)?;
    let (config, model) = model_dir::load::<ModelConfig>(dir, device)?;
    Ok((NeuralModel::new(config, model, device), tokenizers))
}

fn check_sizes(model: &dyn StepModel, tokenizers: &Tokenizers) -> Result<(), InferError> {
    let sides = [
        ("source", tokenizers.source.vocab_size(), model.source_vocab()),
        ("target", tokenizers.target.vocab_size(), model.target_vocab()),
    ];
    match sides.into_iter().find(|&(_, tokenizer, model)| tokenizer != model) {
        Some((side, tokenizer, model)) => Err(InferError::Vocabulary { side, tokenizer, model }),
        None => Ok(()),
    }
}

fn check_special(ids: SpecialIds) -> Result<(), InferError> {
    let pairs = [
        (special::PAD_TOKEN, ids.pad, special::PAD),
        (special::BOS_TOKEN, ids.bos, special::BOS),
        (special::EOS_TOKEN, ids.eos, special::EOS),
    ];
    match pairs.into_iter().find(|&(_, model, tokenizer)| model != tokenizer) {
        Some((token, model, tokenizer)) => Err(InferError::SpecialId { token, model, tokenizer }),
        None => Ok(()),
    }
}
