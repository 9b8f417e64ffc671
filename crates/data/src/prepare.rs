//! Makes a tokenised corpus from paths, reusing the files of earlier calls in the cache folder.

use std::path::{Path, PathBuf};

use burnformer_files::{FileKind, read_whole};
use serde::{Deserialize, Serialize};

use crate::cache::{TokenizedCorpus, build};
use crate::clean::CleaningSettings;
use crate::corpus::{CorpusPaths, LinePair, ParallelReader, TextError, Utf8Policy, is_pipe};
use crate::error::Result;
use crate::hash::{FileKeys, Key, hex, key_of};
use crate::pair_sample::PairSample;
use crate::tokenizer::{Tokenizer, TokenizerSettings, TokenizerTrainer, Tokenizers};
use crate::write::{make_folder, write_atomically};

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

/// The training of tokenisers on one text or several.
#[derive(Clone, Debug)]
pub struct TokenizerTraining {
    /// The texts.
    pub corpora: Vec<CorpusPaths>,
    /// The settings.
    pub settings: TokenizerSettings,
    /// The [special tokens](TokenizerTrainer::with_special_tokens) in the source and in the target,
    /// such as those that name languages. A joint tokeniser has both.
    pub special: [Vec<String>; 2],
    /// The policy for lines that are not UTF-8.
    pub utf8: Utf8Policy,
    /// The folder for trained tokenisers; it is created if it does not exist.
    pub cache_dir: PathBuf,
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
    /// If true, the tokenisers existed already: loaded, given or cached.
    pub tokenizer_reused: bool,
    /// If true, the tokenised corpus was in the cache already.
    pub corpus_reused: bool,
}

/// Tokenises a corpus, and trains the tokeniser if the settings ask for it. A second call with the
/// same text and settings reads both from the cache folder. `keys` has the keys of files that were
/// read before. `progress` is called every few thousand lines.
///
/// # Errors
/// Returns any [`DataError`](crate::DataError) that reading, training, cleaning or writing causes.
/// Damaged cache files are built again without an error.
pub fn prepare(
    settings: &PrepareSettings,
    keys: &mut FileKeys,
    progress: &mut dyn FnMut(Progress),
) -> Result<Prepared> {
    settings.cleaning.validate()?;
    let text = text_key(&settings.corpus, keys)?;
    make_folder(&settings.cache_dir)?;
    let (tokenizers, tokenizer_reused) = tokenizers(settings, keys, progress)?;
    tokenizers.special_ids()?;
    let (corpus, pairs, corpus_reused) = tokenized(settings, &text, &tokenizers, progress)?;
    Ok(Prepared {
        tokenizers,
        corpus,
        pairs,
        tokenizer_reused,
        corpus_reused,
    })
}

/// Returns a key made from the bytes of the corpus and from how its files are read, not from their
/// names.
///
/// # Errors
/// Returns [`TextError::NotRepeatable`] for a pipe, and an error if a file cannot be read.
fn text_key(corpus: &CorpusPaths, keys: &mut FileKeys) -> Result<Key> {
    let kind: &[u8] = match corpus {
        CorpusPaths::Pair { .. } => b"pair",
        CorpusPaths::Tsv { .. } => b"tsv",
        CorpusPaths::Reversed { reversed } => {
            return Ok(key_of(&[b"reversed", &text_key(reversed, keys)?]));
        }
        CorpusPaths::Documents { documents } => {
            return Ok(key_of(&[b"documents", &text_key(documents, keys)?]));
        }
    };
    let files = corpus.files();
    if let Some(path) = files.iter().find(|path| is_pipe(path)) {
        return Err(TextError::NotRepeatable((*path).into()).into());
    }
    let keys = files
        .into_iter()
        .map(|path| keys.key(path))
        .collect::<Result<Vec<_>, _>>()?;
    Ok(key_of(&[RECIPE, kind, keys.as_flattened()]))
}

/// Returns the settings as JSON, the input of a key.
fn json(settings: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(settings).expect("settings are plain data")
}

fn tokenizers(
    settings: &PrepareSettings,
    keys: &mut FileKeys,
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
            let training = TokenizerTraining {
                corpora: vec![settings.corpus.clone()],
                settings: training.clone(),
                special: Default::default(),
                utf8: settings.cleaning.utf8,
                cache_dir: settings.cache_dir.clone(),
            };
            train_tokenizers(&training, keys, progress)
        }
    }
}

