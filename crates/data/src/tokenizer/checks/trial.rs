//! Uses a tokeniser on texts chosen to provoke faults, one part at a time.

use tokenizers::Decoder;

use super::growth::{Check, refusal};
use crate::special;
use crate::tokenizer::caught::quietly;
use crate::tokenizer::pipeline;

/// Texts with everything that parts treat specially: the empty text, white space on both sides,
/// combining marks alone and composed, characters of all lengths and several scripts, characters
/// that become longer when normalised, control characters, a joined emoji, and a long word.
const TEXTS: [&str; 9] = [
    "a",
    "",
    " ",
    "\u{301}",
    "  A b\u{a0}\tc \n",
    "Étude e\u{301} ﷺ İ ß ﬁ",
    "12,5 % — l'été’s… \"x\" </s> <0x0A> ▁",
    "漢字かなカナ 한국어 العربية ру\u{0}\u{1b}\u{feff}\u{fffd} 👩‍👩‍👧",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
];

/// Normalises, splits, encodes and decodes each text, and decodes it as if it were a token.
///
/// # Errors
/// Returns an error that names the part that panics.
pub(in crate::tokenizer) fn trial(tokenizer: &tokenizers::Tokenizer) -> Check {
    for text in TEXTS {
        let mut words = survives("normalizer", text, || pipeline::normalize(tokenizer, text))?;
        survives("pre_tokenizer", text, || {
            pipeline::split(tokenizer, &mut words).is_ok()
        })?;
        let ids = survives("model", text, || pipeline::ids(tokenizer, words))?;
        let others = [special::PAD, special::UNK, u32::MAX];
        let ids: Vec<u32> = ids.into_iter().flatten().chain(others).collect();
        survives("decoder", text, || tokenizer.decode(&ids, false).is_ok())?;
        survives("decoder", text, || tokenizer.decode(&others, true).is_ok())?;
        if let Some(decoder) = tokenizer.get_decoder() {
            survives("decoder", text, || {
                decoder.decode(vec![text.to_owned()]).is_ok()
            })?;
        }
    }
    Ok(())
}

/// Runs `work`, which uses `part` on `text`.
///
/// # Errors
/// Returns an error if it panics.
pub(super) fn survives<T>(part: &str, text: &str, work: impl FnOnce() -> T) -> Check<T> {
    quietly(work).or_else(|panic| {
        let problem = format!("the tokenizers library fails on the text {text:?}: {panic}");
        refusal(part, format!("{problem}; change the settings of this part"))
    })
}
