//! Students of Firefox beside the numbers of their engine, in int8 as it is used, and in float32
//! (`firefox.py`).

use std::path::Path;

use burn::tensor::Device;
use burnformer_core::model_dir;
use burnformer_infer::{Batching, NeuralModel, Request, load_settings, search};
use burnformer_interop::Format;
use serde_json::Value;

#[test]
#[ignore = "needs models that state no licence: run firefox.py, then set BURNFORMER_FIREFOX"]
fn students_of_firefox_match_their_engine() {
    let folder = std::env::var_os("BURNFORMER_FIREFOX").expect("BURNFORMER_FIREFOX is not set");
    let folder = Path::new(&folder);
    let mut same = 0;
    let mut same_in_float32 = 0;
    for pair in ["en-pt", "pt-en"] {
        let json = std::fs::read(folder.join(format!("{pair}.json"))).unwrap();
        let cases: Vec<Value> = serde_json::from_slice(&json).unwrap();
        let path = folder.join(pair);
        assert_eq!(Format::find(&path).unwrap(), Format::Marian);
        let package = Format::Marian.read(&path).unwrap();
        let pieces = pieces(&package.texts["vocab.json"]);
        let temporary = tempfile::tempdir().unwrap();
        let dir = temporary.path().join("model");
        package.save(&dir).unwrap();
        let settings = load_settings(&dir).unwrap().search;
        let (config, model) = model_dir::load(&dir, &Device::default()).unwrap();
        let model = NeuralModel::new(config, model, &Device::default());
        let ids = |case: &Value| {
            case["ids"]
                .as_array()
                .unwrap()
                .iter()
                .map(|id| id.as_u64().unwrap() as u32)
                .collect()
        };
        let requests: Vec<Request> = cases.iter().map(|case| Request::new(ids(case))).collect();
        let found = search(&model, &requests, &settings, &Batching::default()).unwrap();
        for (found, case) in found.iter().zip(&cases) {
            let translation = text(&found[0].tokens, &pieces);
            same += usize::from(case["target"] == translation);
            same_in_float32 += usize::from(case["float32"] == translation);
            if case["target"] != translation {
                println!(
                    "{pair}\n  {}\n  {translation}\n  {}",
                    case["source"], case["target"]
                );
            }
            if case["float32"] != translation {
                println!("  in float32: {}", case["float32"]);
            }
        }
    }
    println!("of 200 the same: {same_in_float32} in float32, {same} in int8");
    // A sum in another order may tip a single choice. Int8 tips many: the engine agrees with itself
    // on 162.
    assert!(same_in_float32 >= 199, "{same_in_float32}");
    assert!(same >= 160, "{same}");
}

fn pieces(json: &[u8]) -> Vec<String> {
    let ids: serde_json::Map<String, Value> = serde_json::from_slice(json).unwrap();
    let mut pieces = vec![String::new(); ids.len()];
    for (piece, id) in ids {
        pieces[id.as_u64().unwrap() as usize] = piece;
    }
    pieces
}

fn text(ids: &[u32], pieces: &[String]) -> String {
    let text: String = ids
        .iter()
        .filter(|&&id| id != 0)
        .map(|&id| &pieces[id as usize][..])
        .collect();
    text.replace('\u{2581}', " ").trim().to_string()
}
