//! Models as Marian writes them give here what NumPy computes after Marian's source
//! (`fixtures/marian_models.py`).

use std::path::Path;

use crate::common::{fixture, ids};
use burn::tensor::{Device, Int, Tensor};
use burnformer_core::{
    HistoryNorm, Mode, Model, ModelConfig, TargetHistory, TransformerConfig, model_dir,
};
use burnformer_infer::{
    Batching, BeamRule, LengthPenalty, NeuralModel, Request, SearchSettings, Shortlist, search,
};
use burnformer_interop::{Format, InteropError, Pretrained};
use serde_json::Value;

const NAMES: [&str; 4] = ["post_swish", "pre_relu", "student", "ssru"];

fn expected() -> Value {
    serde_json::from_slice(&std::fs::read(fixture("marian/expected.json")).unwrap()).unwrap()
}

fn package(name: &str) -> Pretrained {
    let path = fixture("marian").join(name);
    assert_eq!(Format::find(&path).unwrap(), Format::Marian);
    Format::Marian.read(&path).unwrap()
}

fn imported(name: &str) -> (ModelConfig, Model) {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("model");
    package(name).save(&dir).unwrap();
    model_dir::load(&dir, &Device::default()).unwrap()
}

#[test]
fn logits_match_marians_formulas() {
    let expected = expected();
    let device = Device::default();
    for name in NAMES {
        let (config, model) = imported(name);
        let pairs = ids(&expected["sources"])
            .into_iter()
            .zip(ids(&expected["targets"]));
        let results = expected["models"][name]["logits"].as_array().unwrap();
        for ((source, target), logits) in pairs.zip(results) {
            let input: Vec<u32> = [config.tokens().bos].into_iter().chain(target).collect();
            let tensor = |ids: &[u32]| {
                let ids: Vec<i32> = ids.iter().map(|&id| id as i32).collect();
                Tensor::<1, Int>::from_ints(&ids[..], &device).unsqueeze::<2>()
            };
            let actual = model.forward(tensor(&source), tensor(&input), Mode::Inference);
            let [_, len, vocab] = actual.dims();
            // The last is the padding that was appended.
            assert_eq!(vocab, 25, "{name}");
            let actual = actual.slice([0..1, 0..len, 0..24]).into_data();
            let logits = logits
                .as_array()
                .unwrap()
                .iter()
                .map(|x| x.as_f64().unwrap());
            assert_eq!(actual.num_elements(), logits.len(), "{name}");
            let worst = actual.iter::<f64>().zip(logits).map(|(a, b)| (a - b).abs());
            let worst = worst.fold(0.0, f64::max);
            assert!(worst < 1e-4, "{name}: {worst}");
        }
    }
}

#[test]
fn greedy_translations_never_hold_the_unknown_or_padding() {
    let expected = expected();
    for name in NAMES {
        let settings = package(name).generation.search;
        assert_eq!((settings.beam_size, &settings.suppress[..]), (1, &[1][..]));
        assert_eq!(settings.length_penalty, LengthPenalty::Power(0.6));
        let (config, model) = imported(name);
        let transformer: &TransformerConfig = config.downcast_ref().unwrap();
        let is_as_trained = transformer.conventions.history_norm == HistoryNorm::Always;
        let model = NeuralModel::new(config, model, &Device::default());
        let requests: Vec<Request> = ids(&expected["sources"])
            .into_iter()
            .map(Request::new)
            .collect();
        let settings = SearchSettings {
            max_length: Some(10),
            max_length_extra: 10,
            ..settings
        };
        let found = search(&model, &requests, &settings, &Batching::default()).unwrap();
        let found: Vec<&[u32]> = found.iter().map(|all| &all[0].tokens[..]).collect();
        assert!(
            found.iter().all(|tokens| !tokens.contains(&1)),
            "{name}: {found:?}"
        );
        // Marian 1.12 translates with other keys than it trains; `marian_trained` has its own.
        if is_as_trained {
            assert_eq!(found, ids(&expected["models"][name]["greedy"]), "{name}");
        }
    }
}

#[test]
fn vocabularies_are_closed_by_padding() {
    let package = package("student");
    let vocabulary: Value = serde_json::from_slice(&package.texts["vocab.json"]).unwrap();
    assert_eq!(vocabulary["</s>"], 0);
    assert_eq!(vocabulary["\u{2581}t23"], 23);
    assert_eq!(vocabulary["<pad>"], 24);
    assert_eq!(package.config.pad, 24);
    assert_eq!(
        package.config.conventions.target_history,
        TargetHistory::Ssru
    );
    assert!(
        !package.texts.contains_key("target_vocab.json"),
        "one for both"
    );
}

/// The error in a copy of the fixture `name` whose file `file` is changed by `change`.
fn changed(name: &str, file: &str, change: impl FnOnce(&mut Vec<u8>)) -> InteropError {
    let folder = copy_of(name, file, change);
    Format::Marian.read(folder.path()).unwrap_err()
}

