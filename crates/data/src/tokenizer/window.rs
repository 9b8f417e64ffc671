//! The last tokens of a text, as many as decide where the next word begins.

/// Tokens before the last one that belong to its character, if a token is a part of one.
const PARTS: usize = 4;
/// Largest number of tokens. Only parts of characters that are never completed are so many.
const MAX_TOKENS: usize = 64;

/// The last tokens of a text. Decoding the whole text after each token would take its square.
#[derive(Default)]
pub(super) struct Window {
    ids: Vec<u32>,
    /// The text of the tokens.
    pub text: String,
    /// The number of words before the text that are not in it.
    pub words_before: usize,
}

impl Window {
    /// Adds a token, and removes the tokens before its characters. `decode` gives the text of
    /// tokens.
    pub fn push(&mut self, id: u32, decode: impl Fn(&[u32]) -> String) {
        self.ids.push(id);
        let text = decode(&self.ids);
        if text == self.text {
            // A special token, or white space at the start.
            self.ids.pop();
            return;
        }
        self.text = text;
        let tokens = self.ids.len();
        for parts in 1..tokens.min(PARTS + 1) {
            let end = decode(&self.ids[tokens - parts..]);
            let is_whole = !end.contains(char::REPLACEMENT_CHARACTER)
                && (!end.is_empty() || self.is_between_words());
            if is_whole || tokens > MAX_TOKENS {
                let begun = self.words_before + words_in(&self.text);
                self.words_before = begun.saturating_sub(words_in(&end));
                self.ids.drain(..tokens - parts);
                self.text = end;
                break;
            }
        }
    }

    /// Returns whether the next token begins a word.
    pub fn is_between_words(&self) -> bool {
        self.text.is_empty() || self.text.ends_with(char::is_whitespace)
    }
}

/// Returns the number of words in `text`, separated by white space.
pub(super) fn words_in(text: &str) -> usize {
    text.split_whitespace().count()
}
