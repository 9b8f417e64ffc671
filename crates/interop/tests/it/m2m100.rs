//! Models of M2M100's class give here what they give in transformers (`fixtures/m2m100.py`).

use std::path::Path;

use crate::common::{fixture, ids};
use burn::tensor::{Device, Int, Tensor};
use burnformer_core::{Mode, model_dir};
use burnformer_infer::{Languages, LengthPenalty, Request, SearchSettings, Translator};
use burnformer_interop::{Format, InteropError, Pretrained};
use serde_json::Value;

fn expected() -> Value {
    serde_json::from_slice(&std::fs::read(fixture("m2m100/expected.json")).unwrap()).unwrap()
}

/// The model directory made of the fixture `name`.
fn imported(name: &str) -> tempfile::TempDir {
    let path = fixture("m2m100").join(name);
    assert_eq!(Format::find(&path).unwrap(), Format::HuggingFace);
    let folder = tempfile::tempdir().unwrap();
    Format::HuggingFace
        .read(&path)
        .unwrap()
        .save(&folder.path().join("model"))
        .unwrap();
    folder
}

fn translator(folder: &tempfile::TempDir) -> Translator {
    Translator::load(folder.path().join("model"), &Device::default()).unwrap()
}

#[test]
fn logits_match_transformers() {
    let expected = expected();
    let device = Device::default();
    for (name, results) in expected["models"].as_object().unwrap() {
        let folder = imported(name);
        let (_, model) = model_dir::load(&folder.path().join("model"), &device).unwrap();
        let pairs = ids(&results["sources"])
            .into_iter()
            .zip(ids(&expected["targets"]));
        for ((source, target), logits) in pairs.zip(results["logits"].as_array().unwrap()) {
            let tensor = |ids: &[u32]| {
                let ids: Vec<i32> = ids.iter().map(|&id| id as i32).collect();
                Tensor::<1, Int>::from_ints(&ids[..], &device).unsqueeze::<2>()
            };
            let input: Vec<u32> = [2].into_iter().chain(target).collect();
            let actual = model
                .forward(tensor(&source), tensor(&input), Mode::Inference)
                .into_data();
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
fn beam_search_into_a_language_matches_transformers_token_for_token() {
    let expected = expected();
    for (name, results) in expected["models"].as_object().unwrap() {
        let folder = imported(name);
        let translator = translator(&folder);
        let code = |side: usize| results["languages"][side].as_str();
        let languages = translator.languages(code(0), code(1)).unwrap();
        // The tag and `</s>`, which requests need not have.
        let sources = ids(&results["sources"]).into_iter();
        let sources: Vec<Vec<u32>> = sources.map(|ids| ids[1..ids.len() - 1].to_vec()).collect();
        let all = expected["settings"].as_array().unwrap().iter();
        for (json, results) in all.zip(results["searches"].as_array().unwrap()) {
            let beam_size = json["num_beams"].as_u64().unwrap() as usize;
            let limit = json["max_length"].as_u64().unwrap() as usize - 1;
            let mut options = translator.options();
            options.languages = languages.clone();
            options.search = SearchSettings {
                beam_size,
                n_best: beam_size,
                max_length: Some(limit),
                max_length_extra: limit,
                length_penalty: LengthPenalty::Power(
                    json["length_penalty"].as_f64().unwrap_or(1.0),
                ),
                ..options.search
            };
            let requests = sources.iter().cloned().map(Request::new);
            let found = translator
                .translate_ids(requests.map(Into::into).collect(), &options)
                .unwrap();
            for (found, expected) in found.iter().zip(results.as_array().unwrap()) {
                let found: Vec<&[u32]> = found
                    .iter()
                    .map(|hypothesis| &hypothesis.tokens[..])
                    .collect();
                assert_eq!(found, ids(expected), "{name} {json}");
            }
        }
    }
}

#[test]
fn text_is_tokenised_like_in_transformers() {
    let expected = expected();
    for (name, results) in expected["models"].as_object().unwrap() {
        let folder = imported(name);
        let translator = translator(&folder);
        let tokenizer = &translator.tokenizers().source;
        let text = results["text"]
            .as_array()
            .unwrap()
            .iter()
            .map(|line| line.as_str().unwrap());
        let mut compared = 0;
        for (line, theirs) in text.zip(results["ids"].as_array().unwrap()) {
            let ids = tokenizer.encode(line);
            assert!(!ids.iter().any(|&id| id == 2 || id > 60), "{line}: {ids:?}");
            let Some(theirs) = theirs.as_array() else {
                continue;
            };
            let theirs: Vec<u64> = theirs.iter().map(|id| id.as_u64().unwrap()).collect();
            let ids: Vec<u64> = ids.into_iter().map(u64::from).collect();
            assert_eq!(ids, theirs[1..theirs.len() - 1], "{line}");
            compared += 1;
        }
        assert!(compared > 20, "{compared}");
        let tag = tokenizer.language_token("fr").unwrap();
        assert_eq!(tokenizer.token(tag).as_deref(), Some("__fr__"));
        let text = "the house is small";
        let ids = [&[tag], &tokenizer.encode(text)[..]].concat();
        assert_eq!(tokenizer.decode(&ids), text);
    }
}

#[test]
fn languages_are_required_and_known_by_code() {
    let folder = imported("relu");
    let translator = translator(&folder);
    for (source, target, side, needle) in [
        (None, Some("fr"), "source", "none was given"),
        (Some("en"), None, "target", "none was given"),
        (Some("en"), Some("xyz"), "target", "\"xyz\""),
        (Some("the"), Some("fr"), "source", "\"the\""),
    ] {
        let error = translator.languages(source, target).unwrap_err();
        let message = error.to_string();
        let flag = format!("{side} language");
        assert!(
            message.contains(needle) && message.contains(&flag),
            "{message}"
        );
    }
    let mut options = translator.options();
    options.languages = translator.languages(Some("en"), Some("fr")).unwrap();
    let mut as_written = translator.options();
    as_written.languages = translator
        .languages(Some("en-GB"), Some("fra_Latn"))
        .unwrap();
    let mut into_english = translator.options();
    into_english.languages = translator.languages(Some("fr"), Some("en")).unwrap();
    let empty = translator.translate(&["", "the house"], &options).unwrap();
    let same = translator
        .translate(&["", "the house"], &as_written)
        .unwrap();
    let other = translator
        .translate(&["", "the house"], &into_english)
        .unwrap();
    assert_eq!(same[1].score, empty[1].score);
    assert_ne!(other[1].score, empty[1].score);
    assert_eq!(empty[0].text, "");
    assert!(!empty[1].text.contains("__"), "{}", empty[1].text);
}

/// The tokens of a translation have the log-probabilities of their search. The first one, the
/// language, is given.
#[test]
fn a_translation_between_languages_has_the_score_of_its_search() {
    let folder = imported("relu");
    let translator = translator(&folder);
    let mut options = translator.options();
    options.languages = translator.languages(Some("en"), Some("fr")).unwrap();
    let text = "the house is small";
    let found = translator.translate(&[text], &options).unwrap().remove(0);
    let french = translator.tokenizers().target.language_token("fr").unwrap();
    let [first, rest @ ..] = &found.tokens[..] else {
        panic!("{found:?}")
    };
    assert_eq!(*first, french);
    let source = translator.encode_source(text, &options.languages);
    let scored = translator.score_ids(&[source], &[rest.to_vec()], &options);
    let scored = scored.unwrap().remove(0);
    let of_search = &found.n_best[0].hypothesis.log_probs[1..];
    assert!(of_search.len() > 5, "{found:?}");
    for (ours, of_search) in scored.log_probs.iter().zip(of_search) {
        assert!((ours - of_search).abs() < 1e-5, "{scored:?} {found:?}");
    }
}

/// With the weights of [`Translator::attention`], whose first rows and columns are the languages.
#[test]
fn links_between_languages_are_the_largest_weights_of_the_same_input() {
    let folder = imported("relu");
    let translator = translator(&folder);
    let languages = translator.languages(Some("en"), Some("fr")).unwrap();
    let [source, target] = ["the house is small", "the small house"];
    let links = translator.links(source, target, &languages).unwrap();
    let attention = translator.attention(source, target, &languages).unwrap();
    assert!(attention.source[0].word.is_none());
    assert_eq!(attention.target_output[0].word, None);
    let heads = attention.weights.cross.last().unwrap();
    let columns = 1..attention.source.len() - 1;
    let strongest = |row: usize| {
        let mean = |column: usize| heads.iter().map(|head| head.row(row)[column]).sum::<f32>();
        let better = |a: &usize, b: &usize| mean(*a).total_cmp(&mean(*b));
        columns.clone().max_by(better).unwrap()
    };
    let rows = 1..attention.target_output.len() - 1;
    assert_eq!(links.len(), rows.len());
    let pieces = translator.tokenizers().source.encode(source);
    for (link, row) in links.iter().zip(rows) {
        let piece = strongest(row) - 1;
        let before = translator.tokenizers().source.decode(&pieces[..=piece]);
        assert_eq!(link.source.end, before.len(), "{link:?}");
    }
    let plain = translator.links(source, target, &Languages::default());
    assert_eq!(plain.unwrap().len(), links.len());
}

/// NLLB's ids are those of a `tokenizer.json`.
#[test]
fn the_vocabulary_of_a_tokenizer_json_is_read_with_its_languages() {
    let folder = tempfile::tempdir().unwrap();
    for entry in std::fs::read_dir(fixture("m2m100/relu")).unwrap() {
        let path = entry.unwrap().path();
        std::fs::copy(&path, folder.path().join(path.file_name().unwrap())).unwrap();
    }
    let path = folder.path().join("vocab.json");
    let vocabulary: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    let added = |id: u32, content: &str| serde_json::json!({ "id": id, "content": content });
    let json = serde_json::json!({
        "model": { "type": "BPE", "vocab": vocabulary },
        "added_tokens": [added(61, "ace_Arab"), added(62, "fra_Latn"), added(168, "<mask>")],
    });
    std::fs::remove_file(&path).unwrap();
    std::fs::write(folder.path().join("tokenizer.json"), json.to_string()).unwrap();
    let package = Format::HuggingFace.read(folder.path()).unwrap();
    let dir = folder.path().join("model");
    package.save(&dir).unwrap();
    let translator = Translator::load(&dir, &Device::default()).unwrap();
    assert!(
        translator
            .languages(Some("ace_Arab"), Some("fra_Latn"))
            .is_ok()
    );
    let scores = |source: &str, target: &str| {
        let mut options = translator.options();
        options.languages = translator.languages(Some(source), Some(target)).unwrap();
        translator.translate(&["the house"], &options).unwrap()[0].score
    };
    let written = scores("ace_Arab", "fra_Latn");
    assert_eq!(scores("ace_Arab", "fr-FR"), written);
    assert_ne!(scores("fra_Latn", "ace_Arab"), written);
    assert!(translator.languages(Some("de"), Some("fra_Latn")).is_err());
    assert_eq!(
        translator.tokenizers().source.language_token("fra_Latn"),
        Some(62)
    );
}

#[test]
fn an_export_reads_as_the_same_model() {
    for name in ["relu", "silu_unscaled"] {
        let path = fixture("m2m100").join(name);
        let package = Format::HuggingFace.read(&path).unwrap();
        let out = tempfile::tempdir().unwrap();
        for format in [Format::HuggingFace, Format::CTranslate2] {
            let to = out.path().join(format.name());
            format.write(&package, &to).unwrap();
            let again = format.read(&to).unwrap();
            assert_eq!(again.weights, package.weights, "{name} {format:?}");
            assert_eq!(again.config.conventions, package.config.conventions);
        }
        let to = out.path().join(Format::HuggingFace.name());
        let again = Format::HuggingFace.read(&to).unwrap();
        assert_eq!(again.config, package.config, "{name}");
        assert_eq!(again.generation, package.generation, "{name}");
        assert_eq!(again.texts, package.texts, "{name}");
        // The pieces alone, to which transformers adds the languages.
        let json = |dir: &Path| -> Value {
            serde_json::from_slice(&std::fs::read(dir.join("vocab.json")).unwrap()).unwrap()
        };
        assert_eq!(json(&to), json(&path), "{name}");
    }
}

#[test]
fn what_m2m100_lacks_is_not_exported_as_one() {
    let package = Format::HuggingFace.read(&fixture("m2m100/relu")).unwrap();
    let out = tempfile::tempdir().unwrap();
    let to = out.path().join("out");
    let error = Format::Marian.write(&package, &to).unwrap_err();
    assert!(
        matches!(error, InteropError::CannotExport { .. }),
        "{error}"
    );
    let mut other = with_languages_of_nllb();
    let unigram = include_bytes!("../../../data/tests/fixtures/ten.spm");
    other.texts.insert("source.spm".into(), unigram.to_vec());
    let error = Format::HuggingFace.write(&other, &to).unwrap_err();
    assert!(error.to_string().contains("byte-pair"), "{error}");
    assert!(!to.exists());
}

/// A small M2M100 with a language of NLLB.
fn with_languages_of_nllb() -> Pretrained {
    let mut model = Format::HuggingFace.read(&fixture("m2m100/relu")).unwrap();
    let vocabulary = String::from_utf8(model.texts["vocab.json"].clone()).unwrap();
    let nllb = vocabulary.replace("__fr__", "fra_Latn").into_bytes();
    model.texts.insert("vocab.json".into(), nllb);
    model
}

/// transformers reads vocabulary, merges and special tokens of this file.
#[test]
fn nllb_is_exported_with_its_languages() {
    let model = with_languages_of_nllb();
    let out = tempfile::tempdir().unwrap();
    let to = out.path().join("out");
    Format::HuggingFace.write(&model, &to).unwrap();
    let again = Format::HuggingFace.read(&to).unwrap();
    assert_eq!(again.texts, model.texts);
    let json = |name: &str| -> Value {
        serde_json::from_slice(&std::fs::read(to.join(name)).unwrap()).unwrap()
    };
    assert_eq!(
        json("tokenizer_config.json")["tokenizer_class"],
        "NllbTokenizer"
    );
    let tokenizer = json("tokenizer.json");
    let vocabulary = tokenizer["model"]["vocab"].as_object().unwrap();
    let added = tokenizer["added_tokens"].as_array().unwrap();
    let french = added.iter().find(|it| it["content"] == "fra_Latn").unwrap();
    assert_eq!(french["id"], vocabulary["fra_Latn"]);
    // Each piece of several characters can be made by its merges.
    let merges = tokenizer["model"]["merges"].as_array().unwrap();
    let made: Vec<String> = merges
        .iter()
        .map(|pair| format!("{}{}", pair[0].as_str().unwrap(), pair[1].as_str().unwrap()))
        .collect();
    let is_added = |piece: &str| added.iter().any(|it| it["content"] == piece);
    for piece in vocabulary.keys().filter(|it| !is_added(it)) {
        let is_made = made.contains(piece);
        assert_eq!(is_made, piece.chars().count() > 1, "{piece}");
    }
}
