//! The writing system of a text, which decides the metric that fits it.

use burnformer_text::visible;
use derive_more::Display;

use crate::{Bleu, BleuTokenizer, Chrf, Metric, text};

/// The writing system of a text. BLEU counts words, and therefore needs their boundaries.
#[derive(Debug, Clone, Copy, Display, PartialEq, Eq)]
pub enum WritingSystem {
    /// Words with spaces between them.
    #[display("words with spaces between them")]
    Spaced,
    /// Chinese characters without spaces.
    #[display("Chinese characters")]
    Chinese,
    /// Korean. Its spaces separate phrases: a word and its particles.
    #[display("Korean")]
    Korean,
    /// Another script without spaces: Japanese, Thai, Lao, Khmer, Burmese, Tibetan and others.
    #[display("a script without spaces between words")]
    Unspaced,
}

impl WritingSystem {
    /// Detects the writing system of `lines` by their letters. A text counts as spaced if less than
    /// a fifth of its letters belong to scripts without spaces, or if its words are separated by
    /// spaces although their script has none.
    pub fn of<S: AsRef<str>>(lines: &[S]) -> Self {
        let mut letters = Letters::default();
        lines.iter().for_each(|line| letters.add(line.as_ref()));
        letters.system()
    }

    /// Returns BLEU with the tokeniser for this writing system: `zh` for Chinese, `char` for other
    /// scripts without spaces, and otherwise `13a`.
    pub fn bleu(self) -> Bleu {
        let tokenizer = match self {
            Self::Spaced | Self::Korean => BleuTokenizer::V13a,
            Self::Chinese => BleuTokenizer::Chinese,
            Self::Unspaced => BleuTokenizer::Char,
        };
        Bleu {
            tokenizer,
            ..Bleu::default()
        }
    }

    /// Returns whether BLEU fits, because it finds the words of the language (or, in Chinese, its
    /// characters). Otherwise chrF fits, which needs no words.
    pub fn fits_bleu(self) -> bool {
        matches!(self, Self::Spaced | Self::Chinese)
    }

    /// Returns the metric that fits this writing system.
    pub fn metric(self) -> Box<dyn Metric> {
        if self.fits_bleu() {
            Box::new(self.bleu())
        } else {
            Box::new(Chrf::default())
        }
    }

    /// Returns the metric that fits single sentences. BLEU then leaves out n-gram orders longer
    /// than the sentence.
    pub fn sentence_metric(self) -> Box<dyn Metric> {
        if !self.fits_bleu() {
            return self.metric();
        }
        Box::new(Bleu {
            effective_order: true,
            ..self.bleu()
        })
    }
}

/// The scripts that are distinguished.
#[derive(Clone, Copy)]
enum Script {
    Han,
    Hangul,
    /// A script without spaces.
    Other,
}

/// Returns the script of `c`; `None` for scripts with spaces, and for characters that are not
/// letters.
fn script(c: char) -> Option<Script> {
    Some(match u32::from(c) {
        0x2E80..=0x2FDF | 0x3005..=0x3007 | 0x3021..=0x3029 | 0x3400..=0x4DBF => Script::Han,
        0x4E00..=0x9FFF | 0xF900..=0xFAFF | 0x20000..=0x3FFFF => Script::Han,
        0x1100..=0x11FF | 0x3131..=0x318E | 0xA960..=0xA97F | 0xAC00..=0xD7FF => Script::Hangul,
        0x3041..=0x312F | 0x31A0..=0x31BF | 0x31F0..=0x31FF | 0xFF66..=0xFF9F => Script::Other, // kana
        0x0E00..=0x0FFF | 0x1000..=0x109F | 0x1780..=0x17FF => Script::Other, // Thai to Khmer
        0x1950..=0x19FF | 0x1A20..=0x1AAF | 0x1B00..=0x1B7F => Script::Other, // Tai, Balinese
        0xA000..=0xA4CF | 0xA980..=0xA9FF | 0xAA60..=0xAADF => Script::Other, // Yi, Javanese
        _ => return None,
    })
}

