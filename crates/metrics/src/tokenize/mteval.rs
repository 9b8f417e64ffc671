//! The tokenisers of mteval-v13a.pl, of mteval-v14.pl, which splits punctuation and symbols by
//! their Unicode category, and sacreBLEU's Chinese one (by Shujian Huang for WMT 2017), with every
//! Chinese character as a word.

use std::borrow::Cow;
use std::sync::LazyLock;

use crate::text::{Substitutions, is_space, squeeze};

/// The rules for Western languages, which 13a, zh and Tercom share.
pub(super) const WESTERN: [(&str, &str); 4] = [
    (r"[\{-\~\[-` -\&\(-\+:-@/]", " $0 "),
    ("([^0-9])([.,])", "$1 $2 "),
    ("([.,])([^0-9])", " $1 $2"),
    ("([0-9])-", "$1 - "),
];

static V13A: LazyLock<Substitutions> = LazyLock::new(|| Substitutions::new(&WESTERN));

/// Tokenises as `13a`: undoes entities and line ends, then splits by [`WESTERN`].
pub(crate) fn tokenize_13a(line: &str) -> String {
    let plain = line
        .replace("<skipped>", "")
        .replace("-\n", "")
        .replace('\n', " ");
    squeeze(&V13A.apply(&format!(" {} ", unescape(&plain))))
}

/// Undoes the four XML escapes in mteval's order, so that `&amp;lt;` becomes `<`.
pub(super) fn unescape(line: &str) -> Cow<'_, str> {
    if !line.contains('&') {
        return Cow::Borrowed(line);
    }
    let pairs = [
        ("&quot;", "\""),
        ("&amp;", "&"),
        ("&lt;", "<"),
        ("&gt;", ">"),
    ];
    let mut line = line.to_owned();
    for (from, to) in pairs {
        line = line.replace(from, to);
    }
    Cow::Owned(line)
}

static INTERNATIONAL: LazyLock<Substitutions> = LazyLock::new(|| {
    Substitutions::new(&[
        (r"(\P{N})(\p{P})", "$1 $2 "),
        (r"(\p{P})(\P{N})", " $1 $2"),
        (r"\p{S}", " $0 "),
    ])
});

/// Splits off every symbol, and punctuation except between numbers. A period after a number at the
/// end of a line is not split off, as in mteval-v14.pl.
pub(crate) fn tokenize_international(line: &str) -> String {
    squeeze(&INTERNATIONAL.apply(line))
}

/// The characters that count as Chinese, full-width punctuation and symbols included.
///
/// sacreBLEU writes Extension B as '\u20000' to '\u2a6d6', which Python reads as four hexadecimal
/// digits and one more character. Its scores come from this range (the last one), so this pattern
/// has it too; 𠀀 itself is not in it. The Compatibility Supplement, written in the same way, is
/// within U+2F00 to U+2FDF.
const CHARACTERS: &str = "[\u{3400}-\u{4db5}\u{4e00}-\u{9fbb}\u{f900}-\u{fa2d}\u{fa30}-\u{fa6a}\
    \u{fa70}-\u{fad9}\u{ff00}-\u{ffef}\u{2e80}-\u{2eff}\u{3000}-\u{303f}\u{31c0}-\u{31ef}\
    \u{2f00}-\u{2fdf}\u{2ff0}-\u{2fff}\u{3100}-\u{312f}\u{31a0}-\u{31bf}\u{fe10}-\u{fe1f}\
    \u{fe30}-\u{fe4f}\u{2600}-\u{27bf}\u{3200}-\u{33ff}\u{2001}-\u{2a6d}]";

static CHINESE: LazyLock<Substitutions> =
    LazyLock::new(|| Substitutions::new(&[&[(CHARACTERS, " $0 ")], &WESTERN[..]].concat()));

pub(crate) fn tokenize_chinese(line: &str) -> String {
    squeeze(&CHINESE.apply(line.trim_matches(is_space)))
}

#[cfg(test)]
mod tests {
    use super::*;

    // Expected words: sacrebleu 2.6.0, Tokenizer13a.
    #[test]
    fn words_match_mteval() {
        for (line, words) in [
            ("Hello, world!", "Hello , world !"),
            ("It's 3.5% of $1,000.", "It's 3.5 % of $ 1,000 ."),
            (
                "a 1990-2000 well-known &quot;x&quot; &amp;lt;",
                "a 1990 - 2000 well-known \" x \" <",
            ),
            ("...wait,,, what", ". . . wait , , , what"),
            ("„Käse“, öl.", "„Käse“ , öl ."),
            ("end 5.", "end 5 ."),
        ] {
            assert_eq!(tokenize_13a(line), words, "{line}");
        }
    }

    // Expected words: sacrebleu 2.6.0, TokenizerV14International.
    #[test]
    fn international_words_match_mteval() {
        for (line, words) in [
            ("„Käse“, öl.", "„ Käse “ , öl ."),
            ("It's 3,5 € + 1.000", "It ' s 3,5 € + 1.000"),
            ("end 5.", "end 5."),
            ("中文。完", "中文 。 完"),
        ] {
            assert_eq!(tokenize_international(line), words, "{line}");
        }
    }

    // Expected words: sacrebleu 2.6.0, TokenizerZh.
    #[test]
    fn chinese_words_match_sacrebleu() {
        for (line, words) in [
            ("我爱Rust语言。", "我 爱 Rust 语 言 。"),
            (
                " 价格是3.5元，well-known! ",
                "价 格 是 3.5 元 ， well-known !",
            ),
            ("“引号”𠀀", "“ 引 号 ” 𠀀"),
        ] {
            assert_eq!(tokenize_chinese(line), words, "{line}");
        }
    }
}
