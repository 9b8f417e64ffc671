//! A `tokenizer.json` from anywhere: what the `tokenizers` library cannot run is refused by the
//! part that asks for it.

use std::path::Path;

use burnformer_data::{DataError, Tokenizer, TokenizerError, TokenizerSettings};
use serde_json::{Value, json};

/// A good file.
fn good() -> Value {
    let settings = TokenizerSettings {
        allow_smaller: true,
        ..TokenizerSettings::bpe(300)
    };
    let text = [
        "the house stands in the street",
        "a dog and a girl",
        "das Haus, der Hund",
    ];
    let tokenizer = Tokenizer::train(text.repeat(9), &settings).unwrap();
    serde_json::from_slice(&tokenizer.to_bytes()).unwrap()
}

fn load(json: &Value) -> Result<Tokenizer, DataError> {
    Tokenizer::from_bytes(
        Path::new("model/tokenizer.json"),
        json.to_string().as_bytes(),
    )
}

/// A good file with `value` at `pointer`.
fn with(pointer: &str, value: Value) -> Value {
    let mut json = good();
    let (parent, key) = pointer.rsplit_once('/').unwrap();
    json.pointer_mut(parent).unwrap()[key] = value;
    json
}

#[track_caller]
fn is_refused(json: &Value, expected: &str, parts: &[&str]) {
    let error = load(json).expect_err("is refused");
    let DataError::Tokenizer(TokenizerError::Part { part, .. }) = &error else {
        panic!("{error:?}")
    };
    assert_eq!(part, expected, "{error}");
    let message = error.to_string();
    for part in [&["model/tokenizer.json"], parts].concat() {
        assert!(message.contains(part), "{part:?} is missing in: {message}");
    }
}

/// Asserts what [`is_refused`] does, for a value in place of a part of a BPE file.
#[track_caller]
fn is_refused_at(pointer: &str, value: Value, expected: &str, parts: &[&str]) {
    is_refused(&with(pointer, value), expected, parts);
}

fn sequence(key: &str, steps: Vec<Value>) -> Value {
    json!({"type": "Sequence", key: steps})
}

fn replace(pattern: Value, content: &str) -> Value {
    json!({"type": "Replace", "pattern": pattern, "content": content})
}

fn regex(pattern: &str) -> Value {
    json!({"Regex": pattern})
}

fn split(pattern: &str) -> Value {
    json!({"type": "Split", "pattern": regex(pattern), "behavior": "Isolated", "invert": false})
}

#[test]
fn a_precompiled_trie_of_one_unit_is_refused() {
    // Base64 of [4, 0, 0, 0] and one unit of zeros: every character is looked up behind the end.
    let step = json!({"type": "Precompiled", "precompiled_charsmap": "BAAAAAAAAAA="});
    let part = "normalizer (Precompiled)";
    is_refused_at(
        "/normalizer",
        step.clone(),
        part,
        &["outside of itself", "anew"],
    );
    is_refused_at(
        "/normalizer",
        sequence("normalizers", vec![step]),
        part,
        &["outside of itself"],
    );
}

#[test]
fn a_precompiled_trie_that_claims_gigabytes_is_refused() {
    // Base64 of [0xff, 0xff, 0xff, 0xff], a size of 4 GiB, also where the file does not name the
    // type.
    let claim = "/////w==";
    for step in [
        json!({"type": "Precompiled", "precompiled_charsmap": claim}),
        json!({"precompiled_charsmap": claim}),
    ] {
        is_refused_at(
            "/normalizer",
            step,
            "normalizer (Precompiled)",
            &["outside of itself"],
        );
    }
}

#[test]
fn words_of_no_characters_are_refused() {
    let step = json!({"type": "FixedLength", "length": 0});
    let part = "pre_tokenizer (FixedLength)";
    is_refused_at(
        "/pre_tokenizer",
        step.clone(),
        part,
        &["\"length\" to 1 or more"],
    );
    is_refused_at(
        "/pre_tokenizer",
        sequence("pretokenizers", vec![step]),
        part,
        &["length"],
    );
    let one = json!({"type": "FixedLength", "length": 1});
    assert!(load(&with("/pre_tokenizer", one)).is_ok());
}

#[test]
fn a_strip_from_the_end_is_refused_under_any_type() {
    for step in [
        json!({"type": "Strip", "content": " ", "start": 0, "stop": 9}),
        json!({"content": " ", "start": 0, "stop": 9}),
        json!({"type": "Strop", "content": " ", "start": 0, "stop": 9}),
    ] {
        let parts = ["strips 9 characters", "to 0"];
        is_refused_at("/decoder", step, "decoder (Strip)", &parts);
    }
    // A single character is enough, also where no text of a trial comes to the step.
    let ctc = json!({
        "type": "CTC", "pad_token": "<pad>", "word_delimiter_token": "|", "cleanup": false,
    });
    let strip = json!({"type": "Strip", "content": "H", "start": 0, "stop": 1});
    for first in [
        json!({"type": "Fuse"}),
        json!({"type": "ByteFallback"}),
        ctc,
    ] {
        let steps = sequence("decoders", vec![first, strip.clone()]);
        is_refused_at(
            "/decoder",
            steps,
            "decoder (Strip)",
            &["strips 1 characters", "to 0"],
        );
    }
}

