//! A model of this project goes out and comes back in, and translates text as before.

use std::path::Path;

use burn::tensor::Device;
use burnformer_core::{TransformerConfig, named_parameters};
use burnformer_infer::{GenerationSettings, LengthPenalty, SearchSettings, Translator};
use burnformer_interop::{Format, Pretrained, Tensor};

/// A model of random weights with the tokeniser of the model in the program, on one side or on
/// each.
fn package(files: &[&str]) -> Pretrained {
    let tokenizer =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../assets/models/de-en/tokenizer.json");
    let bytes = std::fs::read(tokenizer).unwrap();
    let config = TransformerConfig::tiny(6000).with_width(16, 2);
    let model = config.init(3, &Device::default()).unwrap();
    let weights = named_parameters(&model);
    Pretrained {
        config,
        weights: weights
            .iter()
            .map(|(name, data)| (name.clone(), Tensor::from(data)))
            .collect(),
        generation: GenerationSettings::from(SearchSettings {
            beam_size: 3,
            length_penalty: LengthPenalty::Gnmt(0.3),
            max_length: Some(12),
            ..SearchSettings::default()
        }),
        texts: files
            .iter()
            .map(|name| (name.to_string(), bytes.clone()))
            .collect(),
        shortlist: None,
        warnings: Vec::new(),
    }
}

fn translated(package: &Pretrained, dir: &Path) -> Vec<String> {
    package.save(dir).unwrap();
    let translator = Translator::load(dir, &Device::default()).unwrap();
    let lines = [
        "Das Haus ist alt.",
        "Wo ist der Bahnhof?",
        "",
        "Ein Hund – und 3 Katzen.",
    ];
    let found = translator.translate(&lines, &translator.options()).unwrap();
    found.into_iter().map(|found| found.text).collect()
}

#[test]
fn exports_carry_tokenisers_and_settings_for_imports() {
    let folder = tempfile::tempdir().unwrap();
    for files in [
        &["tokenizer.json"][..],
        &["source_tokenizer.json", "target_tokenizer.json"],
    ] {
        let original = package(files);
        let name = files.len().to_string();
        let expected = translated(&original, &folder.path().join(&name));
        assert!(expected.iter().any(|line| !line.is_empty()));
        for format in [Format::CTranslate2, Format::HuggingFace] {
            let out = folder.path().join(format!("{name}-{format}"));
            format.write(&original, &out).unwrap();
            let again = Format::find(&out).unwrap().read(&out).unwrap();
            assert_eq!(
                (&again.generation, &again.weights),
                (&original.generation, &original.weights),
                "{format}"
            );
            assert_eq!(
                again.texts.keys().collect::<Vec<_>>(),
                files.to_vec(),
                "{format}"
            );
            let found = translated(
                &again,
                &folder.path().join(format!("{name}-{format}-again")),
            );
            assert_eq!(found, expected, "{format}");
        }
    }
}

/// Somebody copied the tokeniser of another model beside it.
#[test]
fn a_tokeniser_with_other_tokens_is_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    Format::CTranslate2
        .write(&package(&["tokenizer.json"]), &out)
        .unwrap();
    let path = out.join("tokenizer.json");
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.contains("\"<0x41>\""));
    std::fs::write(&path, text.replace("\"<0x41>\"", "\"other\"")).unwrap();
    let again = Format::CTranslate2.read(&out).unwrap();
    assert_eq!(again.texts.keys().collect::<Vec<_>>(), ["vocab.json"]);
}
