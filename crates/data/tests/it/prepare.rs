//! Preparing a corpus: what is reused, what is rebuilt, and what a key depends on.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use burnformer_data::{
    BatchSampler, CleaningSettings, CorpusPaths, DataError, FileKeys, PrepareSettings, Prepared,
    Progress, Rank, SamplerSettings, Stage, Tokenizer, TokenizerSettings, TokenizerSource,
    Utf8Policy, prepare,
};
use tempfile::TempDir;

struct Bench {
    folder: TempDir,
    settings: PrepareSettings,
}

impl Bench {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (source, target) = (folder.path().join("s.txt"), folder.path().join("t.txt"));
        let lines = |text: &str| {
            (0..300)
                .map(|i| format!("{text} {} {}\n", i, i * 17))
                .collect::<String>()
        };
        fs::write(&source, lines("das Haus Nummer")).unwrap();
        fs::write(&target, lines("the house number")).unwrap();
        let settings = PrepareSettings {
            corpus: CorpusPaths::pair(source, target),
            tokenizer: TokenizerSource::Train(TokenizerSettings::bpe(300)),
            cleaning: CleaningSettings::default(),
            cache_dir: folder.path().join("cache"),
        };
        Self { folder, settings }
    }

    fn run(&self) -> Prepared {
        prepare(&self.settings, &mut FileKeys::default(), &mut |_| ()).unwrap()
    }

    fn cached(&self, end: &str) -> PathBuf {
        let entries = fs::read_dir(&self.settings.cache_dir)
            .unwrap()
            .map(|entry| entry.unwrap().path());
        entries
            .into_iter()
            .find(|path| path.to_str().unwrap().ends_with(end))
            .unwrap()
    }
}

fn reused(prepared: &Prepared) -> (bool, bool) {
    (prepared.tokenizer_reused, prepared.corpus_reused)
}

fn pairs(prepared: &Prepared) -> Vec<(Vec<u32>, Vec<u32>)> {
    (0..prepared.corpus.len())
        .map(|i| prepared.corpus.pair(i).unwrap())
        .collect()
}

#[test]
fn a_second_call_reuses_tokenizer_and_corpus() {
    let bench = Bench::new();
    let (first, second) = (bench.run(), bench.run());
    assert_eq!(
        (reused(&first), reused(&second)),
        ((false, false), (true, true))
    );
    assert_eq!(pairs(&first), pairs(&second));
    assert_eq!(first.corpus.report(), second.corpus.report());
    assert_eq!(
        first.tokenizers.source.hash(),
        second.tokenizers.source.hash()
    );
}

#[test]
fn the_corpus_holds_the_ids_of_the_tokenizer() {
    let prepared = Bench::new().run();
    let (source, target) = prepared.corpus.pair(7).unwrap();
    assert_eq!(
        prepared.tokenizers.source.decode(&source),
        "das Haus Nummer 7 119"
    );
    assert_eq!(
        prepared.tokenizers.target.decode(&target),
        "the house number 7 119"
    );
    assert_eq!(
        prepared.corpus.lengths(7..8).unwrap(),
        [[source.len() as u32, target.len() as u32]]
    );
}

#[test]
fn names_do_not_matter_but_content_does() {
    let mut bench = Bench::new();
    bench.run();
    let (s, t) = (
        bench.folder.path().join("other.s"),
        bench.folder.path().join("other.t"),
    );
    fs::copy(bench.folder.path().join("s.txt"), &s).unwrap();
    fs::copy(bench.folder.path().join("t.txt"), &t).unwrap();
    bench.settings.corpus = CorpusPaths::pair(&s, &t);
    assert_eq!(reused(&bench.run()), (true, true));
    let text = fs::read_to_string(&s).unwrap().replacen("Haus", "Raum", 1);
    fs::write(&s, text).unwrap();
    assert_eq!(reused(&bench.run()), (false, false));
}

#[test]
fn other_settings_make_other_caches() {
    let mut bench = Bench::new();
    bench.run();
    bench.settings.cleaning.max_target_len = 100;
    assert_eq!(reused(&bench.run()), (true, false));
    bench.settings.tokenizer = TokenizerSource::Train(TokenizerSettings::bpe(301));
    assert_eq!(reused(&bench.run()), (false, false));
}

/// Damages the file that ends in `end` and expects the same result from a rebuilt one.
fn is_rebuilt_after(end: &str, damage: impl Fn(&mut Vec<u8>), expected: (bool, bool)) {
    let bench = Bench::new();
    let before = pairs(&bench.run());
    let path = bench.cached(end);
    let mut bytes = fs::read(&path).unwrap();
    damage(&mut bytes);
    fs::write(&path, bytes).unwrap();
    let after = bench.run();
    assert_eq!(reused(&after), expected, "{end}");
    assert_eq!(pairs(&after), before);
    assert_eq!(reused(&bench.run()), (true, true));
}

