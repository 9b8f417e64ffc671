//! Whole programs with layers of this crate do what they say.

use crate::{hear_words, language_model, own_model};

#[test]
fn a_transformer_learns_to_transcribe() {
    hear_words::main().unwrap();
}

#[test]
fn a_custom_model_learns_with_this_crates_attention() {
    own_model::main().unwrap();
}

/// Ten minutes make less than 3.5 of it; all tokens equally likely are ln 4000 = 8.3.
#[test]
fn the_language_model_learns_with_an_optimiser_of_burn() {
    let nats = language_model::train(60, std::time::Duration::MAX).unwrap();
    assert!(nats < 6.3, "{nats} nats per token after 60 updates");
}
