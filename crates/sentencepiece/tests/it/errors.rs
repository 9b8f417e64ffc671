//! Files that are not usable models: an error for each cause, which names the file.

use crate::common::*;
use burnformer_sentencepiece::{
    CharsmapProblem, ModelProblem, ModelType, PieceProblem, SentencePiece, SentencePieceError,
    UnknownId,
};

const UNK: (&str, f32, u64) = ("<unk>", 0.0, UNKNOWN);

fn load(bytes: &[u8]) -> Result<SentencePiece, SentencePieceError> {
    SentencePiece::from_bytes("dir/source.spm", bytes)
}

/// The error in `bytes`. The message names the file and ends in a remedy.
fn error(bytes: &[u8]) -> ModelProblem {
    let error = load(bytes).map(|model| model.len()).unwrap_err();
    let message = error.to_string();
    assert!(
        message.starts_with("dir/source.spm: ") && message.contains([';', ',']),
        "{message}"
    );
    error.problem
}

/// The error in the piece of this id.
fn problem(pieces: &[(&str, f32, u64)], trainer: &[Vec<u8>]) -> (usize, PieceProblem) {
    match error(&model(pieces, trainer, &[])) {
        ModelProblem::Piece { id, problem, .. } => (id, problem),
        other => panic!("{other}"),
    }
}

#[test]
fn a_file_that_is_missing_or_a_folder_is_named() {
    let folder = tempfile::tempdir().unwrap();
    for path in [folder.path().join("no.spm"), folder.path().to_owned()] {
        let error = SentencePiece::open(&path).unwrap_err();
        assert!(
            matches!(error.problem, ModelProblem::Unreadable(_)),
            "{error}"
        );
        assert!(
            error.to_string().starts_with(path.to_str().unwrap()),
            "{error}"
        );
    }
}

#[test]
fn a_file_of_gigabytes_is_refused_before_it_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("huge.spm");
    std::fs::File::create(&path)
        .unwrap()
        .set_len(3 << 30)
        .unwrap();
    let error = SentencePiece::open(&path).unwrap_err();
    assert!(
        matches!(error.problem, ModelProblem::TooLarge(3_221_225_472)),
        "{error}"
    );
}

#[test]
fn a_file_that_is_not_a_protocol_buffer_is_refused() {
    let good = model(&[UNK, ("a", -1.0, NORMAL)], &[], &[]);
    for bytes in [
        &b"<html>404 not found</html>"[..],
        &good[..good.len() - 1],
        &[0xff; 20],
    ] {
        assert!(matches!(error(bytes), ModelProblem::Protobuf { .. }));
    }
    let not_text = [model(&[UNK], &[], &[]), piece(b"\xff", 0.0, NORMAL)].concat();
    let error = error(&not_text);
    assert!(error.to_string().contains("pieces"), "{error}");
}

#[test]
fn a_model_without_pieces_is_refused() {
    assert!(matches!(error(b""), ModelProblem::NoPieces));
}

#[test]
fn an_unknown_type_of_model_is_refused() {
    let bytes = model(&[UNK], &[model_type(7)], &[]);
    assert!(matches!(error(&bytes), ModelProblem::ModelType(7)));
}

#[test]
fn each_fault_of_a_piece_is_named_with_its_id() {
    let a = ("a", -1.0, NORMAL);
    let long = "a".repeat(8000);
    for (second, expected) in [
        (("", 0.0, NORMAL), PieceProblem::Empty),
        ((long.as_str(), 0.0, NORMAL), PieceProblem::TooLong),
        (("a\0", 0.0, NORMAL), PieceProblem::Nul),
        (("a", 0.0, UNUSED), PieceProblem::Duplicate(1)),
        (("b", 0.0, 9), PieceProblem::Type(9)),
        (("<u>", 0.0, UNKNOWN), PieceProblem::SecondUnknown(0)),
        (("<0x41>", 0.0, BYTE), PieceProblem::ByteWithoutFallback),
        (("b", f32::NAN, NORMAL), PieceProblem::Score),
    ] {
        assert_eq!(problem(&[UNK, a, second], &[]), (2, expected));
    }
    let bytes = [byte_fallback()];
    for text in ["<0x4a>", "<0x041>", "<0x+1>", "A"] {
        assert_eq!(
            problem(&[UNK, a, (text, 0.0, BYTE)], &bytes),
            (2, PieceProblem::ByteText)
        );
    }
    assert!(
        load(&model(
            &[UNK, a, ("b", f32::NAN, NORMAL)],
            &[model_type(BPE)],
            &[]
        ))
        .is_ok()
    );
}

#[test]
fn only_bpe_forbids_equal_texts_of_normal_and_reserved_pieces() {
    let pieces = [UNK, ("</s>", 0.0, CONTROL), ("</s>", -1.0, NORMAL)];
    assert!(load(&model(&pieces, &[], &[])).is_ok());
    let found = problem(&pieces, &[model_type(BPE)]);
    assert_eq!(found, (2, PieceProblem::Duplicate(1)));
}

#[test]
fn unknown_text_needs_a_piece_or_all_bytes() {
    let bytes = model(&[("a", 0.0, NORMAL)], &[], &[]);
    assert!(matches!(error(&bytes), ModelProblem::NoUnknown));
    let bytes = model(&[UNK, ("<0x00>", 0.0, BYTE)], &[byte_fallback()], &[]);
    let error = error(&bytes);
    assert!(matches!(error, ModelProblem::MissingByte(1)), "{error}");
    assert!(error.to_string().contains("<0x01>"), "{error}");
}

#[test]
fn a_damaged_charsmap_is_named_by_its_position() {
    let pieces = [UNK, ("a", -1.0, NORMAL)];
    let cut = bytes(2, &charsmap(b'a', "x")[..1000]);
    let error = error(&model(&pieces, &[], std::slice::from_ref(&cut)));
    let (spec, problem) = ("normalizer_spec", CharsmapProblem::Truncated);
    assert!(
        matches!(error, ModelProblem::Charsmap { spec: s, problem: p, .. } if s == spec && p == problem)
    );
    let bytes = [model(&pieces, &[], &[]), bytes(5, &cut)].concat();
    let error = self::error(&bytes);
    assert!(error.to_string().contains("denormalizer_spec"), "{error}");
}

#[test]
fn an_id_outside_the_vocabulary_is_an_error() {
    let model = load(&model(&[UNK, ("a", -1.0, NORMAL)], &[], &[])).unwrap();
    assert_eq!(model.decode(&[1, 2]), Err(UnknownId { id: 2, len: 2 }));
    assert_eq!(
        (model.piece(2), model.piece_type(2), model.score(2)),
        (None, None, None)
    );
    assert_eq!(model.model_type(), ModelType::Unigram);
}