fn replace(bytes: &mut [u8], from: &str, to: &str) {
    assert_eq!(from.len(), to.len());
    let start = bytes
        .windows(from.len())
        .position(|window| window == from.as_bytes())
        .unwrap();
    bytes[start..start + from.len()].copy_from_slice(to.as_bytes());
}

#[test]
fn options_without_a_counterpart_are_refused_by_name() {
    let message = |from, to| {
        changed("student", "model.int8.bin", |bytes| {
            replace(bytes, from, to)
        })
        .to_string()
    };
    assert!(message("dec-cell: ssru", "dec-cell: lstm").contains("dec-cell"));
    assert!(message("type: transformer", "type: multi-trans").contains("multi-trans"));
    assert!(message("ffn-activation: relu", "ffn-activation: tanh").contains("tanh"));
    let tied = message("tied-layers: []", "tied-layers: 11");
    assert!(tied.contains("tied-layers: \"11\""), "{tied}");
    assert!(message("ffn-depth: 2", "ffn-depth: 3").contains("ffn-depth"));
    assert!(message("enc-depth: 2", "enc-depth: 3").contains("encoder_l3"));
    assert!(message("enc-depth: 2", "enc-depth: 1").contains("encoder_l2"));
    // Found by fuzzing: a name for each weight of each layer filled the memory.
    let deep = message(
        "version: v1.12\nenc-depth: 2",
        "version: 1\nenc-depth: 99999",
    );
    assert!(deep.contains("100001, but there are"), "{deep}");
    assert!(message("heads: 2", "heads: 3").contains("heads 3"));
}

#[test]
fn damage_and_truncation_are_errors() {
    for (name, file) in [
        ("student", "model.int8.bin"),
        ("ssru", "model.float32.bin"),
        ("post_swish", "model.npz"),
    ] {
        let len = std::fs::metadata(fixture("marian").join(name).join(file))
            .unwrap()
            .len() as usize;
        for len in (0..len).step_by(199) {
            let error = changed(name, file, |bytes| bytes.truncate(len));
            let known = matches!(
                error,
                InteropError::Damaged(..) | InteropError::Missing { .. }
            );
            assert!(known && error.to_string().contains(file), "{len}: {error}");
        }
    }
    let vocabulary = changed("ssru", "vocab.yml", |bytes| bytes.extend(b"no token\n"));
    assert!(
        vocabulary.to_string().contains("line 25") || vocabulary.to_string().contains("line 26"),
        "{vocabulary}"
    );
}

/// A copy of the fixture `name` with one file replaced by `change`.
fn copy_of(name: &str, file: &str, change: impl FnOnce(&mut Vec<u8>)) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for entry in std::fs::read_dir(fixture("marian").join(name)).unwrap() {
        let path = entry.unwrap().path();
        std::fs::copy(&path, folder.path().join(path.file_name().unwrap())).unwrap();
    }
    let path = folder.path().join(file);
    let mut bytes = std::fs::read(&path).unwrap();
    change(&mut bytes);
    std::fs::write(&path, bytes).unwrap();
    folder
}

/// Marian 1.12.42 translates with such a model: `dim-vocabs` of its training was below the size of
/// the list.
#[test]
fn tokens_of_a_list_beyond_the_rows_of_the_model_are_left_out() {
    for more in 1..30 {
        let longer = copy_of("ssru", "vocab.yml", |bytes| {
            (24..24 + more).for_each(|id| bytes.extend(format!("more{id}: {id}\n").bytes()));
        });
        let longer = Format::Marian.read(longer.path()).unwrap();
        assert_eq!(longer.texts, package("ssru").texts);
    }
}

#[test]
fn decoder_options_become_settings_of_the_search() {
    let settings = |options: &str| {
        let folder = copy_of("ssru", "decoder.yml", |bytes| {
            bytes.extend(options.bytes());
        });
        Format::Marian.read(folder.path()).unwrap()
    };
    let package = settings("word-penalty: -0.25\nmax-length-factor: 1.5\n");
    let search = &package.generation.search;
    assert_eq!(search.beam_rule, BeamRule::Marian);
    assert_eq!(
        (search.word_penalty, search.max_length_factor),
        (-0.25, 1.5)
    );
    assert!(package.warnings.is_empty(), "{:?}", package.warnings);
    let noted = settings("skip-cost: true\noutput-sampling: [topk, 10]\nallow-special: false\n");
    assert_eq!(noted.warnings.len(), 2, "{:?}", noted.warnings);
    assert!(noted.warnings.concat().contains("skip-cost"));
}

#[test]
fn a_vocabulary_outside_of_the_folder_names_the_option() {
    for name in ["../vocab.yml", "/data/joint.spm", "elsewhere/words.yml"] {
        let folder = copy_of("ssru", "decoder.yml", |bytes| {
            *bytes = format!("vocabs: [{name}, {name}]\n").into_bytes();
        });
        std::fs::rename(
            folder.path().join("vocab.yml"),
            folder.path().join("other.yml"),
        )
        .unwrap();
        let error = Format::Marian.read(folder.path()).unwrap_err().to_string();
        assert!(error.contains("--vocabs SOURCE TARGET"), "{error}");
        assert!(error.contains(name.rsplit('/').next().unwrap()), "{error}");
    }
}

