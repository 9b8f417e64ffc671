//! Tokeniser files with parts made of every step of the library.

use base64::Engine;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::{TOKENIZER, UNIGRAM};

/// Numbers, texts and patterns that a part of a tokeniser may get wrong.
fn number() -> impl Strategy<Value = Value> {
    prop::sample::select(vec![0u64, 1, 2, 9, 4_294_967_295, u64::MAX]).prop_map(Value::from)
}

fn text() -> impl Strategy<Value = Value> {
    let texts = [
        "",
        " ",
        "a",
        "e",
        "▁",
        "\u{301}",
        "ß",
        "##",
        "</w>",
        "<pad>",
        "\u{0}",
        "👩‍👩‍👧",
    ];
    prop_oneof![
        4 => prop::sample::select(texts.to_vec()).prop_map(Value::from),
        1 => (0usize..2000).prop_map(|n| "ab ".repeat(n).into()),
    ]
}

fn pattern() -> impl Strategy<Value = Value> {
    let regexes = [
        "",
        "^",
        "$",
        ".",
        r"\s+",
        r"\b",
        r"(?=a)",
        r"(?<=a)",
        r"(?!a)",
        r"(a)\1",
        r"\Ka",
        r"(?<=\Ka)",
        r"\G",
        r"(?:(?=a)\b){99999999}",
        r"(a*)*b",
        r"(?>a|)",
        "[",
        "(",
        r"\p{L}+|\d{1,3}",
        r"(?i)É",
    ];
    prop_oneof![
        prop::sample::select(regexes.to_vec()).prop_map(|regex| json!({"Regex": regex})),
        text().prop_map(|text| json!({"String": text})),
    ]
}

/// A table of a few units and texts, most of them unsound.
fn charsmap() -> impl Strategy<Value = Value> {
    let units = prop::collection::vec(any::<u32>(), 0..4);
    let sizes = prop::sample::select(vec![0u32, 4, 1024, u32::MAX]);
    (
        units,
        prop::sample::select(vec![0usize, 256]),
        sizes,
        ".{0,5}",
    )
        .prop_map(|(units, more, size, texts)| {
            let mut bytes = size.to_le_bytes().to_vec();
            bytes.extend(
                units
                    .into_iter()
                    .chain(vec![0; more])
                    .flat_map(u32::to_le_bytes),
            );
            bytes.extend(texts.into_bytes());
            base64::engine::general_purpose::STANDARD
                .encode(bytes)
                .into()
        })
}

