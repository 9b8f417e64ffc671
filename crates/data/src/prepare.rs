//! Makes a tokenised corpus from paths, reusing the files of earlier calls in the cache folder.

use std::path::{Path, PathBuf};

use burnformer_files::{FileKind, read_whole};
use serde::{Deserialize, Serialize};

use crate::cache::{TokenizedCorpus, build};
use crate::clean::CleaningSettings;
use crate::cleaning_report::CleaningReport;
use crate::corpus::{CorpusPaths, LinePair, ParallelReader, TextError, is_pipe};
use crate::error::Result;
use crate::hash::{Key, file_key, hex, key_of};
use crate::pair_sample::PairSample;
use crate::tokenizer::{Tokenizer, TokenizerSettings, TokenizerTrainer, Tokenizers};
use crate::written::{make_folder, write_atomically};

/// Version of training and tokenising. It is raised whenever their result changes. Old caches are
/// then not reused.
///
/// 2: text over `max_training_chars` is sampled by pairs; before, a joint tokeniser learned only
/// from the source side. 3: text is read without its invisible characters. 4: a `tokenizer.json`
/// says so, and pairs that differ in them alone are duplicates.
const RECIPE: &[u8] = b"burnformer-data recipe 4";

/// The origin of the tokenisers.
#[derive(Clone, Debug)]
pub enum TokenizerSource {
    /// Train on the corpus, or reuse a tokeniser that was trained on the same text with the same
    /// settings.
    Train(TokenizerSettings),
    /// Load `tokenizer.json` files or SentencePiece models. Without `target`, one file serves both
    /// sides.
    Load {
        /// The tokeniser of the source side, or of both sides.
        source: PathBuf,
        /// The tokeniser of the target side.
        target: Option<PathBuf>,
    },
    /// Use these tokenisers, for example the training corpus's tokenisers for validation text.
    Given(Tokenizers),
}

/// The settings of [`prepare`].
#[derive(Clone, Debug)]
pub struct PrepareSettings {
    /// The files of the corpus.
    pub corpus: CorpusPaths,
    /// The tokenisers.
    pub tokenizer: TokenizerSource,
    /// The cleaning rules.
    pub cleaning: CleaningSettings,
    /// The folder for trained tokenisers and tokenised corpora; it is created if it does not exist.
    pub cache_dir: PathBuf,
}

/// The current work of [`prepare`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stage {
    /// Reading the corpus to train the tokeniser.
    ReadText,
    /// Training the tokeniser; there is no line count.
    TrainTokenizer,
    /// Tokenising and cleaning the corpus.
    Tokenize,
}

/// The progress of [`prepare`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// The stage in progress.
    pub stage: Stage,
    /// Number of lines of the corpus that are done in this stage.
    pub lines: u64,
}

/// A corpus ready for batches.
pub struct Prepared {
    /// The tokenisers.
    pub tokenizers: Tokenizers,
    /// The tokenised corpus.
    pub corpus: TokenizedCorpus,
    /// A sample of the pairs of the text, before cleaning.
    pub pairs: PairSample,
    /// The numbers of dropped pairs by reason.
    pub report: CleaningReport,
    /// If true, the tokenisers existed already: loaded, given or cached.
    pub tokenizer_reused: bool,
    /// If true, the tokenised corpus was in the cache already.
    pub corpus_reused: bool,
}