/// The file is written by `write_shortlist` in `fixtures/marian_models.py`, after Marian's
/// `BinaryShortlistGenerator`.
#[test]
fn a_binary_shortlist_comes_with_the_model() {
    let package = package("student");
    assert!(
        package
            .warnings
            .iter()
            .any(|warning| warning.contains("--shortlist"))
    );
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("model");
    package.save(&dir).unwrap();
    model_dir::verify(&dir).unwrap();
    let shortlist = Shortlist::load(&dir.join("shortlist.safetensors")).unwrap();
    assert_eq!(Some(&shortlist), package.shortlist.as_ref());
    assert_eq!(shortlist.frequent(), [0, 1, 2, 3]);
    // Two translations of each token, and, in one vocabulary, the token itself.
    assert_eq!(shortlist.translations(5), [5, 15, 22]);
    assert_eq!(shortlist.translations(23), [4, 21, 23]);
    assert!(shortlist.translations(24).is_empty(), "padding");
    assert_eq!(shortlist.vocabularies().sizes, [25; 2]);
}

#[test]
fn a_damaged_shortlist_is_named() {
    let damaged = |change: fn(&mut Vec<u8>)| {
        let error = changed("student", "lex.s2t.bin", change);
        assert!(matches!(error, InteropError::Damaged(..)), "{error}");
        assert!(error.to_string().contains("lex.s2t.bin"), "{error}");
    };
    damaged(|bytes| bytes.truncate(30));
    damaged(|bytes| bytes.truncate(bytes.len() - 4));
    damaged(|bytes| bytes[8] ^= 1);
    damaged(|bytes| bytes[60] ^= 1);
    damaged(|bytes| *bytes.last_mut().unwrap() = 1);
    damaged(|bytes| bytes[32..40].fill(0xff));
}

/// The binary shortlist of `write_shortlist`, with other `lists`.
fn binary_shortlist(lists: &[Vec<u32>]) -> Vec<u8> {
    let tokens: Vec<u32> = lists.concat();
    let mut rest: Vec<u8> = [4, 2, lists.len() as u64 + 1, tokens.len() as u64]
        .iter()
        .flat_map(|number: &u64| number.to_le_bytes())
        .collect();
    let mut end = 0u64;
    rest.extend(end.to_le_bytes());
    for list in lists {
        end += list.len() as u64;
        rest.extend(end.to_le_bytes());
    }
    rest.extend(tokens.iter().flat_map(|id| id.to_le_bytes()));
    let checksum = rest.chunks_exact(8).fold(0u64, |seed, bytes| {
        let number = u64::from_le_bytes(bytes.try_into().unwrap());
        seed ^ number
            .wrapping_add(0x9e37_79b9)
            .wrapping_add(seed << 6)
            .wrapping_add(seed >> 2)
    });
    let header = [0xF11A_48D5_0134_17F5, checksum];
    let header = header.iter().flat_map(|number: &u64| number.to_le_bytes());
    header.chain(rest).collect()
}

/// Marian 1.12.42 refuses ids that its target vocabulary lacks, and reads behind the end of a table
/// that is shorter than its source vocabulary. It accepts a longer table, and a source token
/// without translations.
#[test]
fn a_shortlist_fits_the_vocabularies_before_padding() {
    let read = |lists: &[Vec<u32>]| {
        let folder = copy_of("student", "lex.s2t.bin", |bytes| {
            *bytes = binary_shortlist(lists);
        });
        Format::Marian.read(folder.path())
    };
    let good: Vec<Vec<u32>> = (0..24).map(|id| vec![id, (id + 5) % 24]).collect();
    let changed = |place: usize, list: Vec<u32>| {
        let mut lists = good.clone();
        lists[place] = list;
        lists
    };
    for place in 0..24 {
        for id in [24, 25, 1000, u32::MAX] {
            let error = read(&changed(place, vec![3, id])).unwrap_err().to_string();
            assert!(error.contains(&format!("the id {id}")), "{error}");
        }
        let error = read(&good[..place]).unwrap_err().to_string();
        assert!(error.contains("the vocabulary 24"), "{error}");
        assert!(read(&changed(place, vec![])).is_ok());
    }
    let shortlist = read(&good).unwrap().shortlist;
    let longer: Vec<Vec<u32>> = good.iter().cloned().chain([vec![1], vec![2]]).collect();
    assert_eq!(read(&longer).unwrap().shortlist, shortlist);
}

#[test]
fn a_recurrent_decoder_cannot_be_exported() {
    let folder = tempfile::tempdir().unwrap();
    for format in [Format::HuggingFace, Format::CTranslate2] {
        let error = format
            .write(&package("student"), &folder.path().join("out"))
            .unwrap_err();
        assert!(
            matches!(error, InteropError::CannotExport { .. }),
            "{error}"
        );
    }
    assert!(!Path::new(&folder.path().join("out")).exists());
}