#[test]
fn a_damaged_cache_is_rebuilt() {
    for at in [0, 9, 13, 17, 30, 60, 100, 130, 150, 1000] {
        is_rebuilt_after(".tokens", |bytes| bytes[at] ^= 1, (true, false));
    }
    is_rebuilt_after(
        ".tokens",
        |bytes| bytes.truncate(bytes.len() - 1),
        (true, false),
    );
    is_rebuilt_after(".tokens", |bytes| bytes.truncate(100), (true, false));
    is_rebuilt_after(".tokens", Vec::clear, (true, false));
    is_rebuilt_after(".tokens", |bytes| bytes.push(0), (true, false));
}

#[test]
fn truncating_an_open_cache_is_an_error() {
    let bench = Bench::new();
    let prepared = bench.run();
    let path = bench.cached(".tokens");
    let sampler = BatchSampler::new(Arc::new(prepared.corpus), SamplerSettings::default()).unwrap();
    let stream = sampler.updates(sampler.start(), 1, Rank::ALONE).unwrap();
    fs::OpenOptions::new()
        .write(true)
        .open(&path)
        .unwrap()
        .set_len(200)
        .unwrap();
    let error = stream.take(10).find_map(Result::err).expect("an error");
    assert!(matches!(error, DataError::DamagedCache(..)), "{error:?}");
    for part in [
        path.to_str().unwrap(),
        "became shorter while it was in use",
        "delete it",
    ] {
        assert!(error.to_string().contains(part), "{error}");
    }
}

#[test]
fn overwriting_an_open_cache_is_an_error() {
    let bench = Bench::new();
    let prepared = bench.run();
    let mut bytes = fs::read(bench.cached(".tokens")).unwrap();
    bytes[1024..1080].fill(0xff);
    fs::write(bench.cached(".tokens"), bytes).unwrap();
    let error = prepared.corpus.pair(0).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("was overwritten while it was in use"),
        "{error}"
    );
}

#[test]
fn a_damaged_tokenizer_is_trained_again() {
    is_rebuilt_after(
        ".json",
        |bytes| bytes.truncate(bytes.len() / 2),
        (false, true),
    );
    is_rebuilt_after(".json", |bytes| bytes.push(b' '), (false, true));
    is_rebuilt_after(".sha256", Vec::clear, (false, true));
}

#[test]
fn no_temporary_files_remain() {
    let bench = Bench::new();
    bench.run();
    let mut names: Vec<_> = fs::read_dir(&bench.settings.cache_dir)
        .unwrap()
        .map(|e| e.unwrap().path())
        .collect();
    names.sort();
    let ends: Vec<_> = names
        .iter()
        .map(|path| path.extension().unwrap().to_str().unwrap())
        .collect();
    // The first is the lock of those who write there.
    assert_eq!(ends, ["lock", "tokens", "sample", "json", "sha256"]);
}

#[test]
fn separate_vocabularies_see_one_side_each() {
    let mut bench = Bench::new();
    let settings = TokenizerSettings {
        joint: false,
        character_coverage: 1.0,
        ..TokenizerSettings::bpe(295)
    };
    bench.settings.tokenizer = TokenizerSource::Train(settings);
    let (first, second) = (bench.run(), bench.run());
    assert!(!first.tokenizers.is_joint());
    assert_eq!(reused(&second), (true, true));
    assert!(first.tokenizers.source.id("H").is_some() && first.tokenizers.target.id("H").is_none());
    assert_eq!(pairs(&first), pairs(&second));
}

/// The numbers of Greek and of Latin pieces in the vocabulary; bytes and special tokens are
/// neither.
fn pieces_by_script(tokenizer: &Tokenizer) -> [usize; 2] {
    let pieces = (260..tokenizer.vocab_size() as u32).filter_map(|id| tokenizer.token(id));
    let pieces: Vec<String> = pieces.collect();
    [
        |c: char| ('α'..='ω').contains(&c),
        |c: char| c.is_ascii_lowercase(),
    ]
    .map(|script| pieces.iter().filter(|piece| piece.contains(script)).count())
}

/// A corpus of Greek source and Latin target words, both written with the same pattern of letters.
fn two_scripts(training: TokenizerSettings) -> Bench {
    let mut bench = Bench::new();
    let line = |first: char, i: usize| {
        let letter = |k: usize| char::from_u32(first as u32 + (k % 16) as u32).unwrap();
        let word = |k: usize| {
            (0..4)
                .map(|n| letter(k * 7 + n * (1 + k % 5)))
                .collect::<String>()
        };
        [word(i), word(i / 3), word(i / 7)].join(" ")
    };
    for (name, first) in [("s.txt", 'α'), ("t.txt", 'a')] {
        let lines: Vec<String> = (0..4000).map(|i| line(first, i)).collect();
        fs::write(bench.folder.path().join(name), lines.join("\n")).unwrap();
    }
    bench.settings.tokenizer = TokenizerSource::Train(training);
    bench
}

