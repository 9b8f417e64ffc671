//! The translator: loads a model directory from memory and returns translations as JSON.

use std::path::PathBuf;
use std::sync::Arc;

use burn::tensor::Device;
use burnformer_core::ComputeType;
use burnformer_core::model_dir::{self, ModelFiles};
use burnformer_infer::{
    Languages, Shortlist, TranslateOptions, Translation, Translator, quality_warnings,
};
use serde_json::{Value, json};
use wasm_bindgen::prelude::*;

use crate::options::Options;
use crate::{Result, to_js};

/// The file of a model directory with the shortlist that came with an imported model.
const SHORTLIST: &str = "shortlist.safetensors";

/// The files of a model directory, as fetched by a page.
#[wasm_bindgen]
pub struct Files(pub(crate) ModelFiles);

#[wasm_bindgen]
impl Files {
    /// Creates an empty set of files. `name` replaces the path of the directory in messages. A name
    /// such as `de-en` also gives the languages.
    #[wasm_bindgen(constructor)]
    pub fn new(name: String) -> Self {
        Self(ModelFiles {
            name: PathBuf::from(name),
            ..ModelFiles::default()
        })
    }

    /// Adds a file by its name in the directory, with its SHA-256 if the browser has computed it.
    pub fn add(&mut self, name: String, bytes: Vec<u8>, hash: Option<String>) {
        self.0.hashes.extend(hash.map(|hash| (name.clone(), hash)));
        self.0.contents.insert(name, bytes);
    }
}

/// A model that translates.
#[wasm_bindgen]
pub struct Model {
    translator: Translator,
    shortlist: Option<Arc<Shortlist>>,
}

#[wasm_bindgen]
impl Model {
    /// Loads the model with its shortlist, checking the hash of every file. `compute` is the
    /// compute type of matrix products, `float32` or `int8`. By default, the model directory
    /// decides.
    ///
    /// # Errors
    /// Returns the errors of [`Translator::load`], and an error if the compute type is unknown or
    /// the shortlist is broken or made for another model.
    #[wasm_bindgen(constructor)]
    pub fn new(files: Files, compute: Option<String>) -> Result<Model, JsError> {
        to_js(Self::load(&files.0, compute))
    }

    /// Returns the number of tokens of `text`, including `</s>`.
    pub fn tokens(&self, text: &str) -> usize {
        self.translator.tokenizers().source.encode(text).len() + 1
    }

    /// Returns the maximum number of source tokens and the codes of the source and target languages
    /// under `options` as JSON. Unknown languages are `null`.
    ///
    /// # Errors
    /// Returns the errors of [`translate`](Self::translate).
    pub fn bounds(&self, options: &str) -> Result<String, JsError> {
        let (options, _) = to_js(self.resolved(options))?;
        let bounds = (
            self.translator.longest_source(&options),
            options.languages.codes(),
        );
        Ok(json!(bounds).to_string())
    }

    /// Translates `texts`, one sentence each, with `options` in JSON. Returns the translations as a
    /// JSON list.
    ///
    /// # Errors
    /// Returns an error for an unknown option or a value out of range, and the errors of
    /// [`Translator::translate`].
    pub fn translate(&self, texts: Vec<String>, options: &str) -> Result<String, JsError> {
        to_js(self.results(&texts, options))
    }
}

impl Model {
    fn load(files: &ModelFiles, compute: Option<String>) -> Result<Self> {
        let compute = compute.map(|name| serde_json::from_value::<ComputeType>(name.into()));
        let translator = Translator::load_from(files, &Device::flex(), compute.transpose()?)?;
        let path = files.name.join(SHORTLIST);
        let shortlist = model_dir::read(files, SHORTLIST)?;
        let shortlist = shortlist
            .map(|bytes| Shortlist::from_bytes(&path, &bytes))
            .transpose()?;
        shortlist
            .iter()
            .try_for_each(|shortlist| translator.check_shortlist(shortlist))?;
        Ok(Self {
            translator,
            shortlist: shortlist.map(Arc::new),
        })
    }

    /// Parses the options, and whether alignments are requested.
    fn resolved(&self, options: &str) -> Result<(TranslateOptions, bool)> {
        let options: Options = serde_json::from_str(options)?;
        let has_alignment = options.alignment;
        let shortlist = self
            .shortlist
            .clone()
            .filter(|_| options.shortlist != Some(false));
        let options = options.resolve(&self.translator)?;
        Ok((
            TranslateOptions {
                shortlist,
                ..options
            },
            has_alignment,
        ))
    }

    fn results(&self, texts: &[String], options: &str) -> Result<String> {
        let (options, has_alignment) = self.resolved(options)?;
        let translations = self.translator.translate(texts, &options)?;
        let all = texts.iter().zip(&translations);
        let aligned = has_alignment.then_some(&options.languages);
        let all = all.map(|(source, translation)| self.result(source, translation, aligned));
        Ok(Value::from(all.collect::<Result<Vec<Value>>>()?).to_string())
    }

