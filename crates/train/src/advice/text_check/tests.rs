use burnformer_data::{
    CleaningSettings, FileKeys, PrepareSettings, Tokenizer, TokenizerSettings, TokenizerSource,
    prepare,
};
use whatlang::Lang;

use super::pairs::Pair;
use super::tokens::{divided_tag_of, tag};
use super::*;
use crate::config::corpus_paths;

const ENGLISH: [&str; 6] = [
    "The committee will meet again on Thursday to discuss the budget",
    "Where did you leave the keys of the house",
    "She has been working in the garden since early morning",
    "Nobody knew what had happened to the old fisherman",
    "I would like to order two cups of coffee and some cake",
    "They are going to visit their grandparents in the village",
];
const GERMAN: [&str; 6] = [
    "Der Ausschuss tritt am Donnerstag wieder zusammen, um über den Haushalt zu beraten",
    "Wo hast du die Schlüssel des Hauses liegen lassen",
    "Sie arbeitet seit dem frühen Morgen im Garten",
    "Niemand wusste, was mit dem alten Fischer geschehen war",
    "Ich möchte bitte zwei Tassen Kaffee und etwas Kuchen bestellen",
    "Sie werden ihre Großeltern auf dem Land besuchen",
];

/// Pairs made of the sentences above, with lengths and marks in no order.
fn text(pairs: usize) -> Vec<Pair> {
    (0..pairs)
        .map(|i| (side(GERMAN, i), side(ENGLISH, i)))
        .collect()
}

/// Side `i` of the text, made of `lines`.
fn side(lines: [&str; 6], i: usize) -> String {
    let a = lines[i * i % 6];
    let b = lines[(7 * i * i + i / 3) % 6];
    let mark = if i * i % 7 == 1 { "?" } else { "." };
    match (i * i * i) % 5 {
        0 | 3 => format!("{a}, {b}{mark}"),
        1 => format!("{a}{mark}"),
        _ => format!("{b}: {a} {b}{mark}"),
    }
}

/// A hundred pairs. The first `unlike` have other numbers in their targets.
fn with_unlike(unlike: usize) -> Vec<Pair> {
    let pairs = (20..120).map(|number| {
        let other = if number < 20 + unlike {
            number + 1
        } else {
            number
        };
        (format!("Haus {number}"), format!("house {other}"))
    });
    pairs.collect()
}

#[test]
fn unlike_numbers_are_reported_with_their_share_and_an_example() {
    assert_eq!(unlike_numbers("data.train", &with_unlike(0)), None);
    assert_eq!(unlike_numbers("data.train", &with_unlike(5)), None);
    assert_eq!(unlike_numbers("data.train", &with_unlike(100)[..20]), None);
    let said = unlike_numbers("data.train", &with_unlike(10)).unwrap();
    assert!(
        said.contains("10 % of the pairs") && said.contains("\"Haus 20\" – \"house 21\""),
        "{said}"
    );
}

#[test]
fn a_language_tag_in_pieces_is_reported_with_its_side() {
    for word in [">>deu<<", "<2de>", "__de__", "[de]", "<de_DE>"] {
        assert_eq!(tag(&format!("{word} The house")), Some(word));
    }
    for word in ["\"Yes\"", "(so)", "The", "<", "[12]", "don't", "-"] {
        assert_eq!(tag(&format!("{word} The house")), None, "{word}");
    }
    let settings = TokenizerSettings {
        vocab_size: 300,
        allow_smaller: true,
        ..TokenizerSettings::default()
    };
    let tokenizer = Tokenizer::train(ENGLISH, &settings).unwrap();
    assert_eq!(divided_tag(20, &tokenizer), None);
    let message = divided_tag(50, &tokenizer).unwrap();
    assert!(
        message.contains("50 % of the sources") && message.contains(">>deu<<"),
        "{message}"
    );
    // As a token of its own it is one.
    let mut json: serde_json::Value = serde_json::from_slice(&tokenizer.to_bytes()).unwrap();
    let added = serde_json::json!({"id": tokenizer.vocab_size(), "content": ">>deu<<", "single_word": false,
        "lstrip": false, "rstrip": false, "normalized": false, "special": false});
    json["added_tokens"].as_array_mut().unwrap().push(added);
    let bytes = serde_json::to_vec(&json).unwrap();
    let whole = Tokenizer::from_bytes("tagged.json".as_ref(), &bytes).unwrap();
    assert_eq!(divided_tag(100, &whole), None);
}

