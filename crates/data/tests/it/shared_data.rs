//! Real corpora, where they are at hand: round trips, padding and reuse at full size.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use burnformer_data::{
    BatchSampler, CleaningSettings, CorpusPaths, FileKeys, LineReader, PrepareSettings,
    SamplerSettings, TokenizerSettings, TokenizerSource, Utf8Policy, prepare,
};

/// The folder of a corpus beside the repository, if it is there.
fn data(name: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../../shared/data")
        .join(name);
    if path.is_dir() {
        return Some(path);
    }
    println!("SKIPPED: {} is not there", path.display());
    None
}

fn settings(
    folder: &Path,
    languages: [&str; 2],
    vocab_size: usize,
    cache_dir: &Path,
) -> PrepareSettings {
    let [source, target] = languages.map(|language| folder.join(format!("train.{language}.gz")));
    PrepareSettings {
        corpus: CorpusPaths::pair(source, target),
        tokenizer: TokenizerSource::Train(TokenizerSettings::bpe(vocab_size)),
        cleaning: CleaningSettings {
            budget: Some(4096),
            ..Default::default()
        },
        cache_dir: cache_dir.into(),
    }
}

/// Prepares twice, and returns the padding share of the first epoch at a budget of 4,096.
fn padding_share(name: &str, languages: [&str; 2], vocab_size: usize) -> Option<f64> {
    let folder = data(name)?;
    let cache = tempfile::tempdir().unwrap();
    let settings = settings(&folder, languages, vocab_size, cache.path());
    let first = prepare(&settings, &mut FileKeys::default(), &mut |_| ()).unwrap();
    assert_eq!(first.tokenizers.source.vocab_size(), vocab_size);
    let second = prepare(&settings, &mut FileKeys::default(), &mut |_| ()).unwrap();
    assert!(second.tokenizer_reused && second.corpus_reused);
    assert_eq!(first.corpus.report(), second.corpus.report());
    let sampler = BatchSampler::new(Arc::new(second.corpus), SamplerSettings::default()).unwrap();
    Some(sampler.window(1, 0, 0).unwrap().padding_share())
}

#[test]
fn multi30k_pads_less_than_five_percent() {
    let Some(share) = padding_share("multi30k-de-en", ["de", "en"], 8_000) else {
        return;
    };
    assert!(share < 0.05, "{share}");
}

#[test]
fn tatoeba_pads_less_than_two_percent() {
    let Some(share) = padding_share("tatoeba-de-en", ["de", "en"], 6_000) else {
        return;
    };
    assert!(share < 0.02, "{share}");
}

#[test]
fn a_vocabulary_of_one_corpus_spells_another_without_loss() {
    let (Some(multi30k), Some(europarl)) = (data("multi30k-de-en"), data("europarl-en-fr")) else {
        return;
    };
    let cache = tempfile::tempdir().unwrap();
    let prepared = prepare(
        &settings(&multi30k, ["de", "en"], 8_000, cache.path()),
        &mut FileKeys::default(),
        &mut |_| (),
    )
    .unwrap();
    let tokenizer = prepared.tokenizers.source;
    let lines = LineReader::open(&europarl.join("train.fr.gz"), Utf8Policy::Error).unwrap();
    for line in lines.take(20_000) {
        let text = line.unwrap().text;
        let single_spaced = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(tokenizer.decode(&tokenizer.encode(&text)), single_spaced);
    }
}
