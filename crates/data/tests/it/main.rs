//! Corpora, tokenisers and batches as other crates use them.

mod batches;
mod context;
mod corpus;
mod errors;
mod hostile_tokenizers;
mod languages;
mod marian_tokenizer;
mod prepare;
mod sentencepiece;
mod shared_data;
mod tokenizer;

/// The unigram model over the pieces of `model`, by byte-pair encoding: longer pieces are likelier.
fn unigram_of(model: &serde_json::Value) -> serde_json::Value {
    let mut pieces: Vec<(&String, u64)> = model["vocab"]
        .as_object()
        .unwrap()
        .iter()
        .map(|(piece, id)| (piece, id.as_u64().unwrap()))
        .collect();
    pieces.sort_by_key(|(_, id)| *id);
    let vocab: Vec<(&String, f64)> = pieces
        .into_iter()
        .map(|(piece, id)| {
            (
                piece,
                if id < 260 {
                    0.0
                } else {
                    -20.0 / piece.chars().count() as f64
                },
            )
        })
        .collect();
    serde_json::json!({"type": "Unigram", "unk_id": 3, "vocab": vocab, "byte_fallback": true})
}
