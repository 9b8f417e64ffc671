//! Invisible characters and texts that the tokeniser does not know.

use std::process::Command;

use burnformer_data::{Tokenizer, TokenizerSettings, special};

use super::trained;

/// Several invisible characters of each kind: controls, marks of direction, fillers, joiners,
/// selectors, tags.
const INVISIBLE: &str = "\0\u{1}\u{7F}\u{9F}\u{AD}\u{34F}\u{61C}\u{115F}\u{1160}\u{17B4}\u{180E}\u{200B}\u{200C}\
    \u{200D}\u{200E}\u{200F}\u{202A}\u{202E}\u{2060}\u{2061}\u{2064}\u{2066}\u{2069}\u{206A}\u{206F}\u{3164}\
    \u{FE00}\u{FE0F}\u{FEFF}\u{FFA0}\u{FFF9}\u{FFFB}\u{1BCA0}\u{1D173}\u{E0001}\u{E0020}\u{E007F}\u{E0100}";

#[test]
fn invisible_characters_change_no_ids_in_any_script() {
    let sentences = [
        "Die Größe des Hauses.",
        "The house (not this one)!",
        "L'été, où va-t-on ?",
        "Сколько стоит дом?",
        "هذا بيت كبير.",
        "این کتاب خوب است.",
        "यह एक बड़ा घर है।",
        "这是一座大房子。",
        "これは大きな家です。",
        "이것은 큰 집이다.",
        "นี่คือบ้านหลังใหญ่",
    ];
    let settings = TokenizerSettings {
        character_coverage: 1.0,
        ..TokenizerSettings::bpe(460)
    };
    let tokenizer = Tokenizer::train(sentences, &settings).unwrap();
    let invisible: Vec<char> = INVISIBLE.chars().collect();
    let dirty = |sentence: &str, at: usize| -> String {
        let joins = |c: &char| matches!(c, '\u{600}'..='\u{6FF}' | '\u{900}'..='\u{97F}');
        let chars: Vec<char> = sentence.chars().collect();
        let insert = |(index, &c): (usize, &char)| {
            let new = invisible[(index + at) % invisible.len()];
            let means = "\u{200C}\u{200D}".contains(new) && index > 0 && joins(&chars[index - 1]);
            [Some(new).filter(|_| !(means && joins(&c))), Some(c)]
        };
        chars
            .iter()
            .enumerate()
            .flat_map(insert)
            .flatten()
            .collect()
    };
    let texts = sentences.map(|sentence| {
        (0..invisible.len())
            .map(|at| dirty(sentence, at))
            .collect::<Vec<_>>()
    });
    let dirty_lines: Vec<&String> = texts.iter().flatten().cycle().take(1100).collect();
    let clean = Tokenizer::train(
        dirty_lines.iter().take(sentences.len() * invisible.len()),
        &settings,
    );
    let repeated = sentences
        .iter()
        .flat_map(|&line| std::iter::repeat_n(line, invisible.len()));
    let expected = Tokenizer::train(repeated, &settings).unwrap();
    assert_eq!(
        clean.unwrap().to_bytes(),
        expected.to_bytes(),
        "a corpus with them trains the same tokeniser"
    );
    for (sentence, texts) in sentences.iter().zip(&texts) {
        let ids = tokenizer.encode(sentence);
        texts
            .iter()
            .for_each(|text| assert_eq!(tokenizer.encode(text), ids, "{text:?}"));
    }
    let together = tokenizer.encode_batch(&dirty_lines);
    let lines = dirty_lines.iter().zip(&together);
    lines.for_each(|(line, ids)| assert_eq!(ids, &tokenizer.encode(line), "{line:?}"));
    assert!(tokenizer.encode(INVISIBLE).is_empty());
    for text in [
        "می\u{200C}خواهم",
        "क्\u{200D}ष",
        "👩\u{200D}💻 1\u{FE0F}\u{20E3}",
    ] {
        assert_eq!(tokenizer.decode(&tokenizer.encode(text)), text);
    }
}