/// Trains tokenisers, or finds those that were trained on the same texts with the same settings in
/// the cache folder. Returns whether they were found. `keys` as in [`prepare`].
///
/// # Errors
/// Returns any [`DataError`](crate::DataError) that reading, training or writing causes.
pub fn train_tokenizers(
    training: &TokenizerTraining,
    keys: &mut FileKeys,
    progress: &mut dyn FnMut(Progress),
) -> Result<(Tokenizers, bool)> {
    training.settings.validate()?;
    make_folder(&training.cache_dir)?;
    let name = format!("tokenizer-{}", &hex(&training_key(training, keys)?)[..16]);
    let base = training.cache_dir.join(name);
    if let Some(found) = cached_tokenizers(&base, training.settings.joint) {
        return Ok((found, true));
    }
    let trained = train(training, progress)?;
    save_tokenizers(&base, &trained)?;
    Ok((trained, false))
}

/// Returns a key made from the texts and the settings of a training.
fn training_key(training: &TokenizerTraining, keys: &mut FileKeys) -> Result<Key> {
    let texts = training.corpora.iter().map(|corpus| text_key(corpus, keys));
    let texts = texts.collect::<Result<Vec<_>>>()?;
    let settings = json(&training.settings);
    let utf8 = json(&training.utf8);
    let special = json(&training.special);
    let mut parts: Vec<&[u8]> = vec![b"tokenizer", texts.as_flattened(), &settings, &utf8];
    if training.special.iter().any(|tokens| !tokens.is_empty()) {
        parts.push(&special);
    }
    Ok(key_of(&parts))
}

/// Returns the paths of the cached tokenisers: one file, or one per side.
fn sides(base: &Path, joint: bool) -> Vec<PathBuf> {
    let names: &[&str] = if joint {
        &["json"]
    } else {
        &["source.json", "target.json"]
    };
    names.iter().map(|name| base.with_extension(name)).collect()
}

/// Returns the cached tokenisers, if they exist and are not damaged.
fn cached_tokenizers(base: &Path, joint: bool) -> Option<Tokenizers> {
    let mut tokenizers = sides(base, joint).into_iter().map(|path| {
        let bytes = read_whole(&path, FileKind::TOKENIZER).ok()?;
        let expected = read_whole(&path.with_extension("sha256"), FileKind::NOTES).ok()?;
        (hex(&key_of(&[&bytes])).as_bytes() == expected)
            .then(|| Tokenizer::from_bytes(&path, &bytes).ok())?
    });
    let source = tokenizers.next()??;
    match tokenizers.next() {
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

fn train(training: &TokenizerTraining, progress: &mut dyn FnMut(Progress)) -> Result<Tokenizers> {
    let [of_source, of_target] = training.special.clone();
    let trainer =
        |special| TokenizerTrainer::new(training.settings.clone())?.with_special_tokens(special);
    if training.settings.joint {
        let mut joint = trainer(union(of_source, of_target))?;
        read_texts(training, progress, |pair| {
            joint.feed_pair(&pair.source, &pair.target)
        })?;
        return Ok(Tokenizers::joint(joint.train()?));
    }
    let mut source = trainer(of_source)?;
    let mut target = trainer(of_target)?;
    read_texts(training, progress, |pair| {
        source.feed(&pair.source);
        target.feed(&pair.target);
    })?;
    Ok(Tokenizers::separate(source.train()?, target.train()?))
}

/// Returns the tokens of `all`, and the tokens of `more` that are not among them.
fn union(mut all: Vec<String>, more: Vec<String>) -> Vec<String> {
    for token in more {
        if !all.contains(&token) {
            all.push(token);
        }
    }
    all
}

fn read_texts(
    training: &TokenizerTraining,
    progress: &mut dyn FnMut(Progress),
    mut each: impl FnMut(&LinePair),
) -> Result<()> {
    let mut lines = 0;
    for corpus in &training.corpora {
        for pair in ParallelReader::open(corpus, training.utf8)? {
            each(&pair?);
            lines += 1;
            if lines % 8192 == 0 {
                progress(Progress {
                    stage: Stage::ReadText,
                    lines,
                });
            }
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

/// Returns the sample of the pairs of the text, from the file `path`. A missing or damaged file is
/// made again from the text.
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
