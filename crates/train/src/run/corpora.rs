use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use burnformer_core::{ModelConfig, Tokens};
use burnformer_data::corpus::read_pairs;
use burnformer_data::{
    CleaningReport, CleaningSettings, DataError, PairSample, PrepareSettings, Progress, SpecialIds,
    TokenizedCorpus, TokenizerSource, Tokenizers, prepare,
};
use burnformer_files::user_cache;
use burnformer_infer::MAX_SENTENCE_TOKENS;

use crate::config::{MIX, TrainConfig, corpus_paths};
use crate::error::Result;
use crate::run::{FirstModel, StartModel, Texts};

/// The tokenised corpora of a run, and the tokenisers.
pub struct Corpora {
    /// The tokenisers.
    pub tokenizers: Tokenizers,
    /// The training pairs.
    pub train: Arc<TokenizedCorpus>,
    /// Samples of the pairs of each training text.
    pub samples: Vec<PairSample>,
    /// The numbers of training pairs that cleaning dropped.
    pub report: CleaningReport,
    /// If true, tokenisers and tokens come from the cache.
    pub reused: bool,
    /// The tokenised validation pairs, without pairs of more than `longest_validated` tokens on a
    /// side and without pairs that `data.utf8` skips.
    pub valid: Option<Arc<TokenizedCorpus>>,
    /// The text of the same validation pairs: source and target lines.
    pub valid_text: Option<(Vec<String>, Vec<String>)>,
    /// The largest number of tokens, without `</s>`, per side of a validation pair.
    pub longest_validated: usize,
    /// The texts of the run.
    pub texts: Texts,
    /// The start model; `None` for random weights.
    pub start: Option<StartModel>,
    /// The configuration of the model, of any architecture, instead of the section `[model]`. A
    /// resumed run needs the same configuration. Its vocabularies are [`tokens`](Self::tokens).
    pub model: Option<ModelConfig>,
    /// Warnings about the texts, once they are checked.
    pub(crate) warnings: OnceLock<Vec<String>>,
}

impl Corpora {
    /// The vocabularies and the special tokens, for the configuration of a model.
    ///
    /// # Errors
    /// Returns [`Data`](crate::TrainError::Data) if the special ids of the tokenisers differ.
    pub fn tokens(&self) -> Result<Tokens> {
        let Tokenizers { source, target } = &self.tokenizers;
        let SpecialIds { pad, bos, eos } = self.tokenizers.special_ids()?;
        let [source_vocab, target_vocab] = [source, target].map(|side| side.vocab_size());
        Ok(Tokens {
            source_vocab,
            target_vocab,
            pad,
            bos,
            eos,
        })
    }

    /// The configuration of the model that a run with `config` trains.
    ///
    /// # Errors
    /// Returns an error if the configuration is invalid or the special ids of the tokenisers differ.
    pub fn model_config(&self, config: &TrainConfig) -> Result<ModelConfig> {
        let start = self.start.clone();
        let model = FirstModel::new(config, start, || self.tokens(), self.model.clone())?;
        Ok(model.config)
    }