/// A `tokenizer.json` that spells no characters in bytes.
fn without_bytes() -> Tokenizer {
    let bytes = trained(400).to_bytes();
    let mut json: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
    json["model"]["byte_fallback"] = false.into();
    Tokenizer::from_bytes("t".as_ref(), &serde_json::to_vec(&json).unwrap()).unwrap()
}

/// The decoder of `tokenizers` joins the words of a first token that holds several: its version
/// 0.23.3 in Python gives "Ilove Tom." SentencePiece 0.2.3 gives these texts for these pieces.
#[test]
fn a_first_token_of_several_words_is_decoded_as_by_sentencepiece() {
    let pieces = ["▁I▁love", "▁Tom.", "▁you", "!"];
    let mut vocab: Vec<&str> = special::TOKENS.to_vec();
    vocab.extend(pieces);
    vocab.push("a");
    let vocab: serde_json::Map<String, serde_json::Value> = vocab
        .iter()
        .zip(0..)
        .map(|(piece, id)| ((*piece).into(), id.into()))
        .collect();
    let metaspace = serde_json::json!({"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": false});
    let byte_fallback = serde_json::json!({"type": "ByteFallback"});
    let sequence = serde_json::json!({"type": "Sequence", "decoders": [byte_fallback, metaspace]});
    for decoder in [&metaspace, &sequence] {
        let json = serde_json::json!({
            "version": "1.0", "truncation": null, "padding": null, "added_tokens": [], "normalizer": null,
            "pre_tokenizer": metaspace, "post_processor": null, "decoder": decoder,
            "model": {"type": "WordLevel", "vocab": vocab, "unk_token": "<unk>"},
        });
        let bytes = serde_json::to_vec(&json).unwrap();
        let tokenizer = Tokenizer::from_bytes("t".as_ref(), &bytes).unwrap();
        for (ids, text) in [
            (&[4, 5][..], "I love Tom."),
            (&[4, 6, 7], "I love you!"),
            (&[5, 4], "Tom. I love"),
            (&[7], "!"),
            (&[], ""),
        ] {
            assert_eq!(tokenizer.decode(ids), text);
            assert_eq!(tokenizer.decode_copying(ids, &["x".into()]), text);
        }
        assert_eq!(tokenizer.words_of(&[4, 5]), [1, 2]);
    }
}

#[test]
fn unknown_tokens_have_their_texts_and_take_copies() {
    let tokenizer = without_bytes();
    for (text, unknown) in [
        ("The dog sees 7 €.", &["€"][..]),
        ("€uro 東京 has 5 €¥ dogs\u{AD}☃", &["€", "東京", "€¥", "☃"]),
        ("The dog", &[]),
        ("☃", &["☃"]),
    ] {
        let ids = tokenizer.encode(text);
        assert_eq!(
            ids.iter().filter(|&&id| id == special::UNK).count(),
            unknown.len(),
            "{text}"
        );
        let texts = tokenizer.unknown_texts(text);
        assert_eq!(texts, unknown, "{text}");
        assert_eq!(
            tokenizer.decode_copying(&ids, &texts),
            text.replace('\u{AD}', "")
        );
    }
}

/// The normaliser of T5 and Marian makes a space of a zero-width space; soft hyphens it leaves.
#[test]
fn a_normaliser_of_the_file_comes_before_the_rule() {
    let mut json: serde_json::Value = serde_json::from_slice(&trained(400).to_bytes()).unwrap();
    let step =
        serde_json::json!({"type": "Replace", "pattern": {"String": "\u{200B}"}, "content": " "});
    json["normalizer"]["normalizers"]
        .as_array_mut()
        .unwrap()
        .insert(0, step);
    let tokenizer =
        Tokenizer::from_bytes("t".as_ref(), &serde_json::to_vec(&json).unwrap()).unwrap();
    let same = |a: &str, b: &str| assert_eq!(tokenizer.encode(a), tokenizer.encode(b), "{a:?}");
    same("\u{200B}The\u{200B}dog\u{200B}", "The dog");
    same("The d\u{AD}og\u{200E}\u{1}", "The dog");
}

