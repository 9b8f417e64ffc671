//! The Chinese tokeniser of sacreBLEU (by Shujian Huang for WMT 2017): every Chinese character is a
//! word.

use std::sync::LazyLock;

use super::mteval::WESTERN;
use crate::text::{Substitutions, is_space, squeeze};

/// The characters that count as Chinese, full-width punctuation and symbols included.
///
/// sacreBLEU writes Extension B as '\u20000' to '\u2a6d6', which Python reads as four hexadecimal
/// digits and one more character. Its scores come from this range (the last one), so this pattern
/// has it too; 𠀀 itself is not in it. The Compatibility Supplement, written in the same way, is
/// within U+2F00 to U+2FDF.
const CHINESE: &str = "[\u{3400}-\u{4db5}\u{4e00}-\u{9fbb}\u{f900}-\u{fa2d}\u{fa30}-\u{fa6a}\
    \u{fa70}-\u{fad9}\u{ff00}-\u{ffef}\u{2e80}-\u{2eff}\u{3000}-\u{303f}\u{31c0}-\u{31ef}\
    \u{2f00}-\u{2fdf}\u{2ff0}-\u{2fff}\u{3100}-\u{312f}\u{31a0}-\u{31bf}\u{fe10}-\u{fe1f}\
    \u{fe30}-\u{fe4f}\u{2600}-\u{27bf}\u{3200}-\u{33ff}\u{2001}-\u{2a6d}]";

static RULES: LazyLock<Substitutions> =
    LazyLock::new(|| Substitutions::new(&[&[(CHINESE, " $0 ")], &WESTERN[..]].concat()));

pub(crate) fn tokenize(line: &str) -> String {
    squeeze(&RULES.apply(line.trim_matches(is_space)))
}

#[cfg(test)]
mod tests {
    use super::*;

    // Expected words: sacrebleu 2.6.0, TokenizerZh.
    #[test]
    fn words_are_sacrebleus() {
        for (line, words) in [
            ("我爱Rust语言。", "我 爱 Rust 语 言 。"),
            (" 价格是3.5元，well-known! ", "价 格 是 3.5 元 ， well-known !"),
            ("“引号”𠀀", "“ 引 号 ” 𠀀"),
        ] {
            assert_eq!(tokenize(line), words, "{line}");
        }
    }
}
