//! Packages as others publish them, by their very file names: OPUS-MT's, Marian's training folders,
//! Argos Translate's.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::Path;

use crate::common::fixture;
use burn::tensor::Device;
use burnformer_infer::{LengthPenalty, Translator};
use burnformer_interop::{Format, InteropError, Pretrained, TextFiles, import};
use serde_json::{Value, json};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

/// A SentencePiece model, and 24 tokens in Marian's order, most of them pieces of the model.
fn pieces() -> (Vec<u8>, Vec<String>) {
    let folder = fixture("m2m100/relu");
    let vocabulary: BTreeMap<String, usize> =
        serde_json::from_slice(&fs::read(folder.join("vocab.json")).unwrap()).unwrap();
    let mut tokens = vec!["</s>".to_string(), "<unk>".into()];
    tokens.extend(
        vocabulary
            .into_keys()
            .filter(|piece| !piece.starts_with(['<', '_']))
            .take(22),
    );
    (
        fs::read(folder.join("sentencepiece.bpe.model")).unwrap(),
        tokens,
    )
}

fn yaml(tokens: &[String]) -> String {
    tokens
        .iter()
        .enumerate()
        .map(|(id, token)| format!("{}: {id}\n", json!(token)))
        .collect()
}

pub(crate) fn read(path: &Path) -> Result<Pretrained, InteropError> {
    import(path, None, &TextFiles::default()).map(|(_, package)| package)
}

/// Asserts that the model of `package` translates a text.
fn translates(package: &Pretrained) {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("model");
    package.save(&dir).unwrap();
    let translator = Translator::load(&dir, &Device::default()).unwrap();
    assert!(!translator.options().protections.second_search);
    let found = translator
        .translate(&["the house"], &translator.options())
        .unwrap();
    assert!(found[0].score.is_finite());
}

fn tokens_of(package: &Pretrained, name: &str) -> BTreeMap<String, u32> {
    serde_json::from_slice(&package.texts[name]).unwrap()
}

/// `files` as an archive, compressed.
pub(crate) fn archived(path: &Path, files: &[(String, Vec<u8>)]) {
    let mut archive = ZipWriter::new(fs::File::create(path).unwrap());
    for (name, bytes) in files {
        archive
            .start_file(name.as_str(), SimpleFileOptions::default())
            .unwrap();
        archive.write_all(bytes).unwrap();
    }
    archive.finish().unwrap();
}

fn write_all(dir: &Path, files: &[(String, Vec<u8>)]) {
    for (name, bytes) in files {
        let path = dir.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
}

const OPUS: &str = "opus.spm32k-spm32k.transformer-align.model1.npz.best-perplexity.npz";

/// The files of a package of OPUS-MT (`lib/dist.mk` of OPUS-MT-train).
pub(crate) fn opus() -> Vec<(String, Vec<u8>)> {
    let (model, tokens) = pieces();
    let npz = fs::read(fixture("marian/post_swish/model.npz")).unwrap();
    let vocabulary = "opus.spm32k-spm32k.vocab.yml";
    let decoder = format!(
        "models:\n  - {OPUS}\nvocabs:\n  - {vocabulary}\n  - {vocabulary}\nbeam-size: 6\nnormalize: 1\nword-penalty: 0\n\
         mini-batch: 1\nmaxi-batch: 1\nmaxi-batch-sort: src\nrelative-paths: true\n"
    );
    let text = |name: &str, text: &str| (name.to_string(), text.as_bytes().to_vec());
    vec![
        (OPUS.into(), npz),
        text(vocabulary, &yaml(&tokens)),
        ("source.spm".into(), model.clone()),
        ("target.spm".into(), model),
        text("decoder.yml", &decoder),
        text("README.md", "* dataset: opus\n"),
        text("LICENSE", "CC-BY 4.0\n"),
        text("opus.spm32k-spm32k.transformer-align.train1.log", ""),
        text("preprocess.sh", "#!/bin/bash\n"),
        text("postprocess.sh", "#!/bin/bash\n"),
    ]
}

#[test]
fn an_opus_mt_package_translates_as_a_folder_and_as_an_archive() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("package");
    let archive = folder.path().join("opus.zip");
    write_all(&dir, &opus());
    archived(&archive, &opus());
    for path in [&dir, &archive, &dir.join(OPUS)] {
        let package = read(path).unwrap();
        let names: Vec<&String> = package.texts.keys().collect();
        assert_eq!(
            names,
            ["source.spm", "vocab.json"],
            "one model for both sides"
        );
        assert_eq!(package.generation.search.beam_size, 6);
        assert_eq!(
            package.generation.search.length_penalty,
            LengthPenalty::Power(1.0)
        );
        translates(&package);
    }
    // The newer ones: a list for each side, with the special tokens where SentencePiece puts them.
    let (_, tokens) = pieces();
    let lines = [&["<unk>", "<s>", "</s>"].map(String::from), &tokens[3..]]
        .concat()
        .join("\n");
    fs::remove_file(dir.join("opus.spm32k-spm32k.vocab.yml")).unwrap();
    fs::write(
        dir.join("opusTCv1.spm32k-spm32k.src.vocab"),
        format!("{lines}\n"),
    )
    .unwrap();
    fs::write(
        dir.join("opusTCv1.spm32k-spm32k.trg.vocab"),
        format!("{lines}\n"),
    )
    .unwrap();
    for decoder in [
        "vocabs: [opusTCv1.spm32k-spm32k.src.vocab, opusTCv1.spm32k-spm32k.trg.vocab] # both\nbeam-size: 2\n",
        "beam-size: 2 # no vocabularies\n",
    ] {
        fs::write(dir.join("decoder.yml"), decoder).unwrap();
        let package = read(&dir).unwrap();
        assert_eq!(
            (package.config.eos, &package.generation.search.suppress[..]),
            (2, &[0][..])
        );
        assert_eq!(package.generation.search.beam_size, 2);
        translates(&package);
    }
}

