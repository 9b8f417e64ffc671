use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use burnformer_core::{ModelConfig, Tokens};
use burnformer_data::corpus::read_pairs;
use burnformer_data::special::SEPARATOR_TOKEN;
use burnformer_data::{
    CleaningReport, CleaningSettings, ContextSettings, CorpusPaths, DataError, FileKeys,
    PairSample, PrepareSettings, Progress, SpecialIds, TokenizedCorpus, TokenizerSource,
    TokenizerTraining, Tokenizers, prepare, train_tokenizers,
};
use burnformer_files::user_cache;
use burnformer_infer::{Languages, MAX_SENTENCE_TOKENS};

use crate::config::{
    DataSettings, Direction, MIX, PAIRS_TRAIN, PAIRS_VALID, TrainConfig, corpus_paths,
};
use crate::error::Result;
use crate::run::{FirstModel, LanguagesError, NoSeparator, StartModel, Texts};

/// A validation text, without pairs of more than [`Corpora::longest_validated`] tokens on a side
/// and without pairs that `data.utf8` skips.
#[derive(Debug)]
pub struct ValidationText {
    /// Its direction in a run with several pairs of languages.
    pub direction: Option<Direction>,
    /// The languages of its translations.
    pub languages: Languages,
    /// The tokenised pairs.
    pub corpus: Arc<TokenizedCorpus>,
    /// The source lines of the same pairs.
    pub source: Vec<String>,
    /// Their target lines.
    pub target: Vec<String>,
}

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
    /// The validation texts: one, or one for each direction between languages; none without
    /// validation.
    pub valid: Vec<ValidationText>,
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
    /// Returns an error if the configuration is invalid or the special ids of the tokenisers
    /// differ.
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
        let training = training_texts(config, &texts)?;
        if let Some(start) = &start {
            start.check_languages(&config.data)?;
        }
        let mut keys = FileKeys::default();
        let (mut tokenizer, may_be_reused) =
            tokenizers(config, start.as_ref(), &texts, &mut keys, progress)?;
        let mut reused = may_be_reused;
        let mut parts = Vec::new();
        let mut samples = Vec::new();
        let mut first_tokenizers = None;
        for text in training {
            let settings = PrepareSettings {
                corpus: text.corpus,
                tokenizer,
                cleaning: config.data.cleaning(config.training.budget),
                cache_dir: cache_folder(config),
            };
            let prepared = prepare(&settings, &mut keys, progress)?;
            let tokenizers = prepared.tokenizers;
            reused &= prepared.tokenizer_reused && prepared.corpus_reused;
            check_tokens(&tokenizers, &config.data)?;
            let context = context(config, &tokenizers)?;
            let languages = languages_of(&tokenizers, text.languages.as_ref())?;
            let corpus = composed(prepared.corpus, &languages, context);
            parts.push((corpus, text.weight));
            samples.push(prepared.pairs);
            tokenizer = TokenizerSource::Given(tokenizers.clone());
            first_tokenizers.get_or_insert(tokenizers);
        }
        let tokenizers = first_tokenizers.expect("a run has a training text");
        let corpus = mixture(parts, &config.data);
        let mut corpora = Self {
            tokenizers,
            report: corpus.report().clone(),
            train: Arc::new(corpus),
            samples,
            reused,
            valid: Vec::new(),
            longest_validated: longest_validated(config),
            texts,
            start,
            model: None,
            warnings: OnceLock::new(),
        };
        corpora.valid = corpora.validation_texts(config, &mut keys, progress)?;
        Ok(corpora)
    }

    /// The validation texts, one for each direction of the pairs that have one.
    fn validation_texts(
        &self,
        config: &TrainConfig,
        keys: &mut FileKeys,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Vec<ValidationText>> {
        let mut texts = Vec::new();
        if !self.texts.valid.is_empty() {
            let paths = corpus_paths("data.valid", &self.texts.valid)?;
            let paths = config.data.in_documents(paths);
            texts.push(self.validation_text(config, paths, None, keys, progress)?);
        }
        for direction in config.data.directions() {
            let paths = &self.texts.pairs[direction.pair].valid;
            if !paths.is_empty() {
                let paths = directed(PAIRS_VALID, paths, &direction)?;
                let paths = config.data.in_documents(paths);
                texts.push(self.validation_text(
                    config,
                    paths,
                    Some(&direction),
                    keys,
                    progress,
                )?);
            }
        }
        Ok(texts)
    }

    /// Prepares a validation text without the cleaning of training text, because loss, perplexity
    /// and BLEU are measured on the same whole text.
    fn validation_text(
        &self,
        config: &TrainConfig,
        paths: CorpusPaths,
        direction: Option<&Direction>,
        keys: &mut FileKeys,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<ValidationText> {
        let settings = PrepareSettings {
            corpus: paths.clone(),
            tokenizer: TokenizerSource::Given(self.tokenizers.clone()),
            cleaning: CleaningSettings::keep_all(self.longest_validated, config.data.utf8),
            cache_dir: cache_folder(config),
        };
        let corpus = prepare(&settings, keys, progress)?.corpus;
        let named = config.data.named_languages();
        let codes = direction.map(|it| &it.languages).or(named.as_ref());
        let languages = languages_of(&self.tokenizers, codes)?;
        let corpus = composed(corpus, &languages, context(config, &self.tokenizers)?);
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
        Ok(ValidationText {
            direction: direction.cloned(),
            languages,
            corpus: Arc::new(corpus),
            source,
            target,
        })
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

/// A training text.
struct TrainingText {
    corpus: CorpusPaths,
    /// The factor on the number of pairs that are drawn from it.
    weight: f64,
    /// The codes of its languages, if they are named.
    languages: Option<[String; 2]>,
}

/// The training texts: the texts of the pairs of languages, otherwise `data.train` and `data.mix`.
fn training_texts(config: &TrainConfig, texts: &Texts) -> Result<Vec<TrainingText>> {
    let data = &config.data;
    if data.pairs.is_empty() {
        let first = corpus_paths("data.train", &texts.train)?;
        let first = (data.in_documents(first), 1.0);
        let mut all = vec![first];
        for (mixed, paths) in data.mix.iter().zip(&texts.mix) {
            let paths = data.in_documents(corpus_paths(MIX, paths)?);
            all.push((paths, mixed.weight));
        }
        let all = all.into_iter();
        return Ok(all
            .map(|(corpus, weight)| TrainingText {
                corpus,
                weight,
                languages: data.named_languages(),
            })
            .collect());
    }
    let of_direction = |direction: Direction| -> Result<TrainingText> {
        let paths = &texts.pairs[direction.pair].train;
        Ok(TrainingText {
            corpus: data.in_documents(directed(PAIRS_TRAIN, paths, &direction)?),
            weight: data.pairs[direction.pair].weight,
            languages: Some(direction.languages),
        })
    };
    data.directions().into_iter().map(of_direction).collect()
}

/// The corpus of the files `paths` of the setting `key` in its `direction`.
fn directed(key: &'static str, paths: &[PathBuf], direction: &Direction) -> Result<CorpusPaths> {
    let corpus = corpus_paths(key, paths)?;
    Ok(if direction.is_reversed {
        corpus.reversed()
    } else {
        corpus
    })
}

/// `corpus` with the tokens of `languages`, and with its `context`: the settings and the
/// separators.
fn composed(
    corpus: TokenizedCorpus,
    languages: &Languages,
    context: Option<(ContextSettings, [u32; 2])>,
) -> TokenizedCorpus {
    let corpus = corpus.with_starts(languages.tokens().map(<[u32]>::to_vec));
    match context {
        Some((settings, separators)) => corpus.with_context(settings, separators),
        None => corpus,
    }
}

/// The context of a run, and the separators of both sides. A side without context has no separator
/// of its own.
///
/// # Errors
/// Returns [`NoSeparator`] if a tokeniser has no token that separates sentences.
fn context(
    config: &TrainConfig,
    tokenizers: &Tokenizers,
) -> Result<Option<(ContextSettings, [u32; 2])>, NoSeparator> {
    let Some(settings) = config.context() else {
        return Ok(None);
    };
    let Tokenizers { source, target } = tokenizers;
    let source_separator = source.separator().ok_or(NoSeparator("source"))?;
    let target_separator = match settings.target {
        0 => source_separator,
        _ => target.separator().ok_or(NoSeparator("target"))?,
    };
    Ok(Some((settings, [source_separator, target_separator])))
}

/// Refuses tokenisers that cannot name the target language where there are several.
fn check_tokens(tokenizers: &Tokenizers, data: &DataSettings) -> Result<(), LanguagesError> {
    let Tokenizers { source, target } = tokenizers;
    let mut targets: Vec<String> = Vec::new();
    for [_, into] in data.trained_directions() {
        if !targets.contains(&into) {
            targets.push(into);
        }
    }
    let names_languages = !source.target_tags().is_empty() || !target.language_codes().is_empty();
    if targets.len() > 1 && !names_languages {
        return Err(LanguagesError::NoTokens(targets));
    }
    Ok(())
}

/// The languages `codes` with their tokens in the vocabularies of `tokenizers`.
fn languages_of(tokenizers: &Tokenizers, codes: Option<&[String; 2]>) -> Result<Languages> {
    let Some([source, target]) = codes else {
        return Ok(Languages::default());
    };
    let languages = Languages::of_pair(tokenizers, source, target);
    Ok(languages.map_err(|cause| LanguagesError::Unknown {
        pair: [source.clone(), target.clone()],
        cause,
    })?)
}

/// Returns where the tokenisers come from, and whether everything may still come from the cache:
/// false if tokenisers were trained here. The tokenisers of several pairs of languages are trained
/// here, from all their texts, and so are tokenisers with a separator.
fn tokenizers(
    config: &TrainConfig,
    start: Option<&StartModel>,
    texts: &Texts,
    keys: &mut FileKeys,
    progress: &mut dyn FnMut(Progress),
) -> Result<(TokenizerSource, bool)> {
    let source = tokenizer_source(config, start);
    let data = &config.data;
    let TokenizerSource::Train(settings) = source else {
        return Ok((source, true));
    };
    if data.pairs.is_empty() && !data.has_context() {
        return Ok((TokenizerSource::Train(settings), true));
    }
    let directions = data.directions();
    // A joint tokeniser learns from both sides of a text at once.
    let read = directions
        .iter()
        .filter(|it| !(settings.joint && it.is_reversed));
    let corpora = read.map(|it| directed(PAIRS_TRAIN, &texts.pairs[it.pair].train, it));
    let mut corpora = corpora.collect::<Result<Vec<_>>>()?;
    if data.pairs.is_empty() {
        corpora.push(corpus_paths("data.train", &texts.train)?);
    }
    let corpora = corpora.into_iter().map(|paths| data.in_documents(paths));
    let codes: Vec<[String; 2]> = directions.iter().map(|it| it.languages.clone()).collect();
    let mut special = data.language_token.of(&codes);
    let sizes = [data.context.source, data.context.target];
    for (tokens, sentences) in special.iter_mut().zip(sizes) {
        if sentences > 0 {
            tokens.push(SEPARATOR_TOKEN.into());
        }
    }
    let training = TokenizerTraining {
        corpora: corpora.collect(),
        settings,
        special,
        utf8: data.utf8,
        cache_dir: cache_folder(config),
    };
    let (trained, reused) = train_tokenizers(&training, keys, progress)?;
    Ok((TokenizerSource::Given(trained), reused))
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

/// The corpora mixed by their weights, corpora of several pairs of languages also by their sizes; a
/// single corpus unchanged.
fn mixture(mut parts: Vec<(TokenizedCorpus, f64)>, data: &DataSettings) -> TokenizedCorpus {
    match parts.len() {
        1 => parts.remove(0).0,
        _ if data.pairs.is_empty() => TokenizedCorpus::mixed(parts),
        _ => TokenizedCorpus::by_size(parts, data.temperature),
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
    let starts = usize::from(!data.pairs.is_empty());
    config
        .model
        .positions_known()
        .map_or(longest, |positions| longest.min(positions - 1 - starts))
}

/// Returns the folder `data.cache`, or by default a folder in the user's cache.
pub fn cache_folder(config: &TrainConfig) -> PathBuf {
    if config.data.cache.as_os_str().is_empty() {
        user_cache()
    } else {
        config.data.cache.clone()
    }
}
