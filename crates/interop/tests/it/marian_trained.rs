//! Models that Marian trained, one for each option, beside Marian's own searches (`marian.py`).

use std::path::Path;

use crate::common::{fixture, ids};
use burn::tensor::Device;
use burnformer_core::model_dir;
use burnformer_infer::{Batching, NeuralModel, Request, SearchSettings, search};
use burnformer_interop::{Format, Pretrained};
use serde_json::Value;

fn json(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

/// The translations by the model `package` with its own search settings: for each of `sources`, the
/// whole list of the search.
fn translations(package: &Pretrained, sources: &[Vec<u32>]) -> Vec<Vec<(Vec<u32>, f64)>> {
    let temporary = tempfile::tempdir().unwrap();
    let dir = temporary.path().join("model");
    package.save(&dir).unwrap();
    let (config, model) = model_dir::load(&dir, &Device::default()).unwrap();
    let eos = config.tokens().eos;
    let model = NeuralModel::new(config, model, &Device::default());
    let settings = SearchSettings {
        n_best: package.generation.search.beam_size,
        ..package.generation.search.clone()
    };
    let requests: Vec<Request> = sources.iter().cloned().map(Request::new).collect();
    let found = search(&model, &requests, &settings, &Batching::default()).unwrap();
    let without_eos = |tokens: Vec<u32>| tokens.into_iter().filter(|&id| id != eos).collect();
    found
        .into_iter()
        .map(|list| {
            list.into_iter()
                .map(|hypothesis| (without_eos(hypothesis.tokens), hypothesis.score))
                .collect()
        })
        .collect()
}

/// The lists of Marian for the search `found`.
fn of_marian(found: &Value) -> Vec<Vec<(Vec<u32>, f64)>> {
    let lists = found.as_array().unwrap().iter();
    lists
        .map(|list| {
            let list = list.as_array().unwrap().iter();
            list.map(|one| {
                let tokens = one["ids"].as_array().unwrap().iter();
                let tokens = tokens.map(|id| id.as_u64().unwrap() as u32).collect();
                (tokens, one["score"].as_f64().unwrap())
            })
            .collect()
        })
        .collect()
}

/// The numbers of sentences with the same best translation, and with the same list in the same
/// order.
fn equal(ours: &[Vec<(Vec<u32>, f64)>], theirs: &[Vec<(Vec<u32>, f64)>]) -> [usize; 2] {
    let tokens = |list: &[(Vec<u32>, f64)]| -> Vec<Vec<u32>> {
        list.iter().map(|(tokens, _)| tokens.clone()).collect()
    };
    let best = ours.iter().zip(theirs).filter(|(a, b)| a[0].0 == b[0].0);
    let same = best.clone().filter(|(a, b)| tokens(a) == tokens(b));
    [best.count(), same.count()]
}

/// The model in `dir` with the decoder options `search`, as Marian writes them beside a model.
fn package(dir: &Path, expected: &Value, search: &Value) -> Pretrained {
    let folder = tempfile::tempdir().unwrap();
    let vocabs: Vec<&str> = expected["vocabs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|name| name.as_str().unwrap())
        .collect();
    for name in vocabs.iter().chain(&["model.npz"]) {
        std::fs::copy(dir.join(name), folder.path().join(name)).unwrap();
    }
    let mut decoder = format!("models: [model.npz]\nvocabs: [{}]\n", vocabs.join(", "));
    for (key, value) in search["options"].as_object().unwrap() {
        decoder.push_str(&format!("{key}: {value}\n"));
    }
    std::fs::write(folder.path().join("model.npz.decoder.yml"), decoder).unwrap();
    Format::Marian.read(folder.path()).unwrap()
}

/// Compares the models in `folder` with Marian, prints a table, and returns the differences.
fn compared(folder: &Path) -> Vec<String> {
    let mut wrong = Vec::new();
    for model in json(&folder.join("models.json")).as_array().unwrap() {
        let name = model[0].as_str().unwrap();
        let dir = folder.join(model[1].as_str().unwrap());
        let expected = json(&dir.join("expected.json"));
        if let Some(word) = expected["refused"].as_str() {
            let error = Format::Marian.read(&dir).unwrap_err().to_string();
            println!("{name:26} refused: {error}");
            if !error.contains(word) {
                wrong.push(format!("{name}: {error}"));
            }
            continue;
        }
        let sources = ids(&expected["sources"]);
        print!("{name:26}");
        for (key, search) in expected["searches"].as_object().unwrap() {
            let theirs = of_marian(&search["found"]);
            let ours = translations(&package(&dir, &expected, search), &sources);
            let [best, list] = equal(&ours, &theirs);
            print!("  {key} {best} ({list})");
            if best < theirs.len() {
                wrong.push(format!("{name}, {key}"));
            }
        }
        println!();
    }
    wrong
}

#[test]
fn models_of_letters_translate_as_marian_does_in_every_search() {
    let folder = fixture("marian_trained");
    assert_eq!(
        json(&folder.join("models.json")).as_array().unwrap().len(),
        4
    );
    let wrong = compared(&folder);
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
#[ignore = "trains models for minutes: run marian.py, then set BURNFORMER_MARIAN"]
fn marian_models_match_marian_in_every_search() {
    let folder = std::env::var_os("BURNFORMER_MARIAN").expect("BURNFORMER_MARIAN is not set");
    let wrong = compared(Path::new(&folder));
    assert!(wrong.is_empty(), "{wrong:#?}");
}