/// The warning about a hundred sources. The first `tagged` have a tag.
fn divided_tag(tagged: usize, tokenizer: &Tokenizer) -> Option<String> {
    let lines: Vec<String> = (0..100)
        .map(|i| {
            let tag = if i < tagged { ">>deu<< " } else { "" };
            format!("{tag}{}", ENGLISH[i % 6])
        })
        .collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    divided_tag_of("sources", &lines, tokenizer)
}

/// `text` with targets moved down by `lag` lines from line `from` on.
fn shifted(text: &[Pair], from: usize, lag: usize) -> Vec<Pair> {
    (0..text.len())
        .map(|i| {
            let target = if i < from {
                i
            } else {
                (i + text.len() - lag) % text.len()
            };
            (text[i].0.clone(), text[target].1.clone())
        })
        .collect()
}

#[test]
fn an_aligned_text_has_no_warning_sorted_or_not() {
    let mut text = text(1200);
    assert_eq!(misaligned("data.train", &text), None);
    text.sort_by_key(|pair| pair.0.len());
    assert_eq!(misaligned("data.train", &text), None);
    assert_eq!(misaligned("data.train", &[]), None);
}

/// A sample of the pairs that training reads from a file of `pairs`.
fn sample(pairs: &[Pair]) -> PairSample {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("train.tsv");
    let lines: String = pairs.iter().map(|(a, b)| format!("{a}\t{b}\n")).collect();
    std::fs::write(&path, lines).unwrap();
    let settings = PrepareSettings {
        corpus: corpus_paths("data.train", &[path]).unwrap(),
        tokenizer: TokenizerSource::Train(TokenizerSettings {
            vocab_size: 300,
            allow_smaller: true,
            ..TokenizerSettings::default()
        }),
        cleaning: CleaningSettings::default(),
        cache_dir: folder.path().join("cache"),
    };
    let mut keys = FileKeys::default();
    let [first, again] =
        [(); 2].map(|()| prepare(&settings, &mut keys, &mut |_| {}).unwrap().pairs);
    assert_eq!(first, again);
    first
}

fn numbered(i: usize) -> Pair {
    (format!("Quelle {i}"), format!("source {i}"))
}

#[test]
fn a_leaked_validation_text_is_reported_with_its_share() {
    let train: Vec<Pair> = (0..300).map(numbered).collect();
    let trained = [sample(&train[..150]), sample(&train[150..])];
    for (shared, share) in [
        (100, Some("100 %")),
        (21, Some("21 %")),
        (20, None),
        (0, None),
    ] {
        let valid: Vec<Pair> = (300 - shared..400 - shared).map(numbered).collect();
        let said = leaked("data.valid", &valid, &trained);
        assert_eq!(said.is_some(), share.is_some(), "{shared}");
        assert!(said.is_none_or(|said| said.contains(share.unwrap())));
    }
    // The same source with another translation is another pair.
    let valid: Vec<Pair> = train
        .iter()
        .map(|(a, b)| (a.clone(), format!("{b}!")))
        .collect();
    assert_eq!(leaked("data.valid", &valid, &trained), None);
}

#[test]
fn a_shift_is_reported_with_its_line_and_size() {
    let text = text(1700);
    for (from, lag, line) in [(0, 1, 1), (0, 2, 1), (1000, 1, 1001)] {
        let said = misaligned("data.valid", &shifted(&text, from, lag)).unwrap();
        let lines = format!(
            "from about line {line} on, a source line seems to belong to the target line {lag} further down"
        );
        assert!(
            said.contains("data.valid") && said.contains(&lines),
            "{said}"
        );
    }
    let up: Vec<Pair> = shifted(&text, 0, 1)
        .into_iter()
        .map(|(a, b)| (b, a))
        .collect();
    assert!(
        misaligned("data.train", &up)
            .unwrap()
            .contains("1 further up")
    );
}

#[test]
fn swapped_sides_are_detected_by_language() {
    let text = text(300);
    let train = languages(&text);
    assert_eq!(train, [Some(Lang::Deu), Some(Lang::Eng)]);
    assert_eq!(swapped("data.valid", &text, train, "data.train"), None);
    let other: Vec<Pair> = text.into_iter().map(|(a, b)| (b, a)).collect();
    let said = swapped("data.valid", &other, train, "data.train").unwrap();
    assert!(
        said.contains("its source is English and its target German"),
        "{said}"
    );
    // Numbers have no language.
    let none: Vec<Pair> = (0..300).map(|i| (format!("{i}"), format!("{i}"))).collect();
    assert_eq!(
        swapped("data.valid", &other, languages(&none), "data.train"),
        None
    );
}
