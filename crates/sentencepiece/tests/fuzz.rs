//! Hostile models: errors, never a panic, never memory by claim; and whatever loads can be used.

#[path = "it/common/mod.rs"]
mod common;
#[path = "../../../tests/fuzz/mod.rs"]
mod fuzz;

use burnformer_sentencepiece::SentencePiece;
use common::*;
use fuzz::{damaged, within};
use proptest::prelude::*;

#[global_allocator]
static ALLOCATOR: fuzz::Counting = fuzz::Counting;

/// The memory of the smallest model: tables of the first bytes and of the 256 bytes.
const FIXED: usize = 16 << 10;

const TEXTS: [&str; 6] = [
    "",
    "   ",
    "the house ▁ aab abcabc",
    "\0\u{1b} ﷽ 😀👩‍👩‍👧 </s> <0x0A> ﬁ e\u{301}",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "ＡＢＣ　中文 한국어 ไทย",
];

/// Asserts that a model which loads stays within its bounds and can encode and decode anything, in
/// ids below its size.
fn use_model(bytes: &[u8]) {
    let limit = 96 * bytes.len() + FIXED;
    let loaded = within(limit, || SentencePiece::from_bytes("source.spm", bytes));
    let Ok(model) = loaded else { return };
    within(24 * bytes.len() + FIXED, || model.clone());
    for text in TEXTS {
        // The table of replacements can make a text longer, by at most itself for each byte.
        let most = text.len() * bytes.len() + text.len() + 8;
        let normalized = within(4 * most, || model.normalize(text));
        let limit = 200 * normalized.len() + 4 * most + FIXED;
        let ids = within(limit, || model.encode(text));
        assert!(ids.iter().all(|&id| (id as usize) < model.len()), "{ids:?}");
        let pieces = model.encode_pieces(text);
        assert_eq!(pieces.is_empty(), normalized.is_empty());
        if model.id("<0x00>").is_none() {
            assert_eq!(pieces.concat(), normalized);
        }
        assert_eq!(pieces.len(), ids.len());
        assert!(model.decode(&ids).is_ok());
        model.decode_pieces(&pieces);
    }
    let all: Vec<u32> = (0..model.len() as u32).rev().collect();
    assert!(model.decode(&all).is_ok() && model.decode(&[u32::MAX]).is_err());
    let found = (0..model.len() as u32)
        .filter_map(|id| model.id(model.piece(id)?))
        .count();
    assert!(found > 0);
}

/// Fields of the settings, in any combination.
fn settings() -> impl Strategy<Value = (Vec<Vec<u8>>, Vec<Vec<u8>>)> {
    let flags = prop::collection::vec((prop::sample::select(vec![3u64, 4, 5]), 0..2u64), 0..3);
    let trainer = (
        1..5u64,
        prop::bool::weighted(0.2),
        any::<bool>(),
        prop::option::of(".{0,2}"),
    );
    (trainer, flags, prop::option::of(table())).prop_map(
        |((kind, is_suffix, bytes, surface), flags, table)| {
            let mut trainer = vec![model_type(kind), number(24, is_suffix.into())];
            trainer.push(number(35, bytes.into()));
            trainer.extend(surface.map(|text| self::bytes(44, text.as_bytes())));
            let mut normalizer: Vec<Vec<u8>> = flags
                .into_iter()
                .map(|(field, value)| number(field, value))
                .collect();
            normalizer.extend(table.map(|table| self::bytes(2, &table)));
            (trainer, normalizer)
        },
    )
}

/// Tables of replacements: sound ones, and ones with a few units changed.
fn table() -> impl Strategy<Value = Vec<u8>> {
    let from = prop::sample::select(b"a \xc3\xe3\x00".to_vec());
    let text = prop::sample::select(vec![
        "",
        " ",
        "x",
        "  ",
        "aa",
        "\u{2581}",
        "abcabcabcabc",
        "é",
    ]);
    let changed = prop::collection::vec((0..2060usize, any::<u8>()), 0..3);
    (from, text, prop::option::weighted(0.3, changed)).prop_map(|(from, text, changed)| {
        let mut table = charsmap(from, text);
        for (index, byte) in changed.into_iter().flatten() {
            if let Some(old) = table.get_mut(index) {
                *old = byte;
            }
        }
        table
    })
}