#[test]
fn a_pattern_that_matches_again_and_again_is_refused() {
    let pattern = r"(?<=\Ka)";
    is_refused_at(
        "/pre_tokenizer",
        split(pattern),
        "pre_tokenizer (Split)",
        &["\\K"],
    );
    let step = replace(regex(pattern), "");
    is_refused_at(
        "/normalizer",
        step.clone(),
        "normalizer (Replace)",
        &["\\K", "look-behind"],
    );
    is_refused_at("/decoder", step, "decoder (Replace)", &["\\K"]);
}

#[test]
fn an_endless_repetition_of_nothing_is_refused() {
    let endless = r"(?:(?=a)\b){99999999999}";
    let nested = r"(?:(?:(?:(?=a)\b){100}\b){100}\b){100}";
    for pattern in [endless, nested] {
        let part = "pre_tokenizer (Split)";
        is_refused_at(
            "/pre_tokenizer",
            split(pattern),
            part,
            &["rounds", "ask for fewer"],
        );
    }
    assert!(load(&with("/pre_tokenizer", split(r"\p{N}{1,3}|\x{20000}"))).is_ok());
}

#[test]
fn steps_that_multiply_a_text_are_refused() {
    let parts = ["more than 4000 times as long"];
    let doubling = vec![replace(json!({"String": "a"}), "aa"); 40];
    is_refused_at(
        "/normalizer",
        sequence("normalizers", doubling),
        "normalizer",
        &parts,
    );
    let bytes = vec![json!({"type": "ByteLevel"}); 40];
    is_refused_at(
        "/normalizer",
        sequence("normalizers", bytes),
        "normalizer",
        &parts,
    );
    let long = json!({"type": "Prepend", "prepend": "▁".repeat(9000)});
    is_refused_at("/normalizer", long, "normalizer", &parts);
    let parts = ["more than 100 times as long"];
    let between = vec![replace(regex(""), "ab"); 40];
    is_refused_at("/decoder", sequence("decoders", between), "decoder", &parts);
    let spaces = vec![json!({"type": "BPEDecoder", "suffix": ""}); 40];
    is_refused_at("/decoder", sequence("decoders", spaces), "decoder", &parts);
    let many = vec![json!({"type": "StripAccents"}); 1000];
    is_refused_at(
        "/normalizer",
        sequence("normalizers", many),
        "normalizer",
        &["100 steps"],
    );
}

#[test]
fn a_piece_that_overflows_the_stack_is_refused() {
    let mut json = good();
    json["model"] = crate::unigram_of(&json["model"]);
    let vocab = json["model"]["vocab"].as_array_mut().unwrap();
    vocab.push(json!(["a".repeat(1_000_000), -9.0]));
    is_refused(
        &json,
        "model (Unigram)",
        &["a piece has 1000000 bytes", "at most 1024"],
    );
    // The longest piece that is allowed can be loaded, copied and dropped on a thread of two
    // megabytes.
    let vocab = json["model"]["vocab"].as_array_mut().unwrap();
    vocab.last_mut().unwrap()[0] = "a".repeat(1024).into();
    let work = move || {
        let tokenizer = load(&json).unwrap();
        assert_eq!(
            tokenizer.clone().decode(&tokenizer.encode("the dog")),
            "the dog"
        );
    };
    std::thread::Builder::new()
        .stack_size(2 << 20)
        .spawn(work)
        .unwrap()
        .join()
        .unwrap();
}

#[test]
fn long_words_for_word_piece_are_refused() {
    let vocab: serde_json::Map<String, Value> = ["<pad>", "<s>", "</s>", "<unk>", "a"]
        .iter()
        .zip(0..)
        .map(|(token, id)| (token.to_string(), json!(id)))
        .collect();
    let model = |chars: u64| {
        json!({"type": "WordPiece", "unk_token": "<unk>", "continuing_subword_prefix": "##",
               "max_input_chars_per_word": chars, "vocab": vocab})
    };
    let parts = ["max_input_chars_per_word is 1000000000000", "at most 200"];
    is_refused_at(
        "/model",
        model(1_000_000_000_000),
        "model (WordPiece)",
        &parts,
    );
    assert!(load(&with("/model", model(100))).is_ok());
}