/// Whichever names the vocabularies have and whatever names them, each is its side's, or the import
/// says how to tell.
#[test]
fn vocabularies_have_sides_or_are_an_error() {
    let text = |side: char| {
        let tokens: Vec<String> = (2..24).map(|id| format!("{side}{id}")).collect();
        yaml(&[&["</s>", "<unk>"].map(String::from), &tokens[..]].concat())
    };
    let telling = [
        ("vocab.src.yml", "vocab.trg.yml"),
        ("z.source.vocab.yml", "a.target.vocab.yml"),
        ("srcvocab.deen.yml", "trgvocab.deen.yml"),
    ];
    let silent = [
        ("vocab.en.yml", "vocab.de.yml"),
        ("a.vocab.yml", "b.vocab.yml"),
        ("z-vocab.yml", "b-vocab.yml"),
    ];
    type Decoder = (&'static str, fn(&str, &str) -> String);
    let decoders: [Decoder; 9] = [
        ("", |_, _| String::new()),
        ("decoder.yml", |a, b| format!("vocabs:\n  - {a}\n  - {b}\n")),
        ("decoder.yml", |a, b| {
            format!("vocabs: [{a}, '{b}'] # source, target\n")
        }),
        ("model.npz.decoder.yml", |a, b| {
            format!("vocabs:\n- /train/{a}   # source\n- \"/train/{b}\"\n")
        }),
        ("model.npz.best-bleu.npz.decoder.yml", |a, b| {
            format!("models: [model.npz]\nvocabs: [{a}, {b}]\n")
        }),
        ("config.de-en.yml", |a, b| {
            format!("---\nvocabs: [\n  {a},\n  {b}\n]\n")
        }),
        ("model.npz.yml", |a, b| {
            format!("type: transformer\nvocabs:\n  - /home/{a}\n  - /home/{b}\nbeam-size: 7\n")
        }),
        ("model.npz.yml", |_, _| {
            "vocabs: [gone.spm, away.spm]\n".into()
        }),
        ("decoder.yaml", |a, b| {
            format!("{{\"vocabs\": [\"{a}\", \"{b}\"], \"beam-size\": 7}}")
        }),
    ];
    let npz = fixture("marian/post_swish/model.npz");
    for (tells, (source, target)) in telling
        .map(|names| (true, names))
        .into_iter()
        .chain(silent.map(|names| (false, names)))
    {
        for (decoder, content) in &decoders {
            let folder = tempfile::tempdir().unwrap();
            let dir = folder.path();
            fs::copy(&npz, dir.join("model.npz")).unwrap();
            fs::write(dir.join("model.npz.optimizer.npz"), "PK\x03\x04").unwrap();
            fs::write(dir.join(source), text('s')).unwrap();
            fs::write(dir.join(target), text('t')).unwrap();
            let content = content(source, target);
            if !decoder.is_empty() {
                fs::write(dir.join(decoder), &content).unwrap();
            }
            let named = !decoder.is_empty() && !content.contains("gone");
            for path in [dir.to_path_buf(), dir.join("model.npz")] {
                match (Format::Marian.read(&path), tells || named) {
                    (Ok(package), true) => {
                        assert_eq!(tokens_of(&package, "vocab.json")["s7"], 7, "{decoder}");
                        assert_eq!(
                            tokens_of(&package, "target_vocab.json")["t7"],
                            7,
                            "{decoder}"
                        );
                    }
                    (Err(error), false) => {
                        assert!(error.to_string().contains("--vocabs"), "{error}")
                    }
                    (found, _) => panic!("{source} {decoder}: {:?}", found.map(|_| ())),
                }
                assert_eq!(Format::find(&path).unwrap(), Format::Marian);
            }
            // The remedy.
            let files = TextFiles {
                vocabularies: vec![dir.join(source), dir.join(target)],
                ..TextFiles::default()
            };
            let package = Format::Marian.read_with(dir, &files).unwrap();
            assert_eq!(tokens_of(&package, "target_vocab.json")["t9"], 9);
        }
    }
}

#[test]
fn several_models_in_a_folder_are_distinguished_or_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    for name in ["model.npz", "model.npz.best-bleu.npz"] {
        fs::copy(fixture("marian/post_swish/model.npz"), dir.join(name)).unwrap();
    }
    fs::copy(
        fixture("marian/post_swish/vocab.yml"),
        dir.join("vocab.yml"),
    )
    .unwrap();
    let check = |name: &str, beam: usize| {
        let text =
            format!("models:\n  - {name}\nvocabs: [vocab.yml, vocab.yml]\nbeam-size: {beam}\n");
        fs::write(dir.join(format!("{name}.decoder.yml")), text).unwrap();
    };
    check("model.npz", 3);
    check("model.npz.best-bleu.npz", 5);
    let beam = |name: &str| read(&dir.join(name)).unwrap().generation.search.beam_size;
    assert_eq!((beam("model.npz"), beam("model.npz.best-bleu.npz")), (3, 5));
    let error = read(dir).unwrap_err().to_string();
    assert!(
        error.contains("model.npz, model.npz.best-bleu.npz") && error.contains("--weights FILE"),
        "{error}"
    );
    fs::write(
        dir.join("decoder.yml"),
        "models: [model.npz.best-bleu.npz]\nbeam-size: 8\n",
    )
    .unwrap();
    assert_eq!(
        read(dir).unwrap().generation.search.beam_size,
        5,
        "the file of its name is nearer"
    );
    fs::write(
        dir.join("decoder.yml"),
        "models: [model.npz, model.npz.best-bleu.npz]\n",
    )
    .unwrap();
    assert!(read(dir).unwrap_err().to_string().contains("ensemble of 2"));
    fs::write(dir.join("decoder.yml"), "beam-size: many\n").unwrap();
    fs::remove_file(dir.join("model.npz.decoder.yml")).unwrap();
    let error = read(&dir.join("model.npz")).unwrap_err().to_string();
    assert!(
        error.contains("beam-size") && error.contains("decoder.yml"),
        "{error}"
    );
}

