//! Trains a unigram model with the trainer of the `tokenizers` library, in a fixed order.

use serde_json::{Value, json};
use tokenizers::models::unigram::{Unigram, UnigramTrainer};

use super::caught::quietly;
use super::layout::fixed_tokens;
use super::settings::{FIXED_TOKENS, TokenizerSettings};
use super::words::Words;
use crate::error::{DataError, Result};
use crate::special;

/// The difference in score between characters that the library's pruning removed
/// (`min_score_penalty_delta`).
const PENALTY: f64 = 0.0001;

/// The model as JSON, and its number of tokens.
pub(super) fn model(words: Words, settings: &TokenizerSettings) -> Result<(Value, usize)> {
    let pieces = trained(words, settings)?;
    let fixed = fixed_tokens().into_iter().map(|token| (token, 0.0));
    let vocab: Vec<(String, f64)> = fixed.chain(pieces).collect();
    let size = vocab.len();
    Ok((
        json!({"type": "Unigram", "unk_id": special::UNK, "vocab": vocab, "byte_fallback": true}),
        size,
    ))
}

/// Trains on one thread, because the library adds floating-point numbers in the order in which its
/// threads finish. Catches its panics, which occur with some unusual texts.
fn trained(words: Words, settings: &TokenizerSettings) -> Result<Vec<(String, f64)>> {
    let counts = words.counts.into_iter();
    let sentences = counts.map(|(word, count)| (word, count.min(1 << 24) as u32)).collect();
    let trainer = UnigramTrainer::builder()
        .show_progress(false)
        .vocab_size((settings.vocab_size - FIXED_TOKENS) as u32)
        .max_piece_length(settings.max_piece_chars)
        .build()
        .map_err(DataError::training)?;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build();
    let run = || {
        let mut model = Unigram::default();
        trainer.do_train(sentences, &mut model).map(|_| model)
    };
    let trained = pool.map_err(DataError::training)?.install(|| quietly(run));
    let fails = |panic| DataError::training(format!("the unigram trainer fails: {panic}"));
    let model = trained.map_err(fails)?.map_err(DataError::training)?;
    Ok(ordered(model.iter().cloned().collect()))
}

/// Removes the order of a hash map from the library's result: the library scores the characters
/// that pruning removed in that order, and does not order equal scores.
fn ordered(mut pieces: Vec<(String, f64)>) -> Vec<(String, f64)> {
    let lowest = pieces.iter().map(|piece| piece.1).fold(f64::INFINITY, f64::min);
    let single = |piece: &(String, f64)| piece.0.chars().nth(1).is_none();
    let limit = lowest + PENALTY * pieces.iter().filter(|piece| single(piece)).count() as f64;
    let mut rare: Vec<&mut (String, f64)> =
        pieces.iter_mut().filter(|piece| single(piece) && piece.1 < limit).collect();
    rare.sort_by(|a, b| a.0.cmp(&b.0));
    for (rank, piece) in rare.into_iter().enumerate() {
        piece.1 = lowest + PENALTY * rank as f64;
    }
    pieces.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    pieces
}