/// Texts of letters of many scripts with every invisible character between them, and at random.
fn texts_with_invisible_characters() -> Vec<String> {
    let neighbours = [
        ["a", "b"],
        ["ß", " "],
        ["م", "ی"],
        ["क", "ष"],
        ["क्", "ष"],
        ["র", "্য"],
        ["ന്", " "],
        ["ᠮ", "ᠣ"],
        ["👨", "👩"],
        ["❤", "🔥"],
        ["1", "\u{20E3}"],
        ["#", "x"],
        ["🏴", "a"],
        ["𓂋", "𓏏"],
        ["東", "京"],
        ["한", "국"],
        ["ท", "ย"],
        ["ខ", "្ម"],
        ["", "."],
        ["7", ""],
        ["🏽", "🚀"],
        ["©", "™"],
    ];
    let invisible: Vec<char> = ('\0'..=char::MAX)
        .filter(|&c| burnformer_text::is_invisible(c))
        .collect();
    let step = |c: &&char| u32::from(**c) < 0xE0100 || u32::from(**c).is_multiple_of(97);
    let between = invisible
        .iter()
        .filter(step)
        .flat_map(|c| neighbours.map(|[before, after]| format!("x {before}{c}{after} y")));
    let special: Vec<char> =
        "\u{200C}\u{200D}\u{FE0E}\u{FE0F}\u{E0067}\u{E007F}\u{180B}\u{13430}\u{AD}\u{200B}\u{2800}"
            .chars()
            .collect();
    let mut state = 3u32;
    let mut random = move |below: usize| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 16) as usize % below
    };
    let mut at_random = || -> String {
        let part = |random: &mut dyn FnMut(usize) -> usize| match random(2) {
            0 => special[random(special.len())].to_string(),
            _ => neighbours[random(neighbours.len())][random(2)].to_owned(),
        };
        (0..8).map(|_| part(&mut random)).collect()
    };
    let random: Vec<String> = (0..4000).map(|_| at_random()).collect();
    between.chain(random).collect()
}

/// The library alone, and Python's package where `BURNFORMER_TOKENIZERS` names an interpreter that
/// has it, read a `tokenizer.json` of ours as we do.
#[test]
fn other_readers_of_a_tokenizer_json_give_the_same_ids() {
    let texts = texts_with_invisible_characters();
    let settings = TokenizerSettings {
        allow_smaller: true,
        ..TokenizerSettings::bpe(460)
    };
    let tokenizer = Tokenizer::train(&texts, &settings).unwrap();
    let bytes = tokenizer.to_bytes();
    let again = Tokenizer::from_bytes("tokenizer.json".as_ref(), &bytes).unwrap();
    assert_eq!(again.to_bytes(), bytes);
    let library = tokenizers::Tokenizer::from_bytes(&bytes).unwrap();
    let ids = tokenizer.encode_batch(&texts);
    for (text, ids) in texts.iter().zip(&ids) {
        assert_eq!(
            library.encode(text.as_str(), false).unwrap().get_ids(),
            ids,
            "{text:?}"
        );
        assert_eq!(&again.encode(text), ids, "{text:?}");
    }
    let Ok(python) = std::env::var("BURNFORMER_TOKENIZERS") else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    std::fs::write(path("tokenizer.json"), &bytes).unwrap();
    std::fs::write(
        path("texts.json"),
        serde_json::to_vec(&(texts, ids)).unwrap(),
    )
    .unwrap();
    let script = "import json, tokenizers as t
reader = t.Tokenizer.from_file('tokenizer.json')
texts, ids = json.load(open('texts.json', encoding='utf-8'))
other = [(text, known) for text, known in zip(texts, ids) if reader.encode(text).ids != known]
assert not other, (len(other), other[:5])";
    let run = Command::new(python)
        .args(["-c", script])
        .current_dir(folder.path())
        .output()
        .unwrap();
    assert!(
        run.status.success(),
        "{}",
        String::from_utf8_lossy(&run.stderr)
    );
}
