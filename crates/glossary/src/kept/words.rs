//! Words that stand for numbers or belong to them, in the languages that most models know.

use crate::words::{floor, is_unspaced};

/// The beginnings of the words for 1 to 12, of cardinal and ordinal numbers. Those of up to three
/// letters of ASCII, and those with a `$`, are whole words.
const NUMBERS: [&str; 12] = [
    "ein eine einen einem einer eines erst one a an once first un une uno una premier primer primo перв один одна одно واحد أول एक पहल 一 하나 한 첫 หนึ่ง",
    "zwei zwo beid zwan two twice second both twen deux dos segund dva два две двух втор اثن ثان दो दूसर 二 两 兩 두 둘 สอง",
    "drei dritt dreiß three third thirt trois tres tercer три трёх трет ثلاث ثالث तीन तीसर 三 세 셋 สาม",
    "vier four forty quatr cuatr cuart четыр четв أربع رابع चार चौथ 四 네 넷 สี่",
    "fünf five fift cinq cinc quint пят خمس خامس पाँच पांच 五 다섯 ห้า",
    "sechs sech six sixt seis sext шест ست سادس छह छठ 六 여섯 หก",
    "sieb seven sept$ septi siete сем седьм سبع سابع सात 七 일곱 เจ็ด",
    "acht eight huit ocho octav восем восьм ثمان ثامن आठ 八 여덟 แปด",
    "neun nine nint neuf nueve noven девят تسع تاسع नौ 九 아홉 เก้า",
    "zehn ten tenth dix dixi diez décim десят عشر दस 十 열 สิบ hundert hundred tausend thousand cent$ cents mil mille$ тысяч",
    "elf elft eleven onze once undéc одиннад ग्यारह 十一 열한 สิบเอ็ด",
    "zwölf twel douz doce двенад बारह 十二 열두 สิบสอง",
];

/// The beginnings of words after a number that multiply it, with the power of ten: the longest that
/// fits counts. A second power is that of the languages with long scales. Those of up to five
/// letters of ASCII are whole words.
const SCALES: &str = "thousand 3 tausend 3 mille 3 mil 3 tsd 3 тыс 3 ألف 3 हज़ार 3 千 3 천 3 พัน 3 \
    million 6 milion 6 miljoon 6 miljon 6 milyon 6 millón 6 millon 6 milhõ 6 mio 6 mln 6 милли 6 млн 6 مليون 6 ล้าน 6 \
    milliard 9 miliard 9 miljard 9 milyar 9 mrd 9 bn 9 миллиард 9 млрд 9 مليار 9 billion 9,12 trillion 12,18 \
    万 4 萬 4 만 4 亿 8 億 8 억 8 लाख 5 करोड़ 7 แสน 5 หมื่น 4";

const PERCENT: &str = "prozent|percent|per cent|pour cent|por ciento|per cento|procent|процент|प्रतिशत|เปอร์เซ็นต์|パーセント|퍼센트|بالمئة|百分之";
const MINUS: &str = "minus moins menos meno минус マイナス 负 ناقص ऋण ลบ";
/// The beginnings of what stands after a time of day, without spaces and full stops; after noon
/// first.
const CLOCKS: [&str; 9] =
    ["pm", "uhrnachm", "uhrabends", "uhrmittags", "am", "uhr", "h", "o'clock", "oclock"];
const AFTER_NOON: usize = 4;

/// The powers of ten by which the word at the beginning of `after` multiplies a number.
pub(super) fn scales(after: &str) -> Vec<usize> {
    let word = first_word(after.trim_start_matches([' ', '\u{a0}', '\u{202f}', '-']));
    let (mut entries, mut best) = (SCALES.split_whitespace(), ("", ""));
    while let (Some(stem), Some(powers)) = (entries.next(), entries.next()) {
        if begins(&word, stem, 5) && stem.len() > best.0.len() {
            best = (stem, powers);
        }
    }
    best.1.split(',').filter_map(|power| power.parse().ok()).collect()
}