    /// Reads, cleans and tokenises the corpora of `config` in `texts`, or finds them in the cache.
    ///
    /// # Errors
    /// Returns a [`TrainError`](crate::TrainError) with the file and the line.
    pub fn prepare(
        config: &TrainConfig,
        texts: Texts,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Self> {
        Self::prepare_for(config, StartModel::of_run(config, None)?, texts, progress)
    }

    /// Prepares the corpora like [`prepare`](Self::prepare), with the tokenisers of the start model
    /// `start`. It replaces `training.from`, because a resumed run has a copy of that model.
    ///
    /// # Errors
    /// Returns the errors of [`prepare`](Self::prepare).
    pub fn prepare_for(
        config: &TrainConfig,
        start: Option<StartModel>,
        texts: Texts,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Self> {
        let settings = PrepareSettings {
            corpus: corpus_paths("data.train", &texts.train)?,
            tokenizer: tokenizer_source(config, start.as_ref()),
            cleaning: config.data.cleaning(config.training.budget),
            cache_dir: cache_folder(config),
        };
        let train = prepare(&settings, progress)?;
        let mut reused = train.tokenizer_reused && train.corpus_reused;
        let mut parts = vec![(train.corpus, 1.0)];
        let mut samples = vec![train.pairs];
        for (mixed, paths) in config.data.mix.iter().zip(&texts.mix) {
            let corpus = corpus_paths(MIX, paths)?;
            let tokenizer = TokenizerSource::Given(train.tokenizers.clone());
            let mixed_in = prepare(
                &PrepareSettings {
                    corpus,
                    tokenizer,
                    ..settings.clone()
                },
                progress,
            )?;
            reused &= mixed_in.corpus_reused;
            parts.push((mixed_in.corpus, mixed.weight));
            samples.push(mixed_in.pairs);
        }
        let corpus = mixture(parts);
        let mut corpora = Self {
            tokenizers: train.tokenizers,
            report: corpus.report().clone(),
            train: Arc::new(corpus),
            samples,
            reused,
            valid: None,
            valid_text: None,
            longest_validated: longest_validated(config),
            texts,
            start,
            model: None,
            warnings: OnceLock::new(),
        };
        corpora.prepare_valid(config, progress)?;
        Ok(corpora)
    }

    /// Prepares the validation text without the cleaning of training text, because loss, perplexity
    /// and BLEU are measured on the same whole text.
    fn prepare_valid(
        &mut self,
        config: &TrainConfig,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<()> {
        if self.texts.valid.is_empty() {
            return Ok(());
        }
        let paths = corpus_paths("data.valid", &self.texts.valid)?;
        let settings = PrepareSettings {
            corpus: paths.clone(),
            tokenizer: TokenizerSource::Given(self.tokenizers.clone()),
            cleaning: CleaningSettings::keep_all(self.longest_validated, config.data.utf8),
            cache_dir: cache_folder(config),
        };
        let corpus = prepare(&settings, progress)?.corpus;
        let pairs = read_pairs(&paths, config.data.utf8).map_err(DataError::from)?;
        let (mut source, mut target): (Vec<_>, Vec<_>) = pairs.into_iter().unzip();
        if source.len() > corpus.len() {
            (source, target) = self.measurable(source, target);
        }
        assert_eq!(
            source.len(),
            corpus.len(),
            "text and tokens of the validation are not the same pairs"
        );
        self.valid = Some(Arc::new(corpus));
        self.valid_text = Some((source, target));
        Ok(())
    }

    /// The pairs in which no side is longer than `longest_validated`.
    fn measurable(&self, source: Vec<String>, target: Vec<String>) -> (Vec<String>, Vec<String>) {
        let source_ids = self.tokenizers.source.encode_batch(&source);
        let target_ids = self.tokenizers.target.encode_batch(&target);
        let ids = source_ids.into_iter().zip(target_ids);
        source
            .into_iter()
            .zip(target)
            .zip(ids)
            .filter(|(_, (a, b))| a.len().max(b.len()) <= self.longest_validated)
            .map(|(pair, _)| pair)
            .unzip()
    }
}

/// The source of the tokenisers: the start model, files, or training.
fn tokenizer_source(config: &TrainConfig, start: Option<&StartModel>) -> TokenizerSource {
    if let Some(start) = start {
        return TokenizerSource::Given(start.tokenizers.clone());
    }
    let mut files = config.tokenizer.files.iter().cloned();
    match files.next() {
        None => TokenizerSource::Train(config.tokenizer.train.clone()),
        Some(source) => TokenizerSource::Load {
            source,
            target: files.next(),
        },
    }
}

/// The corpora mixed by their weights; a single corpus unchanged.
fn mixture(mut parts: Vec<(TokenizedCorpus, f64)>) -> TokenizedCorpus {
    match parts.len() {
        1 => parts.remove(0).0,
        _ => TokenizedCorpus::mixed(parts),
    }
}

/// The largest number of tokens, without `</s>`, per side of a validation pair: the limit of
/// `translate`, or of training if that is higher, within the learned positions.
fn longest_validated(config: &TrainConfig) -> usize {
    let data = &config.data;
    let longest = data
        .max_source_len
        .max(data.max_target_len)
        .max(MAX_SENTENCE_TOKENS - 1);
    config
        .model
        .positions_known()
        .map_or(longest, |positions| longest.min(positions - 1))
}

/// Returns the folder `data.cache`, or by default a folder in the user's cache.
pub fn cache_folder(config: &TrainConfig) -> PathBuf {
    if config.data.cache.as_os_str().is_empty() {
        user_cache()
    } else {
        config.data.cache.clone()
    }
}
