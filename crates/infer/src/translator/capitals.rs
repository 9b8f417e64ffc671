//! Sources all in capitals, which a model seldom learned from: they are translated in small letters
//! as well.

use rayon::prelude::*;

use super::load::Translator;
use super::options::{LongSources, TranslateOptions};
use super::results::Results;
use crate::calibration::probability;
use crate::quality_warning::repeats;
use crate::search::Request;

impl Translator {
    /// Returns the number of searches for a translation of `source`. Further searches are made for
    /// the two forms of a source in capitals, and to keep numbers and placeholders.
    pub fn searches(&self, source: &str, options: &TranslateOptions) -> usize {
        let visible = burnformer_text::visible(source);
        let forms = if options.search.small_letters && is_in_capitals(&visible) {
            3
        } else {
            1
        };
        forms + self.searches_for_parts(source, options) + Self::searches_for_texts(options)
    }

    /// For each request whose source is all in capitals, its index with the source in small
    /// letters, and again with a first capital, if `options` ask for them. Requests with a prefix
    /// or terms are left out, since those must not be written in capitals.
    pub(super) fn in_small_letters(
        &self,
        requests: &[Request],
        options: &TranslateOptions,
    ) -> Vec<(usize, Request)> {
        if !options.search.small_letters {
            return Vec::new();
        }
        let small = |(index, request): (usize, &Request)| {
            let is_free = request.prefix.is_empty() && request.terms.is_empty();
            let is_free = is_free && !request.text.contains(is_small);
            let text = is_free.then(|| self.source_text(request, 0))?;
            let small = |text: String| {
                let source = self.tokenizers.source.encode(&text);
                (
                    index,
                    Request {
                        source,
                        text,
                        ..request.clone()
                    },
                )
            };
            is_in_capitals(&text).then(|| forms(&text).map(small))
        };
        requests
            .par_iter()
            .enumerate()
            .filter_map(small)
            .flatten_iter()
            .collect()
    }
}

impl Results<'_> {
    /// Searches for the `small` requests, and takes their hypotheses if they are more probable than
    /// those of the original request. If the search fails, nothing changes.
    pub(super) fn try_small_letters(&mut self, small: &[(usize, Request)]) {
        let options = self.options;
        let small = small
            .iter()
            .filter(|(index, _)| *index < self.all.len())
            .cloned();
        let (indices, mut forms): (Vec<usize>, Vec<Request>) = small.unzip();
        let truncated = TranslateOptions {
            long_sources: LongSources::Truncate,
            ..options.clone()
        };
        self.translator.prepare(&mut forms, &truncated);
        let found = self.again(&forms, &options.search).all;
        for ((index, form), mut found) in indices.into_iter().zip(&forms).zip(found) {
            let [small, given] = [&found[0], &self.all[index][0]];
            let is_loop = repeats(&small.tokens) && !repeats(&form.source);
            if probability(small) > probability(given) && !is_loop {
                found
                    .iter_mut()
                    .for_each(|hypothesis| hypothesis.is_uppercased = true);
                self.all[index] = found;
            }
        }
        self.score_uppercased();
    }

    /// Gives the uppercased hypotheses the scores of their texts in capitals.
    fn score_uppercased(&mut self) {
        let Self {
            translator,
            requests,
            options,
            ..
        } = *self;
        let pairs = requests.iter().zip(&mut self.all);
        let uppercased = pairs.flat_map(|(request, found)| {
            found
                .iter_mut()
                .map(move |hypothesis| (request, hypothesis))
        });
        let uppercased: Vec<_> = uppercased
            .filter(|(_, hypothesis)| hypothesis.is_uppercased)
            .collect();
        let sources: Vec<_> = uppercased
            .iter()
            .map(|(request, _)| request.source.clone())
            .collect();
        let texts: Vec<_> = uppercased
            .iter()
            .map(|(_, hypothesis)| translator.text_of(hypothesis))
            .collect();
        let targets = translator.tokenizers.target.encode_batch(&texts);
        let (scores, _) = translator.score_ids_until_error(&sources, &targets, options);
        for ((_, hypothesis), score) in uppercased.into_iter().zip(scores) {
            hypothesis.score = score.score;
        }
    }
}

/// Beside numbers, a capital word needs at least this many letters to count as a word; acronyms
/// have fewer.
const WORD: usize = 6;

