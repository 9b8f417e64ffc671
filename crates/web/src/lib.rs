//! The translator in WebAssembly: text that is translated in a page never leaves it.
//!
//! The same core, tokenisers and search as in the program read a model directory from memory
//! ([`Files`]) and translate with it ([`Model`]). The trade-off: an instance computes in one
//! thread, so that pages need no special headers; the package of `cargo xtask web` runs each in a
//! worker, and several workers share the sentences. Options and results are JSON, to which the
//! package gives types.
//!
//! A model or an option that is wrong is an error with one sentence. A panic ends the instance, as
//! it ends the program, with its message as an exception; the package then rejects waiting calls.

#[cfg(feature = "paper")]
mod lesson;
mod options;
#[cfg(feature = "paper")]
mod paper;

use std::error::Error;
use std::path::PathBuf;

use burn::tensor::Device;
use burnformer_core::ComputeType;
use burnformer_core::model_dir::ModelFiles;
use burnformer_infer::{Translation, Translator, doubts};
use serde_json::{Value, json};
use wasm_bindgen::prelude::*;

use options::Options;

/// Has a panic throw its message. Without it a page sees the trap of an unreachable instruction.
#[cfg(target_family = "wasm")]
#[wasm_bindgen(start)]
fn start() {
    std::panic::set_hook(Box::new(|panic| wasm_bindgen::throw_str(&panic.to_string())));
}

/// The files of a model directory, as a page fetched them.
#[wasm_bindgen]
pub struct Files(ModelFiles);

#[wasm_bindgen]
impl Files {
    /// No files yet. `name` stands for the folder in messages and, like `de-en`, tells the
    /// languages.
    #[wasm_bindgen(constructor)]
    pub fn new(name: String) -> Self {
        Self(ModelFiles { name: PathBuf::from(name), ..ModelFiles::default() })
    }

    /// Adds a file by its name in the folder.
    pub fn add(&mut self, name: String, bytes: Vec<u8>) {
        self.0.contents.insert(name, bytes);
    }
}

/// A model that translates.
#[wasm_bindgen]
pub struct Model(Translator);

#[wasm_bindgen]
impl Model {
    /// Loads the model, checking the hash of every file. It multiplies in `compute`, `float32` or
    /// `int8`, by default as its directory says.
    ///
    /// # Errors
    /// The errors of [`Translator::load`]; an unknown name of a compute type.
    #[wasm_bindgen(constructor)]
    pub fn new(files: Files, compute: Option<String>) -> Result<Model, JsError> {
        let compute = compute.map(|name| serde_json::from_value::<ComputeType>(name.into()));
        Ok(Self(Translator::load_from(&files.0, &Device::flex(), compute.transpose()?)?))
    }

    /// Translates `texts`, one sentence each, with `options` in JSON, and returns their
    /// translations as a list in JSON.
    ///
    /// # Errors
    /// An unknown option or one out of its range; the errors of [`Translator::translate`].
    pub fn translate(&self, texts: Vec<String>, options: &str) -> Result<String, JsError> {
        said(self.results(&texts, options))
    }
}

/// The result with its error as a page gets it.
fn said<T>(result: Result<T, Box<dyn Error>>) -> Result<T, JsError> {
    result.map_err(|error| JsError::new(&error.to_string()))
}

impl Model {
    fn results(&self, texts: &[String], options: &str) -> Result<String, Box<dyn Error>> {
        let options: Options = serde_json::from_str(options)?;
        let has_alignment = options.alignment;
        let translations = self.0.translate(texts, &options.resolve(&self.0)?)?;
        let all = texts.iter().zip(&translations);
        let all = all.map(|(source, translation)| self.result(source, translation, has_alignment));
        Ok(Value::from(all.collect::<Result<Vec<Value>, _>>()?).to_string())
    }

    /// A translation in JSON. Its alignment counts bytes.
    fn result(
        &self,
        source: &str,
        translation: &Translation,
        has_alignment: bool,
    ) -> Result<Value, Box<dyn Error>> {
        let Translation { text, n_best, .. } = translation;
        let doubts = doubts(source, text);
        let mut value = json!({
            "text": text, "score": translation.score, "tokens": translation.tokens,
            "finish": translation.finish.to_string(),
            "confidence": self.0.confidence(source, text, &n_best[0].hypothesis),
            "doubts": doubts.iter().map(ToString::to_string).collect::<Vec<_>>(),
        });
        value["alternatives"] = n_best.iter().map(|it| {
            json!({"text": it.text, "score": it.hypothesis.score, "tokens": it.hypothesis.tokens})
        }).collect();
        if has_alignment {
            let range = |it: std::ops::Range<usize>| [it.start, it.end];
            let links = self.0.links(source, text)?.into_iter();
            value["alignment"] =
                links.map(|link| json!([range(link.source), range(link.target)])).collect();
        }
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    /// The script that builds the package copies these files.
    #[test]
    fn the_code_that_the_paper_page_links_to_is_there() {
        let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let links = include_str!("../page/paper.html").split("href=\"code/").skip(1);
        let files = links.map(|link| link.split_once(".txt\"").unwrap().0);
        let is_there = |file: &&str| {
            let (name, file) = file.split_once('/').unwrap();
            crates.join(name).join("src").join(file).is_file()
        };
        let (there, missing): (Vec<&str>, Vec<&str>) = files.partition(is_there);
        assert!(there.len() > 10 && missing.is_empty(), "{missing:?}");
    }
}
