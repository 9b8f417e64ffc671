//! Sources all in capitals, which are rare in training texts, are also translated in small letters.

use std::collections::HashSet;

use burnformer_text::{Part, PartKind, blank, may_have_parts, parts};
use rayon::prelude::*;

use super::load::Translator;
use super::options::{LongSources, TranslateOptions};
use super::request::TextRequest;
use super::results::Results;
use crate::calibration::probability;
use crate::quality_warning::repeats;
use crate::search::Request;

impl Translator {
    /// Returns the largest number of searches for a translation of `source`, with the two forms of a
    /// source in capitals and the searches that keep numbers and placeholders.
    pub fn searches(&self, source: &str, options: &TranslateOptions) -> usize {
        let visible = burnformer_text::visible(source);
        let forms = if options.protections.small_letters && is_in_capitals(&visible) {
            3
        } else {
            1
        };
        forms
            + self.searches_for_parts(source, options)
            + Self::searches_for_joins(source, options)
            + Self::searches_for_texts(options)
    }

    /// For each request with a source all in capitals, its index with the source in small letters,
    /// and again with a first capital, if `options` allow it. A prefix in capitals changes with the
    /// source; placeholders and addresses stay.
    pub(super) fn in_small_letters(
        &self,
        requests: &[TextRequest],
        options: &TranslateOptions,
    ) -> Vec<(usize, TextRequest)> {
        if !options.protections.small_letters {
            return Vec::new();
        }
        requests
            .par_iter()
            .enumerate()
            .filter_map(|(index, request)| {
                let forms = self.small_forms(request, options)?;
                Some(forms.map(|request| (index, request)))
            })
            .flatten_iter()
            .collect()
    }

    /// The two forms of `request` in small letters, if its source is all in capitals.
    fn small_forms(
        &self,
        request: &TextRequest,
        options: &TranslateOptions,
    ) -> Option<[TextRequest; 2]> {
        if !request.text.is_empty() && !may_be_in_capitals(&request.text) {
            return None;
        }
        let text = self.source_text(request, 0);
        if !is_in_capitals(&text) {
            return None;
        }
        let prefix = self.tokenizers.target.decode(&request.search.prefix);
        let prefixes = if is_in_capitals(&prefix) {
            forms(&prefix)
        } else {
            [prefix.clone(), prefix]
        };
        let [small, sentence] = forms(&text);
        let [small_prefix, sentence_prefix] = prefixes;
        let form = |text, prefix: &str| self.form(request, text, prefix, options);
        let small = form(small, &small_prefix)?;
        let sentence = form(sentence, &sentence_prefix)?;
        Some([small, sentence])
    }

    /// `request` for the source `text` with the forced `prefix`.
    fn form(
        &self,
        request: &TextRequest,
        text: String,
        prefix: &str,
        options: &TranslateOptions,
    ) -> Option<TextRequest> {
        let source = self.encode_source(&text, options);
        let prefix = if request.search.prefix.is_empty() {
            Vec::new()
        } else {
            self.tokenizers.target.encode(prefix)
        };
        let search = Request {
            terms: self.terms(&request.wanted, &source).ok()?,
            source,
            prefix,
            ..request.search.clone()
        };
        Some(request.in_form(text, search))
    }
}

impl Results<'_> {
    /// Searches for the `small` requests, and takes their hypotheses if they are more probable than
    /// the original ones. They stand for the original requests from then on. If the search fails,
    /// nothing changes.
    pub(super) fn try_small_letters(&mut self, small: &[(usize, TextRequest)]) {
        let options = self.options;
        let small = small
            .iter()
            .filter(|(index, _)| *index < self.all.len())
            .cloned();
        let (indices, mut forms): (Vec<usize>, Vec<TextRequest>) = small.unzip();
        let truncated = TranslateOptions {
            long_sources: LongSources::Truncate,
            ..options.clone()
        };
        self.translator.prepare(&mut forms, &truncated);
        let found = self.again(&forms, &options.search);
        let mut taken = HashSet::new();
        for ((index, form), found) in indices.into_iter().zip(forms).zip(found) {
            let small = &found[0];
            let given = &self.all[index][0];
            let is_loop = repeats(&small.tokens) && !repeats(&form.search.source);
            let is_first = !taken.contains(&index);
            let is_better = probability(small) > probability(given);
            if (is_better || is_first && self.is_forced(index)) && !is_loop {
                taken.insert(index);
                self.all[index] = found;
                self.requests[index] = form;
            }
        }
    }

    /// Returns whether the request `index` forces tokens. Their probabilities say nothing about the
    /// form of the source, so small letters are taken then.
    fn is_forced(&self, index: usize) -> bool {
        let request = &self.requests[index].search;
        let has_prefix = request.prefix.len() > self.options.languages.target.len();
        has_prefix || !request.terms.is_empty()
    }

    /// Puts the translations of sources that were in capitals in `requests` in capitals again, after
    /// the given prefixes, and scores their texts.
    pub(super) fn put_in_capitals(&mut self, requests: &[TextRequest]) {
        let translator = self.translator;
        let options = self.options;
        let changed: Vec<usize> = (0..requests.len().min(self.all.len()))
            .filter(|&index| self.requests[index].text != requests[index].text)
            .collect();
        let mut sources = Vec::new();
        let mut texts = Vec::new();
        let mut places = Vec::new();
        for index in changed {
            let given = translator.prefix_text(&requests[index], options);
            let small = translator.prefix_text(&self.requests[index], options);
            for (rank, hypothesis) in self.all[index].iter_mut().enumerate() {
                let text = translator.text_of(hypothesis);
                let text = match text.strip_prefix(&small) {
                    Some(rest) => given.clone() + &in_capitals(rest),
                    None => in_capitals(&text),
                };
                sources.push(requests[index].search.source.clone());
                texts.push(text.clone());
                hypothesis.text = Some(text);
                hypothesis.is_uppercased = true;
                places.push((index, rank));
            }
            self.requests[index] = requests[index].clone();
        }
        let targets = translator.tokenizers.target.encode_batch(&texts);
        let (scores, _) = translator.score_ids_until_error(&sources, &targets, options);
        for ((index, rank), score) in places.into_iter().zip(scores) {
            self.all[index][rank].score = score.score;
        }
    }
}