/// Tokenises a corpus, and trains the tokeniser if the settings ask for it. A second call with the
/// same text and settings reads both from the cache folder. `progress` is called every few thousand
/// lines.
///
/// # Errors
/// Returns any [`DataError`](crate::DataError) that reading, training, cleaning or writing causes.
/// Damaged cache files are built again without an error.
pub fn prepare(settings: &PrepareSettings, progress: &mut dyn FnMut(Progress)) -> Result<Prepared> {
    settings.cleaning.validate()?;
    let files = settings.corpus.files();
    if let Some(path) = files.into_iter().find(|path| is_pipe(path)) {
        return Err(TextError::NotRepeatable(path.into()).into());
    }
    make_folder(&settings.cache_dir)?;
    let text = text_key(&settings.corpus)?;
    let (tokenizers, tokenizer_reused) = tokenizers(settings, &text, progress)?;
    tokenizers.special_ids()?;
    let (corpus, pairs, corpus_reused) = tokenized(settings, &text, &tokenizers, progress)?;
    let report = corpus.report().clone();
    Ok(Prepared {
        tokenizers,
        corpus,
        pairs,
        report,
        tokenizer_reused,
        corpus_reused,
    })
}

/// A key made from the bytes of the corpus and from how its files are read, not from their names.
fn text_key(corpus: &CorpusPaths) -> Result<Key> {
    let kind: &[u8] = match corpus {
        CorpusPaths::Pair { .. } => b"pair",
        CorpusPaths::Tsv { .. } => b"tsv",
    };
    let keys = corpus
        .files()
        .into_iter()
        .map(file_key)
        .collect::<Result<Vec<_>, _>>()?;
    Ok(key_of(&[RECIPE, kind, keys.as_flattened()]))
}

/// The settings as JSON, the input of a key.
fn json(settings: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(settings).expect("settings are plain data")
}

fn tokenizers(
    settings: &PrepareSettings,
    text: &Key,
    progress: &mut dyn FnMut(Progress),
) -> Result<(Tokenizers, bool)> {
    match &settings.tokenizer {
        TokenizerSource::Given(tokenizers) => Ok((tokenizers.clone(), true)),
        TokenizerSource::Load {
            source,
            target: None,
        } => Ok((Tokenizers::joint(Tokenizer::load(source)?), true)),
        TokenizerSource::Load {
            source,
            target: Some(target),
        } => Ok((
            Tokenizers::separate(Tokenizer::load(source)?, Tokenizer::load(target)?),
            true,
        )),
        TokenizerSource::Train(training) => {
            training.validate()?;
            let key = key_of(&[
                b"tokenizer",
                text,
                &json(training),
                &json(&settings.cleaning.utf8),
            ]);
            let base = settings
                .cache_dir
                .join(format!("tokenizer-{}", &hex(&key)[..16]));
            if let Some(found) = cached_tokenizers(&base, training.joint) {
                return Ok((found, true));
            }
            let trained = train(settings, training, progress)?;
            save_tokenizers(&base, &trained)?;
            Ok((trained, false))
        }
    }
}

/// The paths of the cached tokenisers: one file, or one per side.
fn sides(base: &Path, joint: bool) -> Vec<PathBuf> {
    let names: &[&str] = if joint {
        &["json"]
    } else {
        &["source.json", "target.json"]
    };
    names.iter().map(|name| base.with_extension(name)).collect()
}

/// The cached tokenisers, if they exist and are not damaged.
fn cached_tokenizers(base: &Path, joint: bool) -> Option<Tokenizers> {
    let mut found = sides(base, joint).into_iter().map(|path| {
        let bytes = read_whole(&path, FileKind::TOKENIZER).ok()?;
        let expected = read_whole(&path.with_extension("sha256"), FileKind::NOTES).ok()?;
        (hex(&key_of(&[&bytes])).as_bytes() == expected)
            .then(|| Tokenizer::from_bytes(&path, &bytes).ok())?
    });
    let source = found.next()??;
    match found.next() {
        None => Some(Tokenizers::joint(source)),
        Some(target) => Some(Tokenizers::separate(source, target?)),
    }
}

fn save_tokenizers(base: &Path, tokenizers: &Tokenizers) -> Result<()> {
    let both = [&tokenizers.source, &tokenizers.target];
    for (path, tokenizer) in sides(base, tokenizers.is_joint()).iter().zip(both) {
        let bytes = tokenizer.to_bytes();
        write_atomically(path, &bytes)?;
        write_atomically(
            &path.with_extension("sha256"),
            hex(&key_of(&[&bytes])).as_bytes(),
        )?;
    }
    Ok(())
}