/// The numbers from 1 to 12 for which a text has words.
#[derive(Default)]
pub(super) struct Spelled {
    small: [bool; 12],
    /// Like `small`, with the words with which those of larger numbers begin: for 20 or 200 it is
    /// 2.
    first: [bool; 12],
}

impl Spelled {
    pub(super) fn new(text: &str) -> Self {
        let (lower, mut all) = (text.to_lowercase(), Self::default());
        let words = lower.split(|c: char| !c.is_alphabetic() && !is_mark(c));
        let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
        let is_ten =
            |word: &str| ["zig", "ßig", "ty", "teen"].iter().any(|end| word.ends_with(end));
        for (row, stems) in NUMBERS.iter().enumerate() {
            for stem in stems.split(' ') {
                let is_inside = stem.starts_with(is_unspaced) && lower.contains(stem);
                let mut small = is_inside;
                for word in words.iter().filter(|word| begins(word, stem, 3)) {
                    all.first[row] = true;
                    small |= row > 8 || !is_ten(word);
                }
                all.first[row] |= is_inside;
                all.small[row] |= small;
            }
        }
        all
    }

    /// Returns whether a word stands for the whole number `value`, or, with `large`, begins as its
    /// words do if it is above 12.
    pub(super) fn has(&self, value: &str, large: bool) -> bool {
        let row = |digits: &str| digits.parse().ok().filter(|row: &usize| (1..=12).contains(row));
        let first = [2, 1].iter().find_map(|&length| value.get(..length).and_then(row));
        match (row(value), first) {
            (Some(row), _) => self.small[row - 1],
            (None, Some(row)) => large && self.first[row - 1],
            (None, None) => false,
        }
    }
}

/// Returns whether `text` has a sign or a word for percent.
pub(super) fn has_percent(text: &str) -> bool {
    text.contains(['%', '％', '٪', '‰'])
        || PERCENT.split('|').any(|word| text.to_lowercase().contains(word))
}

/// Returns whether `before`, which ends where a number begins, ends with a minus.
pub(super) fn is_minus(before: &str) -> bool {
    let rest = before.trim_end_matches(['-', '−', '－']);
    match before[rest.len()..].chars().count() {
        0 => {
            let near = floor(rest, rest.len().saturating_sub(24));
            let rest = rest[near..].trim_end().to_lowercase();
            MINUS.split(' ').any(|word| rest.ends_with(word))
        }
        1 => rest.chars().next_back().is_none_or(|c| c.is_whitespace() || "([{\"„“«‚'".contains(c)),
        _ => false,
    }
}

/// Returns whether a time of day stands before `after`.
pub(super) fn is_clock(after: &str) -> bool {
    clock(after).is_some()
}

/// Returns whether a time after noon, on a clock of twelve hours, stands before `after`.
pub(super) fn is_afternoon(after: &str) -> bool {
    clock(after).is_some_and(|index| index < AFTER_NOON)
}

fn clock(after: &str) -> Option<usize> {
    let near = after.chars().take(16).filter(|c| !matches!(c, ' ' | '.' | '\u{a0}' | '\u{202f}'));
    let near: String = near.flat_map(char::to_lowercase).collect();
    CLOCKS.iter().position(|&word| begins(&near, word, 0))
}

fn first_word(text: &str) -> String {
    let word = text.chars().take_while(|&c| c.is_alphabetic() || is_mark(c));
    word.flat_map(char::to_lowercase).collect()
}

fn is_mark(c: char) -> bool {
    unicode_normalization::char::is_combining_mark(c)
}

/// Returns whether `word` is `stem`, or begins with it if it has more than `short` letters or is
/// not of ASCII.
fn begins(word: &str, stem: &str, short: usize) -> bool {
    word == stem.trim_end_matches('$')
        || (stem.len() > short || !stem.is_ascii()) && word.starts_with(stem)
}