/// `text` with the text around its placeholders and addresses changed by `change`.
fn changed_outside(text: &str, change: impl Fn(&str) -> String) -> String {
    let mut out = String::with_capacity(text.len());
    let mut end = 0;
    for part in parts(text) {
        if part.kind == PartKind::Verbatim {
            out += &change(&text[end..part.range.start]);
            out += &text[part.range.clone()];
            end = part.range.end;
        }
    }
    out + &change(&text[end..])
}

/// `text` in capitals, except for placeholders and addresses.
fn in_capitals(text: &str) -> String {
    changed_outside(text, str::to_uppercase)
}

/// `text` without its placeholders and addresses.
fn without_verbatim(text: &str) -> String {
    let verbatim = parts(text)
        .into_iter()
        .filter(|part| part.kind == PartKind::Verbatim)
        .map(|part| part.range);
    blank(text, &verbatim.collect::<Vec<_>>())
}

/// Returns whether `text` may be in capitals: it has no small letter, or placeholders, in which small
/// letters do not count.
fn may_be_in_capitals(text: &str) -> bool {
    !text.contains(is_small) || may_have_parts(text)
}

/// The smallest number of letters of a capital word beside numbers; acronyms have fewer.
const WORD: usize = 6;

/// Returns whether `text` is all in capitals: it has capital words, no small letter but ß (which has
/// no capital), and few letters of scripts without case. One short word beside a number is an acronym
/// or a unit (`5 GB`).
pub(super) fn is_in_capitals(text: &str) -> bool {
    if !may_be_in_capitals(text) {
        return false;
    }
    let text = &without_verbatim(text);
    if text.contains(is_small) {
        return false;
    }
    let caseless = text
        .chars()
        .filter(|&c| c.is_alphabetic() && !is_capital(c) && !c.is_lowercase())
        .count();
    let words = text.split(|c: char| !c.is_alphanumeric());
    let lengths = words.filter(|word| !word.contains(char::is_numeric));
    let lengths = lengths.map(|word| word.chars().filter(|&c| is_capital(c)).count());
    let lengths: Vec<usize> = lengths.filter(|&capitals| capitals > 1).collect();
    let has_words = if text.contains(char::is_numeric) {
        lengths.len() > 1 || lengths.iter().any(|&length| length >= WORD)
    } else {
        !lengths.is_empty()
    };
    has_words && lengths.len() > 2 * caseless
}

/// Returns whether `c` is a capital with a small form, except Cherokee, which is commonly written in
/// capitals.
fn is_capital(c: char) -> bool {
    c.is_uppercase() && !c.to_lowercase().eq([c]) && !matches!(c, '\u{13A0}'..='\u{13F5}')
}

/// Returns whether `c` is a small letter with a capital.
pub(super) fn is_small(c: char) -> bool {
    c.is_lowercase() && c != 'ß' && !c.to_uppercase().eq([c])
}

/// `text` in small letters with the same byte offsets: letters with a small form of another length
/// stay capital.
pub(super) fn small_in_place(text: &str) -> String {
    text.chars()
        .map(|letter| {
            let mut small = letter.to_lowercase();
            let first = small
                .next()
                .filter(|first| first.len_utf8() == letter.len_utf8());
            first.filter(|_| small.next().is_none()).unwrap_or(letter)
        })
        .collect()
}

/// `text`, all in capitals, in small letters, and in small letters with a first capital. Placeholders
/// and addresses stay.
fn forms(text: &str) -> [String; 2] {
    let small = changed_outside(text, str::to_lowercase);
    let blanked = without_verbatim(text);
    let is_verbatim = |part: &Part| part.kind == PartKind::Verbatim;
    let is_first_a_part = parts(text)
        .into_iter()
        .find(is_verbatim)
        .is_some_and(|part| !text[..part.range.start].contains(char::is_alphabetic));
    let has_letters = blanked.contains(char::is_alphabetic);
    if is_first_a_part || !has_letters {
        return [small.clone(), small];
    }
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
