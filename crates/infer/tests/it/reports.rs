//! Translations that are reported as they grow.

use std::path::Path;
use std::sync::{Arc, Mutex};

use burn::tensor::Device;
use burnformer_infer::{
    InferError, LengthPenalty, Report, TextRequest, TranslateOptions, Translation, Translator,
};

/// The German–English model inside the program.
fn translator() -> Translator {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../assets/models/de-en");
    Translator::load(folder, &Device::default()).expect("a model")
}

/// Sentences with and without protections: numbers, placeholders, quotation marks, capitals, emoji,
/// a loop, an address.
const SOURCES: [&str; 10] = [
    "Das Haus ist klein und der Hund schläft.",
    "Ich weiß nicht, ob er morgen kommen wird, aber ich hoffe es sehr.",
    "Ich habe 12.345,60 Euro für {name}.",
    "Er sagte: „Komm her!“ und ging.",
    "WO IST DER BAHNHOF?",
    "Danke 😀 für alles.",
    "",
    "ja ja ja ja ja ja ja ja ja ja ja ja ja ja ja ja ja ja ja ja ja ja ja ja",
    "Schreib an info@example.com, bitte.",
    "Übermorgen fährt die Straßenbahn über die Brücke.",
];

/// The translations of all sources together, and the reports for each.
fn reported(
    translator: &Translator,
    options: &TranslateOptions,
) -> Result<(Vec<Translation>, Vec<Vec<String>>), InferError> {
    let all: Vec<Arc<Mutex<Vec<String>>>> = SOURCES.iter().map(|_| Arc::default()).collect();
    let mut requests: Vec<TextRequest> = translator.requests(&SOURCES, options)?;
    for (request, reports) in requests.iter_mut().zip(&all) {
        let reports = reports.clone();
        let report = move |settled: &str| reports.lock().unwrap().push(settled.into());
        request.report = Some(Report::new(report));
    }
    let translations = translator.translate_requests(requests, options)?;
    let all = all.iter().map(|reports| reports.lock().unwrap().clone());
    Ok((translations, all.collect()))
}

#[test]
fn reports_grow_to_the_translation_and_are_never_taken_back() {
    let translator = translator();
    for beam in [1, 4] {
        let mut options = translator.options();
        options.search.beam_size = beam;
        let (translations, all) = reported(&translator, &options).expect("translates");
        let plain = translator
            .translate(&SOURCES, &options)
            .expect("translates");
        let mut early = 0;
        for ((translation, reports), plain) in translations.iter().zip(&all).zip(&plain) {
            assert_eq!(translation.text, plain.text, "beam {beam}");
            let grow = reports
                .windows(2)
                .all(|pair| pair[1].starts_with(&pair[0]) && pair[1] != pair[0]);
            assert!(grow, "{reports:?}");
            let last = reports.last().cloned().unwrap_or_default();
            assert_eq!(last, translation.text, "beam {beam}");
            early += reports.len().saturating_sub(1);
        }
        // Sentences without anything to protect are reported token by token.
        let least = [2 * 5, 3][usize::from(beam > 1)];
        assert!(early >= least, "beam {beam}: {all:?}");
        // A protected sentence is reported as a whole.
        for protected in [2, 3, 4, 5, 8] {
            assert_eq!(all[protected].len(), 1, "beam {beam}: {:?}", all[protected]);
        }
    }
}

#[test]
fn a_translation_that_changes_keeps_the_reported_beginning() {
    let translator = translator();
    // With this penalty a short loop is not stopped by the model, and the second search changes it.
    let mut options = translator.options();
    options.search.beam_size = 1;
    options.search.length_penalty = LengthPenalty::Power(0.0);
    options.search.min_length = 40;
    options.search.max_length = Some(60);
    let (translations, all) = reported(&translator, &options).expect("translates");
    for (translation, reports) in translations.iter().zip(&all) {
        let begins = reports
            .iter()
            .all(|settled| translation.text.starts_with(settled));
        assert!(begins, "{translation:?} {reports:?}");
    }
}
