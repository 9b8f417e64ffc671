//! Documents: extracts sentences for the translator, and puts the translations back into the
//! markup.

use burnformer_documents::{Document as Text, Format, Link, Splitting, Translated, WholeFile};
use burnformer_translation::Division;
use js_sys::Function;
use serde_json::{Value, json};
use wasm_bindgen::prelude::*;

/// A file that is translated in rounds of sentences.
#[wasm_bindgen]
pub struct Document {
    file: WholeFile,
    document: Text,
    languages: [String; 2],
}

#[wasm_bindgen]
impl Document {
    /// Reads `bytes`. `kind` is the name of a format or a file extension. `from` and `into` are
    /// language codes, or empty if unknown. `fits` returns whether a text fits into the model
    /// without being cut.
    ///
    /// # Errors
    /// Returns an error if the format is unknown or the file is broken.
    #[wasm_bindgen(constructor)]
    pub fn new(
        bytes: Vec<u8>,
        kind: &str,
        from: &str,
        into: &str,
        fits: &Function,
    ) -> Result<Document, JsError> {
        let file = WholeFile::read(bytes, kind)?;
        let fits = |text: &str| is_fitting(fits, text);
        let languages = [from, into];
        let division = Division {
            languages: known(&languages),
            abbreviations: None,
            fits: &fits,
            memory: &|_, _| None,
        };
        let document = division.read(&file.text, file.format, &[])?;
        let languages = languages.map(Into::into);
        Ok(Self {
            file,
            document,
            languages,
        })
    }

    /// Returns the sentences to translate next as a JSON list. Each entry says whether links are
    /// needed. The list is empty when the document is done.
    pub fn pending(&self) -> String {
        let pending = self.document.pending().into_iter();
        Value::from_iter(pending.map(|sentence| json!([sentence.text, sentence.links]))).to_string()
    }

    /// Accepts the translations of the pending sentences as a JSON list. Each entry consists of the
    /// text and its links, as pairs of byte ranges.
    ///
    /// # Errors
    /// Returns an error if `translations` is not such a list.
    ///
    /// # Panics
    /// Panics if there are more or fewer translations than sentences.
    pub fn accept(&mut self, translations: &str) -> Result<(), JsError> {
        let given: Vec<(String, Vec<[[usize; 2]; 2]>)> = serde_json::from_str(translations)?;
        self.document.accept(
            given
                .into_iter()
                .map(|(text, all)| Translated {
                    text,
                    links: all.into_iter().map(link).collect(),
                })
                .collect(),
        );
        Ok(())
    }

    /// Returns the bytes of the translated file.
    pub fn finish(self) -> Vec<u8> {
        self.file
            .write(self.document.finish(), known(&self.languages))
    }
}

/// Returns the link between the byte ranges of the source and of the target.
fn link(sides: [[usize; 2]; 2]) -> Link {
    let [source, target] = sides.map(|[start, end]| start..end);
    Link { source, target }
}

/// Maps empty language codes to `None`.
fn known<T: AsRef<str>>(codes: &[T; 2]) -> [Option<&str>; 2] {
    codes
        .each_ref()
        .map(|code| Some(code.as_ref()).filter(|code| !code.is_empty()))
}

/// Returns the places of the sentences in plain `text` of the language `from`, as a JSON list of
/// beginnings and ends in UTF-16 code units. `from`, `into` and `fits` are as for [`Document`].
#[wasm_bindgen]
pub fn sentences(text: &str, from: &str, into: &str, fits: &Function) -> String {
    let fits = |text: &str| is_fitting(fits, text);
    let mut document = Text::read_text(text, Format::Text, Splitting::Lines);
    document.divide(known(&[from, into]), &fits);
    let mut units = 0;
    let mut at = 0;
    let mut counted = |place: usize| {
        units += text[at..place].encode_utf16().count();
        at = place;
        units
    };
    let places = document.sentence_places().into_iter();
    Value::from_iter(places.map(|place| [counted(place.start), counted(place.end)].to_vec()))
        .to_string()
}

/// Returns whether the function `fits` of a page accepts `text`.
fn is_fitting(fits: &Function, text: &str) -> bool {
    let answer = fits.call1(&JsValue::NULL, &text.into());
    answer.is_ok_and(|answer| answer.is_truthy())
}

/// Returns the detected language of `text` with its confidence as JSON, or `null`. The language is
/// one of `languages`, unless the text is clearly in another language.
#[wasm_bindgen]
pub fn detect(text: &str, languages: Vec<String>) -> String {
    let codes: Vec<&str> = languages.iter().map(String::as_str).collect();
    json!(burnformer_documents::detect([text], &codes)).to_string()
}