    /// A translation as JSON, with its alignment in bytes if the languages are given.
    fn result(
        &self,
        source: &str,
        translation: &Translation,
        aligned: Option<&Languages>,
    ) -> Result<Value> {
        let Translation { text, n_best, .. } = translation;
        let doubts = quality_warnings(source, text);
        let mut value = json!({
            "text": text, "score": translation.score, "tokens": translation.tokens,
            "finish": translation.finish.to_string(),
            "confidence": self.translator.confidence(source, text, &n_best[0].hypothesis),
            "doubts": doubts.iter().map(ToString::to_string).collect::<Vec<_>>(),
        });
        value["alternatives"] = n_best.iter().map(|it| {
            json!({"text": it.text, "score": it.hypothesis.score, "tokens": it.hypothesis.tokens})
        }).collect();
        if let Some(languages) = aligned {
            let links = self.translator.links(source, text, languages)?;
            value["alignment"] = links
                .into_iter()
                .map(|link| {
                    let source = [link.source.start, link.source.end];
                    let target = [link.target.start, link.target.end];
                    json!([source, target])
                })
                .collect();
        }
        Ok(value)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::path::Path;

    use burnformer_infer::vocabularies;

    use super::*;

    /// The German–English model embedded in the program.
    pub(crate) fn files() -> ModelFiles {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../assets/models/de-en");
        let contents = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry: std::io::Result<std::fs::DirEntry>| {
                let path = entry.unwrap().path();
                (
                    path.file_name().unwrap().display().to_string(),
                    std::fs::read(&path).unwrap(),
                )
            })
            .collect();
        ModelFiles {
            name: "de-en".into(),
            contents,
            ..ModelFiles::default()
        }
    }

    /// The files with `bytes` as the file `name`, and its hash in their manifest.
    pub(crate) fn files_with(name: &str, bytes: &[u8]) -> ModelFiles {
        let folder = tempfile::tempdir().unwrap();
        let mut files = files();
        files.contents.insert(name.into(), bytes.into());
        files.contents.remove("manifest.json");
        for (name, bytes) in &files.contents {
            std::fs::write(folder.path().join(name), bytes).unwrap();
        }
        model_dir::seal(folder.path()).unwrap();
        let manifest = std::fs::read(folder.path().join("manifest.json")).unwrap();
        files.contents.insert("manifest.json".into(), manifest);
        files
    }

    fn texts(model: &Model, options: &str) -> Vec<String> {
        let all = model
            .results(&["Das Haus ist klein.".into(), "".into()], options)
            .unwrap();
        let all: Vec<Value> = serde_json::from_str(&all).unwrap();
        all.iter()
            .map(|it| it["text"].as_str().unwrap().to_string())
            .collect()
    }

    #[test]
    fn the_shortlist_of_a_model_is_used_unless_switched_off() {
        let plain = Model::load(&files(), None).unwrap();
        let house = ["The house is small.", ""];
        assert_eq!(texts(&plain, "{}"), house);
        let vocabularies = vocabularies(plain.translator.tokenizers());
        // The shortlist is empty: only `</s>` can be chosen.
        let none = Shortlist::new(vocabularies, vec![], vec![]).unwrap();
        let model = Model::load(&files_with(SHORTLIST, &none.to_bytes()), None).unwrap();
        assert_ne!(texts(&model, "{}"), house);
        assert_eq!(texts(&model, r#"{"shortlist": false}"#), house);
    }

    #[test]
    fn a_broken_or_foreign_shortlist_is_an_error() {
        let model = Model::load(&files(), None).unwrap();
        let mut smaller = vocabularies(model.translator.tokenizers());
        smaller.sizes = [9, 9];
        let other = Shortlist::new(smaller, vec![], vec![]).unwrap().to_bytes();
        for bytes in [&b""[..], &[0xff; 100], &other[..other.len() / 2], &other] {
            let error = Model::load(&files_with(SHORTLIST, bytes), None)
                .err()
                .unwrap()
                .to_string();
            assert!(
                error.contains("shortlist") || error.contains("vocabular"),
                "{error}"
            );
        }
        let mut changed = files_with(SHORTLIST, &other);
        changed.contents.get_mut(SHORTLIST).unwrap()[0] ^= 1;
        assert!(
            Model::load(&changed, None)
                .err()
                .unwrap()
                .to_string()
                .contains("hash")
        );
    }

    #[test]
    fn bounds_follow_the_options() {
        let model = Model::load(&files(), None).unwrap();
        assert_eq!(
            model.bounds(r#"{"longest": 7}"#).ok().unwrap(),
            r#"[7,["de","en"]]"#
        );
        assert_eq!(model.tokens(""), 1);
    }
}
