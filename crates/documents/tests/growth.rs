//! Work grows with the length of a document, not with its square, whatever the document is.
//!
//! An ordinary run measures processor time, with a wide margin. `cargo xtask growth` counts steps:
//! the number is the same in each run, and the margin is narrow.

#![cfg(unix)]

#[path = "it/common/mod.rs"]
mod common;
#[path = "../../../tests/growth/mod.rs"]
mod growth;
#[path = "growth/pieces.rs"]
mod pieces;
#[path = "growth/valid_files.rs"]
mod valid_files;

use burnformer_documents::{
    Catalogue, Document, Format, Languages, PendingSentence, Translated, WholeFile, detect, prose,
    words_of,
};
use common::{Model, reverse, upper};
use growth::{LIMIT, are_counted, count, grows_in_proportion, nanoseconds};
use pieces::{PIECES, STARTS, SUBTITLE};
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{Config, TestCaseError, TestRunner};
use valid_files::{Filling, VALID_FILES, ValidFile};

/// Returns the steps so far, or nanoseconds of this thread's processor time.
fn steps() -> u64 {
    if are_counted() {
        count()
    } else {
        nanoseconds()
    }
}

/// Translates `text` word by word, and into nothing. Sentences of 200 letters fit.
fn translate(text: &str, format: Format) {
    let fits = |part: &str| part.chars().filter(|c| c.is_alphanumeric()).count() <= 200;
    // A sentence that equals its translation would not be rewritten.
    let other = |sentence: &PendingSentence| {
        let Translated { text, links } = reverse(sentence);
        Translated {
            text: text.to_ascii_uppercase(),
            links,
        }
    };
    let models: [Model<'_>; 2] = [&other, &|_: &PendingSentence| Translated::default()];
    for model in models.into_iter().take(1 + usize::from(are_counted())) {
        let mut document = Document::parse(text, format, Some("en"), &fits);
        loop {
            let pending = document.pending();
            if pending.is_empty() {
                break;
            }
            document.accept(pending.iter().map(model).collect());
        }
        document.finish();
    }
}

/// Returns the bytes of the short document, the factor between both lengths, and the maximum ratio
/// of their steps. Text without sentences is read in parts of 4 KB, and work may grow faster within
/// them.
fn lengths() -> (usize, usize, f64) {
    if are_counted() {
        (16_000, 2, LIMIT)
    } else {
        (5_000, 8, 20.0)
    }
}

/// Returns the ratio between the steps of the long document and of the short one with `bytes`
/// bytes.
fn ratio(start: &str, piece: &str, format: Format, bytes: usize) -> f64 {
    let (_, times, _) = lengths();
    let [short, long] = [1, times].map(|times| {
        let text = start.to_string() + &piece.repeat(times * bytes / piece.len());
        let before = steps();
        translate(&text, format);
        steps() - before
    });
    long as f64 / short.max(1) as f64
}

/// Returns the ratio of the steps if `piece` is repeated after `start`. Fails if the work grows
/// faster than the length, at any length: tried three times, and, where steps are counted, with
/// documents four times as long each time.
fn repeated(start: &str, piece: &str, format: Format) -> Result<f64, TestCaseError> {
    let (bytes, _, limit) = lengths();
    let longer = if are_counted() { 4 } else { 1 };
    let mut all = Vec::new();
    for attempt in 0..3 {
        let ratio = ratio(start, piece, format, bytes * usize::pow(longer, attempt));
        if ratio <= limit {
            return Ok(ratio);
        }
        all.push(ratio);
    }
    let message = format!("{format} {start:?} {piece:?}: {all:.1?} times the work");
    Err(TestCaseError::fail(message))
}

#[test]
fn the_work_of_a_longer_document_is_in_proportion_to_its_length() {
    println!(
        "{}",
        if are_counted() {
            "branches are counted"
        } else {
            "processor time is measured"
        }
    );
    let mut ratios = Vec::new();
    for format in Format::all() {
        translate("a {b} 12,345 <b>c</b>. d", format);
        let starts = if are_counted() { STARTS } else { &STARTS[1..2] };
        let subtitle = (format == Format::Srt).then_some(&SUBTITLE);
        let starts = starts.iter().chain(subtitle);
        let all = starts.flat_map(|start| PIECES.iter().map(move |piece| (start, piece)));
        for (start, piece) in growth::spread(all.collect()) {
            let ratio = repeated(start, piece, format);
            ratios.push(ratio.unwrap_or_else(|error| panic!("{error}")));
        }
    }
    report("documents of every format", &ratios);
}

/// Prints the number of texts and the largest ratio.
fn report(door: &str, ratios: &[f64]) {
    let largest = ratios.iter().copied().fold(0.0, f64::max);
    println!("| {door} | {} | {largest:.2} |", ratios.len());
}

#[test]
#[ignore = "a search: FUZZ_CASES of them, 2,000 unless told otherwise"]
fn no_pieces_together_take_more_than_in_proportion() {
    let cases = std::env::var("FUZZ_CASES")
        .ok()
        .and_then(|n| n.parse().ok())
        .unwrap_or(2000);
    let pieces = prop::collection::vec(select(PIECES), 1..5);
    let starts = select([STARTS, &[SUBTITLE]].concat());
    let all = (starts, pieces, select(Format::all().collect::<Vec<_>>()));
    let config = Config {
        cases,
        failure_persistence: None,
        ..Config::default()
    };
    let run = TestRunner::new(config).run(&all, |(start, pieces, format)| {
        repeated(start, &pieces.concat(), format).map(|_| ())
    });
    run.unwrap_or_else(|error| panic!("{error}"));
}

/// Reads `text`, gives its plurals the categories of Russian, and writes it in capitals.
fn translate_file(text: &str, format: Format) {
    let languages = [Some("en"), Some("ru")];
    let Ok(mut document) = Document::try_parse(text, format, languages, &[], &|_| true) else {
        return;
    };
    let pending = document.pending();
    document.accept(pending.iter().map(upper).collect());
    document.finish();
}

/// Returns the ratio between the steps of a file of `times * bytes` bytes and a file of `bytes`
/// bytes.
fn ratio_inside(file: &ValidFile, filling: &Filling<'_>, bytes: usize, times: usize) -> f64 {
    let [short, long] = [1, times].map(|times| {
        let text = file.filled(filling, times * bytes);
        let before = steps();
        translate_file(&text, file.format);
        steps() - before
    });
    long as f64 / short.max(1) as f64
}

#[test]
fn the_work_grows_with_a_valid_file_whichever_string_of_it_is_long() {
    let (bytes, times, limit) = lengths();
    let mut ratios = Vec::new();
    for file in VALID_FILES {
        let text = file.filled(&Filling::default(), bytes);
        let catalogue = Catalogue::read(&text, file.format, [None; 2]);
        assert!(catalogue.is_ok(), "{catalogue:?}\n{text}");
        translate_file(&text, file.format);
        for filling in file.fillings() {
            let mut all = (0..3).map(|attempt| {
                let bytes = (2 * bytes) << attempt;
                ratio_inside(file, &filling, bytes, times)
            });
            let ratio = all.find(|&ratio| ratio <= limit);
            ratios.push(
                ratio.unwrap_or_else(|| panic!("{} {filling:?} of {}", file.format, file.unit)),
            );
        }
    }
    report("valid files of messages", &ratios);
}

/// Makes plain text of sentences, and writes it without a translation.
fn divide(text: &str, format: Format) {
    let fits = |part: &str| part.len() <= 200;
    let document = Document::parse(text, format, Some("en"), &fits);
    document.pending();
    words_of(&document);
    document.finish();
}

#[test]
#[ignore = "counts steps: cargo xtask growth"]
fn sentences_of_plain_text() {
    let pieces = [
        growth::PIECES,
        &["Dr. ", "z. B. ", "A. ", "? ", "…", "\n\n", "- "],
    ]
    .concat();
    grows_in_proportion("sentences of plain text", &pieces, |text| {
        divide(text, Format::Text);
    });
}

#[test]
#[ignore = "counts steps: cargo xtask growth"]
fn markup_that_is_placed() {
    let pieces = [
        "<b>", "</b>", "<i>", "a ", "b", ". ", "<br>", "1 ", "{a}", "(", "&amp;", "日",
    ];
    for (name, format) in [("HTML", Format::Html), ("Markdown", Format::Markdown)] {
        grows_in_proportion(&format!("markup of {name}, placed"), &pieces, |text| {
            translate(text, format);
        });
    }
}

#[test]
#[ignore = "counts steps: cargo xtask growth"]
fn languages_and_encodings() {
    let codes = ["de", "en", "fr", "zh", "ja", "ru", "ar"];
    let pieces = [growth::PIECES, &["der ", "the ", "и ", "ال", "`a", "<pre>"]].concat();
    grows_in_proportion("detection of the language", &pieces, |text| {
        let languages = Languages::new(&codes);
        languages.detect(text);
        languages.ranked(text, 3);
        detect(text.split('\n'), &codes);
        prose(text, Format::Markdown, &|part| part.len() <= 200);
    });
    grows_in_proportion("encodings of a file", &pieces, |text| {
        let utf_16: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let latin: Vec<u8> = text.chars().map(|c| c as u8).collect();
        for bytes in [text.as_bytes().to_vec(), utf_16, latin] {
            for kind in ["txt", "html", "srt"] {
                let Ok(file) = WholeFile::read(bytes.clone(), kind) else {
                    continue;
                };
                file.untranslated();
                file.write(text.to_owned(), [None; 2]);
            }
        }
    });
}
