use std::path::PathBuf;
use std::sync::Arc;

use burnformer_data::{
    CleaningReport, CleaningSettings, ParallelReader, PrepareSettings, Progress, TokenizedCorpus,
    TokenizerSource, Tokenizers, prepare,
};

use crate::config::{ConfigFileError, TrainConfig, corpus_paths};
use crate::error::TrainError;

/// The corpora of a run, tokenised, and the tokenisers.
pub struct Corpora {
    /// The tokenisers.
    pub tokenizers: Tokenizers,
    /// Training pairs.
    pub train: Arc<TokenizedCorpus>,
    /// What cleaning dropped of them.
    pub report: CleaningReport,
    /// Whether tokenisers and tokens were found in the cache.
    pub reused: bool,
    /// Validation pairs, tokenised, none dropped.
    pub valid: Option<Arc<TokenizedCorpus>>,
    /// Validation text: source and target lines.
    pub valid_text: Option<(Vec<String>, Vec<String>)>,
}

impl Corpora {
    /// Reads, cleans and tokenises the corpora of `config`, or finds them in the cache.
    ///
    /// # Errors
    /// A [`TrainError`] naming file and line.
    pub fn prepare(
        config: &TrainConfig,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Self, TrainError> {
        let tokenizer = match config.tokenizer.files.as_slice() {
            [] => TokenizerSource::Train(config.tokenizer.train.clone()),
            [both] => TokenizerSource::Load { source: both.clone(), target: None },
            [source, target] => {
                TokenizerSource::Load { source: source.clone(), target: Some(target.clone()) }
            }
            more => {
                return Err(
                    ConfigFileError::Paths { key: "tokenizer.files", found: more.len() }.into()
                );
            }
        };
        let settings = PrepareSettings {
            corpus: corpus_paths("data.train", &config.data.train)?,
            tokenizer,
            cleaning: config.data.cleaning(config.training.budget),
            cache_dir: cache_folder(config),
        };
        let train = prepare(&settings, progress)?;
        let mut corpora = Self {
            tokenizers: train.tokenizers,
            train: Arc::new(train.corpus),
            report: train.report,
            reused: train.tokenizer_reused && train.corpus_reused,
            valid: None,
            valid_text: None,
        };
        corpora.prepare_valid(config, progress)?;
        Ok(corpora)
    }

    /// Validation keeps what training would drop: only pairs too long for any batch are left out.
    fn prepare_valid(
        &mut self,
        config: &TrainConfig,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<(), TrainError> {
        if config.data.valid.is_empty() {
            return Ok(());
        }
        let corpus = corpus_paths("data.valid", &config.data.valid)?;
        let settings = PrepareSettings {
            corpus: corpus.clone(),
            tokenizer: TokenizerSource::Given(self.tokenizers.clone()),
            cleaning: CleaningSettings {
                max_length_ratio: None,
                utf8: config.data.utf8,
                ..config.data.cleaning(config.training.budget)
            },
            cache_dir: cache_folder(config),
        };
        self.valid = Some(Arc::new(prepare(&settings, progress)?.corpus));
        let (mut source, mut target) = (Vec::new(), Vec::new());
        for pair in ParallelReader::open(&corpus, config.data.utf8)? {
            let pair = pair?;
            source.push(pair.source);
            target.push(pair.target);
        }
        self.valid_text = Some((source, target));
        Ok(())
    }
}

/// `data.cache`, or a folder of the user's cache.
pub fn cache_folder(config: &TrainConfig) -> PathBuf {
    match config.data.cache.as_os_str().is_empty() {
        true => user_cache(),
        false => config.data.cache.clone(),
    }
}

/// The user's cache folder for this program.
pub fn user_cache() -> PathBuf {
    let folder = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    let base = folder("XDG_CACHE_HOME")
        .or_else(|| folder("HOME").map(|home| home.join(".cache")))
        .or_else(|| folder("LOCALAPPDATA"))
        .unwrap_or_else(std::env::temp_dir);
    base.join("burnformer")
}