/// The files of a package of Argos Translate, in the folder `name`.
fn argos(name: &str, metadata: Value) -> Vec<(String, Vec<u8>)> {
    let (model, mut tokens) = pieces();
    tokens.truncate(23);
    let content = |file: &str| fs::read(fixture("ctranslate2/int8").join(file)).unwrap();
    let file = |path: &str, bytes: Vec<u8>| (format!("{name}/{path}"), bytes);
    vec![
        file("metadata.json", metadata.to_string().into_bytes()),
        file("README.md", b"# Deutsch".to_vec()),
        file("sentencepiece.model", model),
        file("model/model.bin", content("model.bin")),
        file("model/config.json", content("config.json")),
        file(
            "model/shared_vocabulary.json",
            serde_json::to_vec(&tokens).unwrap(),
        ),
        file("stanza/de/tokenize/gsd.pt", vec![0; 1000]),
        file("stanza/resources.json", b"{}".to_vec()),
    ]
}

#[test]
fn an_argos_translate_package_translates_unchanged() {
    let folder = tempfile::tempdir().unwrap();
    let metadata = json!({"from_code": "de", "to_code": "en", "package_version": "1.0"});
    let files = argos("translate-de_en-1_0", metadata);
    let archive = folder.path().join("translate-de_en-1_0.argosmodel");
    archived(&archive, &files);
    write_all(folder.path(), &files);
    for path in [archive, folder.path().join("translate-de_en-1_0")] {
        let (format, package) = import(&path, None, &TextFiles::default()).unwrap();
        assert_eq!(format, Format::CTranslate2);
        assert_eq!(package.generation.search.beam_size, 4);
        assert_eq!(
            package.generation.search.length_penalty,
            LengthPenalty::Power(0.2)
        );
        translates(&package);
    }
    let prefixed = folder.path().join("prefixed.argosmodel");
    archived(&prefixed, &argos("p", json!({"target_prefix": ">>fra<<"})));
    assert!(
        read(&prefixed)
            .unwrap_err()
            .to_string()
            .contains("target_prefix")
    );
}