#[test]
fn a_joint_tokenizer_learns_from_both_sides_of_a_text_above_its_limit() {
    // 112,000 characters; half of them, a quarter, an eighth and so on.
    for limit in [60_000, 30_000, 14_000] {
        let training = TokenizerSettings {
            max_training_chars: limit,
            character_coverage: 1.0,
            allow_smaller: true,
            ..TokenizerSettings::bpe(420)
        };
        let [greek, latin] = pieces_by_script(&two_scripts(training).run().tokenizers.source);
        let even = greek.abs_diff(latin) * 10 < greek + latin;
        assert!(
            even,
            "{limit} characters: {greek} Greek pieces, {latin} Latin"
        );
    }
}

#[test]
fn separate_tokenizers_of_a_text_above_their_limit_learn_their_own_side() {
    let training = TokenizerSettings {
        joint: false,
        max_training_chars: 20_000,
        character_coverage: 1.0,
        ..TokenizerSettings::bpe(340)
    };
    let prepared = two_scripts(training).run();
    let [greek, latin] = pieces_by_script(&prepared.tokenizers.source);
    assert!(
        greek >= 79 && latin == 0,
        "source: {greek} Greek pieces, {latin} Latin"
    );
    let [greek, latin] = pieces_by_script(&prepared.tokenizers.target);
    assert!(
        greek == 0 && latin >= 79,
        "target: {greek} Greek pieces, {latin} Latin"
    );
}

#[test]
fn a_saved_tokenizer_can_be_loaded_instead_of_trained() {
    let mut bench = Bench::new();
    let first = bench.run();
    let path = bench.folder.path().join("tokenizer.json");
    first.tokenizers.source.save(&path).unwrap();
    bench.settings.tokenizer = TokenizerSource::Load {
        source: path,
        target: None,
    };
    assert_eq!(reused(&bench.run()), (true, true));
    bench.settings.tokenizer = TokenizerSource::Given(first.tokenizers.clone());
    assert_eq!(reused(&bench.run()), (true, true));
}

#[test]
fn progress_counts_every_line_of_every_stage() {
    let bench = Bench::new();
    let mut last = HashMap::new();
    let mut note = |progress: Progress| {
        last.insert(progress.stage, progress.lines);
    };
    prepare(&bench.settings, &mut FileKeys::default(), &mut note).unwrap();
    assert_eq!(
        last,
        HashMap::from([
            (Stage::ReadText, 300),
            (Stage::TrainTokenizer, 0),
            (Stage::Tokenize, 300)
        ])
    );
}

#[test]
fn dropped_pairs_are_counted_by_reason() {
    let mut bench = Bench::new();
    let write = |name: &str, text: &[u8]| fs::write(bench.folder.path().join(name), text).unwrap();
    let mut source = b"gut\n\nb\xffd\ngut\n \x00\n".to_vec();
    source.extend("das Haus Nummer 1\n".repeat(30).bytes());
    let mut target = b"good\nx\ny\ngood\nz\n".to_vec();
    target.extend("the house number 1\n".repeat(30).bytes());
    write("s.txt", &source);
    write("t.txt", &target);
    bench.settings.cleaning = CleaningSettings {
        utf8: Utf8Policy::Skip,
        drop_duplicates: true,
        ..Default::default()
    };
    let training = TokenizerSettings {
        allow_smaller: true,
        ..TokenizerSettings::bpe(300)
    };
    bench.settings.tokenizer = TokenizerSource::Train(training);
    let report = bench.run().corpus.report().clone();
    assert_eq!(
        (
            report.read,
            report.kept,
            report.empty,
            report.invalid_utf8,
            report.duplicate
        ),
        (35, 2, 2, 1, 30)
    );
}

#[test]
fn a_large_vocabulary_takes_four_bytes_a_token_and_reads_the_same() {
    let mut bench = Bench::new();
    let small = bench.run();
    // The same tokeniser with more pieces than two bytes can number. The text has none of them.
    let mut json: serde_json::Value =
        serde_json::from_slice(&small.tokenizers.source.to_bytes()).unwrap();
    for id in small.tokenizers.source.vocab_size()..=70_000 {
        json["model"]["vocab"][format!("far{id}")] = id.into();
    }
    let path = bench.folder.path().join("large.json");
    fs::write(&path, serde_json::to_vec(&json).unwrap()).unwrap();
    bench.settings.tokenizer = TokenizerSource::Load {
        source: path,
        target: None,
    };
    let large = bench.run();
    assert_eq!(large.tokenizers.source.vocab_size(), 70_001);
    assert_eq!(pairs(&large), pairs(&small));
    assert!(Path::new(&bench.cached(".tokens")).exists());
}
