//! Rules of the C++ library that no trained model shows, on models made by hand.
//!
//! Expected values are what version 0.2.3 of the library gave for the same bytes.

use crate::common::*;
use burnformer_sentencepiece::{PieceType, SentencePiece};

const UNK: (&str, f32, u64) = ("<unk>", 0.0, UNKNOWN);

/// No space added or removed, so that texts show as they are.
fn plain() -> Vec<Vec<u8>> {
    vec![number(3, 0), number(4, 0)]
}

fn load(pieces: &[(&str, f32, u64)], kind: u64, normalizer: &[Vec<u8>]) -> SentencePiece {
    SentencePiece::from_bytes(
        "made.model",
        &model(pieces, &[model_type(kind)], normalizer),
    )
    .unwrap()
}

#[test]
fn the_first_of_equal_segmentations_wins() {
    let pieces = [
        UNK,
        ("a", -1.0, NORMAL),
        ("aa", -2.0, NORMAL),
        ("aaa", -3.0, NORMAL),
    ];
    let model = load(&pieces, UNIGRAM, &plain());
    // Positions are reached from the left, and a later way has to be better: one long piece.
    assert_eq!(model.encode_pieces("aaa"), ["aaa"]);
    assert_eq!(model.encode_pieces("aaaaa"), ["aa", "aaa"]);
}

#[test]
fn neighbours_are_joined_by_score_and_from_the_left() {
    let pieces = [
        UNK,
        ("a", 0.0, NORMAL),
        ("b", 0.0, NORMAL),
        ("ab", -1.0, NORMAL),
        ("ba", -1.0, NORMAL),
    ];
    assert_eq!(
        load(&pieces, BPE, &plain()).encode_pieces("aba"),
        ["ab", "a"]
    );
    assert_eq!(
        load(&pieces, BPE, &plain()).encode_pieces("bab"),
        ["ba", "b"]
    );
}

#[test]
fn an_unused_piece_is_joined_and_cut_again() {
    let pieces = [
        UNK,
        ("a", 0.0, NORMAL),
        ("b", 0.0, NORMAL),
        ("ab", -1.0, UNUSED),
        ("abb", -2.0, NORMAL),
        ("c", 0.0, UNUSED),
    ];
    let model = load(&pieces, BPE, &plain());
    assert_eq!(model.encode("ab"), [1, 2]);
    assert_eq!(model.encode("abb"), [4]);
    assert_eq!(model.encode("c"), [0]);
    assert_eq!(load(&pieces, CHAR, &plain()).encode("ac"), [1, 0]);
    assert_eq!(load(&pieces, UNIGRAM, &plain()).encode("ab"), [1, 2]);
}

#[test]
fn unknown_text_of_any_length_is_one_piece() {
    let model = load(&[UNK, ("a", -1.0, NORMAL)], UNIGRAM, &plain());
    assert_eq!(model.encode("xyaz"), [0, 1, 0]);
    assert_eq!(model.encode_pieces("xyaz"), ["xy", "a", "z"]);
    assert_eq!(model.decode(&[0, 1]).unwrap(), " \u{2047} a");
    assert_eq!(model.decode_pieces(&["xy", "a", "<unk>"]), "xya \u{2047} ");
}

#[test]
fn a_symbol_is_neither_changed_nor_cut() {
    let pieces = [
        UNK,
        ("x", -1.0, NORMAL),
        ("b", -1.0, NORMAL),
        ("ab", 0.0, USER_DEFINED),
    ];
    let rules = [plain(), vec![bytes(2, &charsmap(b'a', "x"))]].concat();
    for kind in [UNIGRAM, BPE, CHAR] {
        let model = load(&pieces, kind, &rules);
        assert_eq!(model.normalize("aab"), "xab");
        assert_eq!(model.encode("aab"), [1, 3]);
    }
}

#[test]
fn a_rule_that_ends_inside_a_character_leaves_replacement_characters() {
    // The first byte of `é`.
    let table = charsmap(0xc3, "x");
    let rules = [plain(), vec![bytes(2, &table)]].concat();
    let model = load(&[UNK, ("x", -1.0, NORMAL)], UNIGRAM, &rules);
    assert_eq!(model.normalize("é"), "x\u{fffd}");
}

#[test]
fn a_lone_nul_beside_bytes_is_ignored() {
    let all: Vec<String> = (0..=255u8).map(|byte| format!("<0x{byte:02X}>")).collect();
    let mut pieces: Vec<(&str, f32, u64)> =
        all.iter().map(|text| (text.as_str(), 0.0, BYTE)).collect();
    pieces.extend([UNK, ("\0", -1.0, NORMAL), ("a", -1.0, NORMAL)]);
    let bytes = model(&pieces, &[byte_fallback()], &plain());
    let model = SentencePiece::from_bytes("made.model", &bytes).unwrap();
    assert_eq!(model.encode("a\0"), [258, 0]);
    assert_eq!(model.id("\0"), None);
    assert_eq!(model.piece_type(257), Some(PieceType::Unused));
    assert_eq!(
        model.decode(&[0xe2, 0x82, 0xac, 0xe2, 0x82, 0x41]).unwrap(),
        "€\u{fffd}\u{fffd}A"
    );
}

#[test]
fn special_pieces_are_found_by_name_and_type() {
    let names = [bytes(45, b"[U]"), bytes(46, b"a"), bytes(48, b"[P]")];
    let pieces = [
        ("[U]", 0.0, UNKNOWN),
        ("a", 0.0, NORMAL),
        ("</s>", 0.0, CONTROL),
        ("[P]", 0.0, CONTROL),
    ];
    let model = SentencePiece::from_bytes("made.model", &model(&pieces, &names, &[])).unwrap();
    let ids = [
        model.unk_id(),
        model.bos_id(),
        model.eos_id(),
        model.pad_id(),
    ];
    assert_eq!(ids, [Some(0), None, Some(2), Some(3)]);
    assert_eq!(model.id("</s>"), Some(2));
    assert_eq!(model.id("</S>"), None);
}