#[test]
fn a_missing_tokeniser_is_named_or_found_beside_the_model() {
    let folder = tempfile::tempdir().unwrap();
    let (model, mut tokens) = pieces();
    tokens.truncate(23);
    let dir = folder.path().join("ct2");
    write_all(
        &dir,
        &argos("", json!({}))
            .into_iter()
            .map(|(name, bytes)| (name.replace("/model/", "").replace("/", ""), bytes))
            .filter(|(name, _)| !name.contains("metadata") && !name.contains("sentencepiece"))
            .collect::<Vec<_>>(),
    );
    assert!(!read(&dir).unwrap().has_tokenizers());
    let spm = folder.path().join("joint.model");
    fs::write(&spm, &model).unwrap();
    let files = TextFiles {
        sentencepiece: vec![spm.clone()],
        ..TextFiles::default()
    };
    translates(&import(&dir, None, &files).unwrap().1);
    for names in [
        &["spm.model"][..],
        &["source.spm", "target.spm"],
        &["source.spm"],
        &["b.src.model", "a.tgt.model"],
    ] {
        names
            .iter()
            .for_each(|name| fs::write(dir.join(name), &model).unwrap());
        translates(&read(&dir).unwrap());
        names
            .iter()
            .for_each(|name| fs::remove_file(dir.join(name)).unwrap());
    }
    for name in ["one.spm", "two.spm"] {
        fs::write(dir.join(name), &model).unwrap();
    }
    let error = read(&dir).unwrap_err().to_string();
    assert!(
        error.contains("one.spm, two.spm") && error.contains("--sentencepiece"),
        "{error}"
    );
    // The vocabulary of another model.
    let strange: Vec<String> = (0..23).map(|id| format!("x{id}")).collect();
    let strange = [&["</s>", "<unk>"].map(String::from), &strange[2..]].concat();
    fs::write(
        dir.join("shared_vocabulary.json"),
        serde_json::to_vec(&strange).unwrap(),
    )
    .unwrap();
    let error = import(&dir, None, &files).unwrap_err().to_string();
    assert!(error.contains("another vocabulary"), "{error}");
}

/// `bin` in the form of binary version 5, which names the special tokens in variables, and revision
/// 4 or 7 of the names.
fn before_config_json(bin: &[u8]) -> Vec<u8> {
    let text = |text: &str| {
        [
            &(text.len() as u16 + 1).to_le_bytes()[..],
            text.as_bytes(),
            b"\0",
        ]
        .concat()
    };
    let spec = text("TransformerSpec");
    let head = 4 + spec.len() + 4;
    let at = 4 + spec.len() + 8;
    let count = u32::from_le_bytes(bin[head..at].try_into().unwrap());
    let mut bytes = [
        &5u32.to_le_bytes()[..],
        &bin[4..head],
        &(count + 2).to_le_bytes(),
    ]
    .concat();
    for name in ["with_source_eos", "with_target_bos"] {
        bytes.extend([&text(name)[..], &[0, 1, 1, 0, 0, 0, 1]].concat());
    }
    bytes.extend(&bin[at..]);
    bytes
}

#[test]
fn models_of_the_second_generation_of_ctranslate2_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path();
    let original = fixture("ctranslate2/int8");
    let bin = fs::read(original.join("model.bin")).unwrap();
    fs::copy(
        original.join("shared_vocabulary.json"),
        dir.join("shared_vocabulary.json"),
    )
    .unwrap();
    fs::write(dir.join("model.bin"), before_config_json(&bin)).unwrap();
    let actual = read(dir).unwrap();
    let expected = read(&original).unwrap();
    assert_eq!(
        (actual.config, actual.weights),
        (expected.config, expected.weights)
    );
    for old in [1u32, 2, 3] {
        fs::write(
            dir.join("model.bin"),
            [&old.to_le_bytes()[..], &bin[4..]].concat(),
        )
        .unwrap();
        let error = read(dir).unwrap_err().to_string();
        assert!(error.contains(&format!("binary version {old}")), "{error}");
    }
}

/// Packages of OPUS-MT from before SentencePiece have `source.bpe` and `target.bpe`.
#[test]
fn a_tokeniser_of_subword_nmt_is_named() {
    for (name, text) in [
        ("source.bpe", "t h\nth e</w>\n"),
        ("codes", "#version: 0.2\nt h\nth e</w>\n"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let mut files = opus();
        files.retain(|(name, _)| !name.ends_with(".spm"));
        files.push((name.into(), text.into()));
        write_all(folder.path(), &files);
        let package = read(folder.path()).unwrap();
        assert!(!package.has_tokenizers());
        let notes = package.warnings.join("; ");
        assert!(
            notes.contains(name) && notes.contains("subword-nmt"),
            "{notes}"
        );
    }
}