/// Models of a few pieces, most of them sound.
fn made() -> impl Strategy<Value = Vec<u8>> {
    let texts = [
        "a", "b", "c", "ab", "bc", "abc", "aa", "aaa", "▁", "▁a", "▁▁", "<s>", "</s>", "é", "中",
    ];
    let score = prop_oneof![
        4 => -20.0f32..1.0,
        1 => prop::sample::select(vec![0.0f32, -0.0, 1e38, -3e38, f32::MAX, f32::MIN, f32::NAN, f32::INFINITY]),
    ];
    let kind = prop::sample::select(vec![
        NORMAL,
        NORMAL,
        NORMAL,
        NORMAL,
        CONTROL,
        USER_DEFINED,
        UNUSED,
    ]);
    let piece = (prop::sample::select(texts.to_vec()), score, kind);
    (
        prop::collection::btree_map(0..texts.len(), piece, 0..12),
        settings(),
    )
        .prop_map(move |(pieces, (trainer, normalizer))| {
            let has_bytes = trainer[2] == byte_fallback();
            let names: Vec<String> = (0..=255).map(|byte| format!("<0x{byte:02X}>")).collect();
            let bytes = names
                .iter()
                .filter(|_| has_bytes)
                .map(|name| (name.as_str(), 0.0, BYTE));
            let unknown = [("<unk>", 0.0, UNKNOWN)];
            // The text of a number, so that texts are distinct.
            let others = pieces
                .iter()
                .map(|(&number, &(_, score, kind))| (texts[number], score, kind));
            let all: Vec<_> = unknown.into_iter().chain(others).chain(bytes).collect();
            model(&all, &trainer, &normalizer)
        })
}

/// Protocol Buffers that nest, repeat and leave out.
fn fields() -> impl Strategy<Value = Vec<u8>> {
    let leaf = prop::collection::vec(any::<u8>(), 0..12);
    let field = (1..9u64, any::<bool>(), leaf);
    let message = prop::collection::vec(field, 0..12).prop_map(|fields| {
        let field = |(number, nested, content): (u64, bool, Vec<u8>)| match nested {
            true => bytes(number, &bytes(1, &content)),
            false => bytes(number, &content),
        };
        fields.into_iter().flat_map(field).collect::<Vec<u8>>()
    });
    (message, any::<u16>()).prop_map(|(message, empty)| {
        // Many empty pieces: the most memory for the fewest bytes.
        let empty = if empty % 50 == 0 {
            usize::from(empty)
        } else {
            0
        };
        [[10, 0].repeat(empty), message].concat()
    })
}

fn fixture(name: &str) -> Vec<u8> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    std::fs::read(folder.join(name)).unwrap()
}

/// A small model of every type.
fn small(kind: u64) -> Vec<u8> {
    let pieces = [
        ("<unk>", 0.0, UNKNOWN),
        ("</s>", 0.0, CONTROL),
        ("▁", -3.0, NORMAL),
        ("a", -2.0, NORMAL),
        ("▁a", -1.5, NORMAL),
        ("ab", -1.0, UNUSED),
        ("b", -4.0, NORMAL),
        ("abc", 0.0, USER_DEFINED),
    ];
    model(
        &pieces,
        &[model_type(kind)],
        &[bytes(2, &charsmap(b'c', "ab"))],
    )
}

crate::fuzz_test!(
    sentencepiece_model,
    prop_oneof![
        4 => made(),
        4 => (UNIGRAM..=CHAR).prop_flat_map(|kind| damaged(small(kind))),
        2 => fields(),
        1 => prop::collection::vec(any::<u8>(), 0..300),
    ],
    use_model
);

// The trained models are larger, and a case takes longer.
crate::fuzz_test!(
    sentencepiece_trained,
    prop::sample::select(vec![
        "bpe-unused.model",
        "unigram-rules.model",
        "unigram-suffix.model"
    ])
    .prop_flat_map(|name| damaged(fixture(name))),
    use_model
);

#[test]
fn enough_generated_models_load() {
    use proptest::strategy::ValueTree;
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let mut loading = |strategy: BoxedStrategy<Vec<u8>>| {
        let loads = |bytes: Vec<u8>| SentencePiece::from_bytes("source.spm", &bytes).is_ok();
        (0..200)
            .filter(|_| loads(strategy.new_tree(&mut runner).unwrap().current()))
            .count()
    };
    assert!(loading(made().boxed()) > 100, "{}", loading(made().boxed()));
    let small = (UNIGRAM..=CHAR)
        .prop_flat_map(|kind| damaged(small(kind)))
        .boxed();
    assert!(loading(small.clone()) > 5, "{}", loading(small));
    let trained = damaged(fixture("unigram-rules.model")).boxed();
    assert!(loading(trained.clone()) > 5, "{}", loading(trained));
}