fn train(
    settings: &PrepareSettings,
    training: &TokenizerSettings,
    progress: &mut dyn FnMut(Progress),
) -> Result<Tokenizers> {
    if training.joint {
        let mut joint = TokenizerTrainer::new(training.clone())?;
        read_text(settings, progress, |pair| {
            joint.feed_pair(&pair.source, &pair.target)
        })?;
        return Ok(Tokenizers::joint(joint.train()?));
    }
    let mut source = TokenizerTrainer::new(training.clone())?;
    let mut target = TokenizerTrainer::new(training.clone())?;
    read_text(settings, progress, |pair| {
        source.feed(&pair.source);
        target.feed(&pair.target);
    })?;
    Ok(Tokenizers::separate(source.train()?, target.train()?))
}

fn read_text(
    settings: &PrepareSettings,
    progress: &mut dyn FnMut(Progress),
    mut each: impl FnMut(&LinePair),
) -> Result<()> {
    let mut lines = 0;
    for pair in ParallelReader::open(&settings.corpus, settings.cleaning.utf8)? {
        each(&pair?);
        lines += 1;
        if lines % 8192 == 0 {
            progress(Progress {
                stage: Stage::ReadText,
                lines,
            });
        }
    }
    progress(Progress {
        stage: Stage::ReadText,
        lines,
    });
    progress(Progress {
        stage: Stage::TrainTokenizer,
        lines: 0,
    });
    Ok(())
}

fn tokenized(
    settings: &PrepareSettings,
    text: &Key,
    tokenizers: &Tokenizers,
    progress: &mut dyn FnMut(Progress),
) -> Result<(TokenizedCorpus, PairSample, bool)> {
    let hashes = [tokenizers.source.hash(), tokenizers.target.hash()].concat();
    let key = key_of(&[
        b"tokens",
        text,
        hashes.as_bytes(),
        &json(&settings.cleaning.effective()),
    ]);
    let path = settings
        .cache_dir
        .join(format!("corpus-{}.tokens", &hex(&key)[..16]));
    let sample = settings
        .cache_dir
        .join(format!("pairs-{}.sample", &hex(text)[..16]));
    if let Ok(corpus) = TokenizedCorpus::open(&path, &key) {
        return Ok((corpus, sampled(settings, &sample)?, true));
    }
    let reader = ParallelReader::open(&settings.corpus, settings.cleaning.utf8)?;
    let mut pairs = PairSample::default();
    build(
        &path,
        &key,
        reader,
        tokenizers,
        &settings.cleaning,
        &mut |pair| add(&mut pairs, pair),
        &mut |lines| {
            progress(Progress {
                stage: Stage::Tokenize,
                lines,
            })
        },
    )?;
    pairs.finish();
    write_atomically(&sample, &pairs.to_bytes())?;
    Ok((TokenizedCorpus::open(&path, &key)?, pairs, false))
}

/// The sample of the pairs of the text, from the file `path`. A missing or damaged file is made
/// again from the text.
fn sampled(settings: &PrepareSettings, path: &Path) -> Result<PairSample> {
    let known = std::fs::read(path).ok();
    if let Some(known) = known.and_then(|bytes| PairSample::from_bytes(&bytes)) {
        return Ok(known);
    }
    let mut pairs = PairSample::default();
    for pair in ParallelReader::open(&settings.corpus, settings.cleaning.utf8)? {
        add(&mut pairs, &pair?);
    }
    pairs.finish();
    // Without the file, the text is read again next time.
    let _ = write_atomically(path, &pairs.to_bytes());
    Ok(pairs)
}

fn add(pairs: &mut PairSample, pair: &LinePair) {
    if pair.valid {
        pairs.add(&pair.source, &pair.target);
    }
}