#[test]
fn affixes_that_cut_characters_or_multiply_text_are_refused() {
    let mut json = good();
    json["model"]["continuing_subword_prefix"] = "#".into();
    json["model"]["merges"] = json!([["t", "ß"]]);
    is_refused(&json, "model (BPE)", &["\"ß\"", "lacks", "\"#\""]);
    json["model"]["merges"] = json!(["t ß"]);
    is_refused(&json, "model (BPE)", &["\"ß\""]);
    for affix in ["continuing_subword_prefix", "end_of_word_suffix"] {
        let pointer = format!("/model/{affix}");
        is_refused_at(
            &pointer,
            json!("#".repeat(65)),
            "model",
            &[affix, "at most 64"],
        );
    }
}

/// A good file with these added tokens, each with its lstrip, rstrip and normalized.
fn with_added(tokens: &[(&str, [bool; 3])]) -> Value {
    let mut json = good();
    let added = json["added_tokens"].as_array_mut().unwrap();
    for (content, [lstrip, rstrip, normalized]) in tokens {
        added.push(
            json!({"id": 9, "content": content, "single_word": false, "lstrip": lstrip,
                          "rstrip": rstrip, "normalized": normalized, "special": false}),
        );
    }
    json
}

#[test]
fn white_space_that_strips_white_space_is_refused() {
    let json = with_added(&[("A", [false, true, false]), (" ", [true, false, false])]);
    is_refused(
        &json,
        "list of added_tokens",
        &["white space", "\"lstrip\" to false"],
    );
}

#[test]
fn an_added_token_that_normalises_to_nothing_is_refused() {
    // The normaliser takes control characters away.
    let json = with_added(&[("\u{1}", [false, false, true]), ("house", [false; 3])]);
    is_refused(
        &json,
        "list of added_tokens",
        &["nothing is left", "\"normalized\" to false"],
    );
    assert!(load(&with_added(&[("\u{1}", [false; 3])])).is_ok());
}

#[test]
fn added_tokens_that_fill_the_memory_are_refused() {
    let many = "many words ".repeat(100_000);
    let json = with_added(&[(&many, [false; 3])]);
    is_refused(&json, "list of added_tokens", &["more than 1048576 bytes"]);
}

#[test]
fn problems_that_only_a_trial_finds_are_refused_by_their_part() {
    // An empty prefix makes the library lose count of its first character, and the next step
    // panics.
    let steps = vec![
        json!({"type": "Prepend", "prepend": ""}),
        json!({"type": "Lowercase"}),
    ];
    let parts = ["fails on the text \"a\""];
    is_refused_at(
        "/normalizer",
        sequence("normalizers", steps),
        "normalizer",
        &parts,
    );
    let steps = vec![replace(regex("^"), "x"), json!({"type": "NFC"})];
    is_refused_at(
        "/normalizer",
        sequence("normalizers", steps),
        "normalizer",
        &parts,
    );
}

#[test]
fn a_panic_while_parsing_is_an_error() {
    let map = json!({"type": "Precompiled", "precompiled_charsmap": 7});
    let decoder = json!({"type": 7});
    let mut merges = good();
    merges["model"]["merges"] = json!([["the", "the"], ["▁the", "▁house▁house▁house"]]);
    for json in [with("/normalizer", map), with("/decoder", decoder), merges] {
        let error = load(&json).expect_err("an error");
        let typed = matches!(
            error,
            DataError::Tokenizer(TokenizerError::Invalid(..) | TokenizerError::Part { .. })
        );
        assert!(
            typed && error.to_string().contains("model/tokenizer.json"),
            "{error:?}"
        );
    }
}

#[test]
fn truncation_padding_special_tokens_and_dropout_of_a_file_are_ignored() {
    let plain = load(&good()).unwrap();
    let mut json = good();
    json["padding"] = json!({"strategy": {"Fixed": 1_000_000_000_000_000u64}, "direction": "Right",
        "pad_to_multiple_of": 0, "pad_id": 0, "pad_type_id": 0, "pad_token": "<pad>"});
    json["truncation"] =
        json!({"direction": "Right", "max_length": 1, "strategy": "LongestFirst", "stride": 9});
    let sequence = json!({"Sequence": {"id": "A", "type_id": 0}});
    json["post_processor"] = json!({"type": "TemplateProcessing", "single": vec![&sequence; 3],
        "pair": [{"Sequence": {"id": "B", "type_id": 0}}], "special_tokens": {}});
    json["post_processor"] = json!({"type": "Sequence",
        "processors": [json["post_processor"].clone(), json["post_processor"].clone()]});
    json["model"]["dropout"] = json!(0.9999);
    let loaded = load(&json).unwrap();
    for text in ["the house stands in the street", "a dog", ""] {
        assert_eq!(loaded.encode(text), plain.encode(text));
    }
}

#[test]
fn a_repeated_key_is_checked_as_it_is_parsed() {
    // The parser keeps the last of two values.
    let good = good().to_string();
    let hostile = r#""normalizer":{"type":"Precompiled","precompiled_charsmap":"/////w=="},"#;
    let twice = format!("{{{hostile}{}", &good[1..]);
    assert!(Tokenizer::from_bytes(Path::new("x.json"), twice.as_bytes()).is_ok());
}