/// Returns whether `text` is all in capitals: it has capital words and no small letter but ß, which
/// has no capital, and letters of scripts without case are few beside the words. One short word
/// beside a number is an acronym or a unit (`5 GB`).
pub(super) fn is_in_capitals(text: &str) -> bool {
    // Cherokee is commonly written in its capitals alone.
    let is_capital = |c: &char| {
        c.is_uppercase() && !c.to_lowercase().eq([*c]) && !matches!(c, '\u{13A0}'..='\u{13F5}')
    };
    if text.contains(is_small) {
        return false;
    }
    let is_caseless = |c: &char| c.is_alphabetic() && !is_capital(c) && !c.is_lowercase();
    let caseless = text.chars().filter(is_caseless).count();
    let words = text.split(|c: char| !c.is_alphanumeric());
    let lengths = words.filter(|word| !word.contains(char::is_numeric));
    let lengths = lengths.map(|word| word.chars().filter(is_capital).count());
    let lengths: Vec<usize> = lengths.filter(|&capitals| capitals > 1).collect();
    let has_words = match text.contains(char::is_numeric) {
        true => lengths.len() > 1 || lengths.iter().any(|&length| length >= WORD),
        false => !lengths.is_empty(),
    };
    has_words && lengths.len() > 2 * caseless
}

/// Returns whether `c` is a small letter that has a capital.
pub(super) fn is_small(c: char) -> bool {
    c.is_lowercase() && c != 'ß' && !c.to_uppercase().eq([c])
}

/// `text` in small letters. Letters whose small form has another number of bytes stay capital, so
/// that all offsets stay valid.
pub(super) fn small_in_place(text: &str) -> String {
    let small = |letter: char| {
        let mut small = letter.to_lowercase();
        let first = small
            .next()
            .filter(|first| first.len_utf8() == letter.len_utf8());
        first.filter(|_| small.next().is_none()).unwrap_or(letter)
    };
    text.chars().map(small).collect()
}

/// `text`, which is all in capitals, in small letters, and in small letters with a first capital.
fn forms(text: &str) -> [String; 2] {
    let small = text.to_lowercase();
    let first = small.find(char::is_alphabetic).unwrap_or(0);
    let (before, rest) = small.split_at(first);
    let (letter, rest) = rest.split_at(rest.chars().next().map_or(0, char::len_utf8));
    let sentence = [before, &letter.to_uppercase(), rest].concat();
    [small, sentence]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_text_all_in_capitals_has_other_forms() {
        let capitals = "7 WO? ÄRGER!|DIE STRAßE|DER HUND 東 IST GUT|HILFE!|À L'AIDE !|ЧТО ЭТО?|ΠΟΥ ΕΙΝΑΙ;|\
            PISO 3º DERECHA|KAPITEL 3|2 HUNDE UND 3 KATZEN|İSTANBUL'DA|E-MAIL-ADRESSE|DON’T PANIC";
        for text in capitals.split('|') {
            assert!(is_in_capitals(text), "{text}");
        }
        let others = "|7|I|A 7|Wo|ÄRGEr|東京|ß|5 GB|NATO 2024|COVID-19|U2|MP3|ISO 9001|H2O|B2B 24/7|Ⅷ Ⅸ|𝐀𝐁 𝐂𝐃|\
            ᎣᏏᏲ ᏙᎯᏧ|მე მიყვარს NATO|A4 80 g/m²";
        for text in others.split('|') {
            assert!(!is_in_capitals(text), "{text}");
        }
        assert_eq!(forms("7 WO? ÄRGER!"), ["7 wo? ärger!", "7 Wo? ärger!"]);
    }

    #[test]
    fn an_acronym_in_a_script_without_case_is_no_text_in_capitals() {
        let sentences = [
            "오늘 나는 {} 본다.",
            "我在{}工作。",
            "私は{}を見る。",
            "أشاهد {} الآن.",
            "मैं {} देखता हूँ।",
            "ฉันดู{}",
            "אני רואה {} היום",
            "আমি {} দেখি।",
            "நான் {} பார்க்கிறேன்.",
            "ես տեսնում եմ {}",
            "მე ვხედავ {}",
            "ខ្ញុំមើល {}",
            "ຂ້ອຍເບິ່ງ {}",
            "ငါ {} ကြည့်တယ်",
            "አሁን {} አያለሁ",
        ];
        let acronyms = [
            "TV",
            "NASA",
            "USB-C",
            "BMW X5",
            "HTML CSS",
            "UNESCO 2024",
            "A/B",
            "ÖBB, SBB",
        ];
        for (sentence, acronym) in sentences.iter().flat_map(|s| acronyms.map(|a| (s, a))) {
            let text = sentence.replace("{}", acronym);
            assert!(!is_in_capitals(&text), "{text}");
        }
    }

    #[test]
    fn small_letters_stay_in_their_places() {
        assert_eq!(small_in_place("GRÜN, İẞ!"), "grün, İẞ!");
    }
}
