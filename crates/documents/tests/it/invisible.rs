//! Invisible characters in documents change no sentences, parts or markup.

use crate::common::{identity, translate, upper};
use burnformer_documents::{Document, Format, PendingSentence, Translated};
use burnformer_text::visible;

/// Zero-width spaces and joiners, marks of direction, soft hyphens, fillers.
const INVISIBLE: [char; 14] = [
    '\u{200B}', '\u{200C}', '\u{200D}', '\u{200E}', '\u{200F}', '\u{AD}', '\u{2060}', '\u{FEFF}',
    '\u{202B}', '\u{202C}', '\u{2066}', '\u{2069}', '\u{61C}', '\u{115F}',
];

/// Documents; every second part is text that receives invisible characters.
const DOCUMENTS: [(Format, &str, &[&str]); 9] = [
    (
        Format::Text,
        "de",
        &[
            "",
            "Das Haus ist alt. Wer wohnt hier? Dr. Ney!",
            "\n- ",
            "ein Punkt",
            "\t",
            "zwei",
            "\n",
        ],
    ),
    (
        Format::Text,
        "en",
        &[
            "",
            "He paid {name} 3.5 dollars. See https://a.org/b now. ok.",
            "",
        ],
    ),
    (Format::Text, "ar", &["", "البيت قديم. كيف حالك؟ نعم.", ""]),
    (Format::Text, "zh", &["", "房子很旧。谁住在这里？", ""]),
    (
        Format::Html,
        "de",
        &[
            "<p title=\"\u{200E}x\">",
            "Das Haus ",
            "<b>",
            "ist",
            "</b>\u{200F}",
            " alt. Wer wohnt",
            "<img alt=\"\">",
            " hier?",
            "</p><p>",
            "Ja.",
            "</p>",
        ],
    ),
    (
        Format::Markdown,
        "de",
        &[
            "# ",
            "Das Haus",
            "\n\n",
            "Er ",
            "*",
            "ist",
            "*",
            " alt. Wer wohnt hier?",
            " `x\u{200B}y`",
            " Ja",
            "\n\n- ",
            "ein Punkt",
            "\n",
        ],
    ),
    (
        Format::Markdown,
        "de",
        &[
            "| ",
            "Haus",
            " | ",
            "alt",
            " |\n|---|---|\n| ",
            "er",
            " | ",
            "wohnt",
            " |\n",
        ],
    ),
    (
        Format::Srt,
        "de",
        &[
            "1\n00:00:01,000 --> 00:00:02,000\n",
            "Das Haus ist",
            "\n",
            "alt. Wer wohnt hier?",
            "\n\n2\n00:00:03,000 --> 00:00:04,000\n<i>",
            "Ja.",
            "</i>\n",
        ],
    ),
    (
        Format::Srt,
        "de",
        &[
            "1\n00:00:01,000 --> 00:00:02,000\n- ",
            "Das Haus.",
            "\n- ",
            "Wer wohnt hier?",
            "\n",
        ],
    ),
];

fn sentences(text: &str, format: Format, language: &str) -> Vec<String> {
    let document = Document::parse(text, format, Some(language), &|_| true);
    document
        .pending()
        .into_iter()
        .map(|sentence| visible(&sentence.text).trim().to_string())
        .collect()
}

/// An engine that neither reads nor writes invisible characters.
fn blind(sentence: &PendingSentence) -> Translated {
    let text = visible(&sentence.text).trim().to_string();
    let Translated { text, .. } = upper(&PendingSentence {
        text,
        ..PendingSentence::default()
    });
    Translated {
        text,
        links: Vec::new(),
    }
}

#[test]
fn invisible_characters_change_no_sentence_and_no_markup() {
    let mut faults = Vec::new();
    for (format, language, parts) in DOCUMENTS {
        let plain = parts.concat();
        let expected = sentences(&plain, format, language);
        let translated = translate(&plain, format, &blind);
        for (index, part) in parts.iter().enumerate().skip(1).step_by(2) {
            let indices = part.char_indices().map(|(at, _)| at).chain([part.len()]);
            for (at, c) in indices.flat_map(|at| INVISIBLE.map(|c| (at, c))) {
                let changed = format!("{}{c}{}", &part[..at], &part[at..]);
                // A character that joins letters has a meaning.
                if visible(&changed) != **part {
                    continue;
                }
                let text = [
                    &parts[..index].concat(),
                    &*changed,
                    &parts[index + 1..].concat(),
                ]
                .concat();
                assert_eq!(translate(&text, format, &identity), text);
                let found = sentences(&text, format, language);
                let after = translate(&text, format, &blind);
                if found != expected || visible(&after) != visible(&translated) {
                    faults.push(format!("{text:?}: {found:?} {after:?}"));
                }
            }
        }
    }
    assert!(faults.is_empty(), "{}: {}", faults.len(), faults.join("\n"));
}