/// Counts of the letters of a text.
#[derive(Default)]
struct Letters {
    all: usize,
    /// The number of letters of each [`Script`].
    of: [usize; 3],
    /// The number of pairs of neighbouring letters of scripts without spaces, and how many of them
    /// are separated by a space.
    neighbours: usize,
    spaced: usize,
}

impl Letters {
    fn add(&mut self, line: &str) {
        let mut is_next = false;
        let mut has_space = false;
        for c in visible(line).chars() {
            if text::is_space(c) {
                has_space = true;
                continue;
            }
            let script = script(c);
            self.all += usize::from(script.is_some() || c.is_alphabetic());
            if let Some(script) = script {
                self.of[script as usize] += 1;
            }
            let is_unspaced = matches!(script, Some(Script::Han | Script::Other));
            self.neighbours += usize::from(is_next && is_unspaced);
            self.spaced += usize::from(is_next && is_unspaced && has_space);
            is_next = is_unspaced;
            has_space = false;
        }
    }

    fn system(&self) -> WritingSystem {
        let [han, hangul, other] = self.of;
        let unspaced = han + other;
        // A Han character or a syllable of Hangul counts as two letters.
        let others = 2 * (han + hangul) + other;
        if 4 * others < (self.all - unspaced - hangul).max(1) {
            WritingSystem::Spaced
        } else if hangul > unspaced {
            WritingSystem::Korean
        } else if 7 * self.spaced > self.neighbours + 7 {
            // Words of these scripts have about two to four letters, the parts of a sentence many
            // more. One space is no evidence.
            WritingSystem::Spaced
        } else if 10 * other < unspaced {
            WritingSystem::Chinese
        } else {
            WritingSystem::Unspaced
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_determine_the_writing_system() {
        for (system, lines) in [
            (
                WritingSystem::Spaced,
                &[
                    "",
                    "12 %",
                    "Größe",
                    "Слова",
                    "كلمات كثيرة",
                    "यह एक वाक्य है।",
                    "từ ngữ",
                    "მე ვარ",
                    "ሰላም ለዓለም",
                    "我 喜欢 红色 的 苹果 。",
                    "ฉัน ชอบ กิน ข้าว",
                    "Der Name 北京 heißt nördliche Hauptstadt.",
                ][..],
            ),
            (
                WritingSystem::Chinese,
                &[
                    "我喜欢红色的苹果。",
                    "請輸入有效的 IPv4 位址。",
                    "確定要刪除嗎？",
                    "管理",
                    "删除所选的 %(name)s",
                ],
            ),
            (
                WritingSystem::Korean,
                &[
                    "오늘 나는 TV를 본다.",
                    "大韓民國 사람입니다",
                    "%(count)d개의 %(items)s을/를 지웠습니다.",
                ],
            ),
            (
                WritingSystem::Unspaced,
                &[
                    "私は赤いリンゴが好きです。",
                    "よろしいですか？",
                    "ｶﾀｶﾅ",
                    "ฉันชอบกินข้าว แล้วไปนอน",
                    "ຂ້ອຍມັກກິນເຂົ້າ",
                    "ខ្ញុំចូលចិត្តញ៉ាំបាយ",
                    "ကျွန်တော်ထမင်းစားတယ်",
                    "ང་ལ་ཁ་ལག་ཟ་རྒྱུ་དགའ།",
                    "你好 こんにちは",
                ],
            ),
        ] {
            for line in lines {
                assert_eq!(WritingSystem::of(&[line]), system, "{line}");
            }
        }
        // A few names in another script do not change the result.
        let mut text = vec!["Das ist ein gewöhnlicher Satz."; 50];
        text.extend(["北京", "東京", "서울"]);
        assert_eq!(WritingSystem::of(&text), WritingSystem::Spaced);
        let mut text = vec!["这是一个普通的句子。"; 50];
        text.extend(["Copyright", "の", "서울"]);
        assert_eq!(WritingSystem::of(&text), WritingSystem::Chinese);
    }
}
