//! The tokeniser of mteval-v13a.pl.

use std::borrow::Cow;
use std::sync::LazyLock;

use crate::text::{Substitutions, squeeze};

/// The rules for Western languages, which 13a, zh and Tercom share.
pub(super) const WESTERN: [(&str, &str); 4] = [
    (r"[\{-\~\[-` -\&\(-\+:-@/]", " $0 "),
    ("([^0-9])([.,])", "$1 $2 "),
    ("([.,])([^0-9])", " $1 $2"),
    ("([0-9])-", "$1 - "),
];

static RULES: LazyLock<Substitutions> = LazyLock::new(|| Substitutions::new(&WESTERN));

/// Tokenises as `13a`: undoes entities and line ends, then splits by [`WESTERN`].
pub(crate) fn tokenize_13a(line: &str) -> String {
    let plain = line.replace("<skipped>", "").replace("-\n", "").replace('\n', " ");
    squeeze(&RULES.apply(&format!(" {} ", unescape(&plain))))
}

/// Undoes the four XML escapes in mteval's order, so that `&amp;lt;` becomes `<`.
pub(super) fn unescape(line: &str) -> Cow<'_, str> {
    if !line.contains('&') {
        return Cow::Borrowed(line);
    }
    let pairs = [("&quot;", "\""), ("&amp;", "&"), ("&lt;", "<"), ("&gt;", ">")];
    Cow::Owned(pairs.iter().fold(line.to_owned(), |line, (from, to)| line.replace(from, to)))
}

#[cfg(test)]
mod tests {
    use super::*;

    // Expected words: sacrebleu 2.6.0, Tokenizer13a.
    #[test]
    fn words_are_mtevals() {
        for (line, words) in [
            ("Hello, world!", "Hello , world !"),
            ("It's 3.5% of $1,000.", "It's 3.5 % of $ 1,000 ."),
            ("a 1990-2000 well-known &quot;x&quot; &amp;lt;", "a 1990 - 2000 well-known \" x \" <"),
            ("...wait,,, what", ". . . wait , , , what"),
            ("„Käse“, öl.", "„Käse“ , öl ."),
            ("end 5.", "end 5 ."),
        ] {
            assert_eq!(tokenize_13a(line), words, "{line}");
        }
    }
}