/// An object of the named type with any of these fields; now and then the type is left out.
fn step(
    kind: &'static str,
    fields: Vec<(&'static str, BoxedStrategy<Value>)>,
) -> BoxedStrategy<Value> {
    let (names, values): (Vec<_>, Vec<_>) = fields.into_iter().unzip();
    (prop::bool::weighted(0.9), values)
        .prop_map(move |(typed, values)| {
            let mut object: Map<String, Value> =
                names.iter().map(ToString::to_string).zip(values).collect();
            if typed {
                object.insert("type".to_owned(), kind.into());
            }
            object.into()
        })
        .boxed()
}

/// One to six of `steps`, alone or in a sequence.
fn steps(steps: Vec<BoxedStrategy<Value>>, key: &'static str) -> impl Strategy<Value = Value> {
    prop::collection::vec(prop::strategy::Union::new(steps), 1..7).prop_map(move |mut steps| {
        match steps.len() {
            1 => steps.remove(0),
            _ => json!({"type": "Sequence", key: steps}),
        }
    })
}

fn flag() -> BoxedStrategy<Value> {
    any::<bool>().prop_map(Value::from).boxed()
}

fn normalizer() -> impl Strategy<Value = Value> {
    let plain = [
        "NFC",
        "NFD",
        "NFKC",
        "NFKD",
        "Lowercase",
        "StripAccents",
        "Nmt",
        "ByteLevel",
    ];
    let mut all: Vec<_> = plain.into_iter().map(|kind| step(kind, vec![])).collect();
    all.extend([
        step(
            "Replace",
            vec![("pattern", pattern().boxed()), ("content", text().boxed())],
        ),
        step("Prepend", vec![("prepend", text().boxed())]),
        step(
            "Strip",
            vec![("strip_left", flag()), ("strip_right", flag())],
        ),
        step(
            "Precompiled",
            vec![("precompiled_charsmap", charsmap().boxed())],
        ),
        step(
            "BertNormalizer",
            vec![
                ("clean_text", flag()),
                ("handle_chinese_chars", flag()),
                ("strip_accents", flag()),
                ("lowercase", flag()),
            ],
        ),
    ]);
    steps(all, "normalizers")
}

fn behavior() -> BoxedStrategy<Value> {
    let all = [
        "Removed",
        "Isolated",
        "MergedWithPrevious",
        "MergedWithNext",
        "Contiguous",
    ];
    prop::sample::select(all.to_vec())
        .prop_map(Value::from)
        .boxed()
}

fn pre_tokenizer() -> impl Strategy<Value = Value> {
    let plain = [
        "BertPreTokenizer",
        "Whitespace",
        "WhitespaceSplit",
        "UnicodeScripts",
    ];
    let mut all: Vec<_> = plain.into_iter().map(|kind| step(kind, vec![])).collect();
    let scheme = prop::sample::select(vec!["first", "never", "always"]).prop_map(Value::from);
    all.extend([
        step("FixedLength", vec![("length", number().boxed())]),
        step("Digits", vec![("individual_digits", flag())]),
        step("Punctuation", vec![("behavior", behavior())]),
        step("CharDelimiterSplit", vec![("delimiter", text().boxed())]),
        step(
            "Split",
            vec![
                ("pattern", pattern().boxed()),
                ("behavior", behavior()),
                ("invert", flag()),
            ],
        ),
        step(
            "Metaspace",
            vec![
                ("replacement", text().boxed()),
                ("prepend_scheme", scheme.boxed()),
                ("split", flag()),
            ],
        ),
        step(
            "ByteLevel",
            vec![
                ("add_prefix_space", flag()),
                ("trim_offsets", flag()),
                ("use_regex", flag()),
            ],
        ),
    ]);
    steps(all, "pretokenizers")
}

fn decoder() -> impl Strategy<Value = Value> {
    let all = vec![
        step("ByteFallback", vec![]),
        step("Fuse", vec![]),
        step(
            "Replace",
            vec![("pattern", pattern().boxed()), ("content", text().boxed())],
        ),
        step(
            "Strip",
            vec![
                ("content", text().boxed()),
                ("start", number().boxed()),
                ("stop", number().boxed()),
            ],
        ),
        step("BPEDecoder", vec![("suffix", text().boxed())]),
        step(
            "WordPiece",
            vec![("prefix", text().boxed()), ("cleanup", flag())],
        ),
        step(
            "CTC",
            vec![
                ("pad_token", text().boxed()),
                ("word_delimiter_token", text().boxed()),
                ("cleanup", flag()),
            ],
        ),
    ];
    steps(all, "decoders")
}

/// A file around a good model or one with odd marks, with parts made of every step of the library.
pub fn odd_parts() -> impl Strategy<Value = Vec<u8>> {
    let added = (text(), flag(), flag(), flag(), flag()).prop_map(|(content, single, left, right, normal)| {
        json!({"id": 9, "content": content, "single_word": single, "lstrip": left, "rstrip": right,
               "normalized": normal, "special": false})
    });
    let parts = (
        prop::option::of(normalizer()),
        prop::option::of(pre_tokenizer()),
        prop::option::of(decoder()),
        prop::collection::vec(added, 0..3),
        (
            prop::option::weighted(0.2, text()),
            prop::option::weighted(0.2, text()),
        ),
    );
    (any::<bool>(), parts).prop_map(
        |(unigram, (normalizer, pre_tokenizer, decoder, added, marks))| {
            let good = if unigram { &UNIGRAM } else { &TOKENIZER };
            let mut json: Value = serde_json::from_slice(&good.to_bytes()).unwrap();
            json["normalizer"] = normalizer.into();
            json["pre_tokenizer"] = pre_tokenizer.into();
            json["decoder"] = decoder.into();
            json["added_tokens"].as_array_mut().unwrap().extend(added);
            json["model"]["continuing_subword_prefix"] = marks.0.into();
            json["model"]["end_of_word_suffix"] = marks.1.into();
            serde_json::to_vec(&json).unwrap()
        },
    )
}
