//! Splits text into sentences, and long sentences into clauses.

use std::sync::LazyLock;

use burnformer_text::{blank, is_code};
use regex::Regex;

use crate::block::{Atom, Block, Segment, State};
use crate::ends::Ends;
use crate::placeables::without_atoms;
use crate::words::{Span, has_letters, is_within, regex, trim};

/// Maximum number of bytes given to the splitter at once. It bounds the cost of text without
/// sentences.
const PART_BYTES: usize = 4 << 10;

/// Longer sentences are split even if the model accepts them, because invisible characters may have
/// no tokens.
const MAX_SENTENCE: usize = 4 << 10;

/// Maximum number of bytes of an atom that the model sees.
const MAX_ATOM: usize = 120;

/// Where a text is divided before it is translated. A part that is too long for the model is
/// divided further.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Splitting {
    /// At the ends of sentences, and at line breaks in plain text and in messages.
    #[default]
    Lines,
    /// At the ends of sentences. Plain text is divided at empty lines as well.
    Sentences,
    /// Nowhere, except that plain text is divided at empty lines and HTML at its blocks.
    Nothing,
}

/// Splits the block's text into segments.
pub(crate) fn split(
    block: &mut Block,
    splitting: Splitting,
    language: Option<&str>,
    fits: &dyn Fn(&str) -> bool,
) {
    let atoms: Vec<Span> = block.atoms.iter().map(|atom| atom.range.clone()).collect();
    let mut segments = Vec::new();
    let whole = trim(&block.text, 0..block.text.len());
    let is_code = is_code(&block.text);
    let all = match splitting {
        Splitting::Nothing if whole.is_empty() => Vec::new(),
        Splitting::Nothing => vec![whole],
        _ => sentences(&block.text, &atoms, language, items(block, &atoms)),
    };
    for sentence in all {
        for range in clauses(&block.text, sentence, &atoms, fits) {
            let is_reduced = block.atoms[block.atoms_in(&range)]
                .iter()
                .any(|atom: &Atom| atom.range.len() > MAX_ATOM || !atom.arms.is_empty());
            let state = match has_letters(&blank(&block.text[range.clone()], &block.parts(&range)))
            {
                false => State::Kept,
                true if is_code => State::Kept,
                true if is_reduced => without_atoms(block, &range),
                true => State::Whole,
            };
            segments.push(Segment { range, state });
        }
    }
    // Most blocks have one sentence.
    segments.shrink_to_fit();
    block.segments = segments;
}

/// Returns the sentences of `text` without surrounding white space.
fn sentences(text: &str, atoms: &[Span], language: Option<&str>, items: Vec<usize>) -> Vec<Span> {
    let mut starts = items;
    starts.extend(Ends::new(language).find(text, &parts(text), atoms));
    starts.extend([0, text.len()]);
    starts.sort_unstable();
    let ranges = starts.windows(2).map(|pair| trim(text, pair[0]..pair[1]));
    ranges.filter(|range| !range.is_empty()).collect()
}

/// Marks between menu items.
static SEPARATOR: LazyLock<Regex> = LazyLock::new(|| regex(r"\s([|·•‧∙⋅›→])\s"));

/// Returns the borders of menu items: separator marks, or links if the block has no other text.
fn items(block: &Block, atoms: &[Span]) -> Vec<usize> {
    let text = &block.text;
    let marks = SEPARATOR
        .captures_iter(text)
        .filter_map(|found| found.get(1));
    let mut all: Vec<usize> = marks.flat_map(|mark| [mark.start(), mark.end()]).collect();
    let mut links = Vec::new();
    let mut at = 0;
    let is_menu = block
        .nodes
        .iter()
        .filter(|node| node.is_link() && !node.range.is_empty())
        .all(|node| {
            let between = text.get(at..node.range.start);
            at = at.max(node.range.end);
            links.extend([node.range.start, node.range.end]);
            between.is_none_or(|between| !has_letters(between))
        });
    if is_menu && links.len() > 2 && !has_letters(&text[at..]) {
        all.extend(links);
    }
    all.retain(|&at| !is_within(atoms, at));
    all
}

/// Splits `text` into parts of about `PART_BYTES`, at white space where possible.
fn parts(text: &str) -> Vec<Span> {
    let mut all = Vec::new();
    let mut start = 0;
    while text.len() - start > PART_BYTES {
        let limit = text.floor_char_boundary(start + PART_BYTES);
        let end = match text[start..limit]
            .rfind(". ")
            .or_else(|| text[start..limit].rfind(' '))
        {
            Some(space) if space > PART_BYTES / 4 => start + space + 1,
            _ => limit,
        };
        all.push(start..end);
        start = end;
    }
    all.push(start..text.len());
    all
}

/// Where a sentence can be split, best first. It is split at the end of the match, or of its group
/// if it has one.
static CUTS: LazyLock<[Regex; 4]> = LazyLock::new(|| {
    [
        r"[;:]\s|[；：]|\s[–—-]\s",
        r"[,،]\s|[，、]",
        r"(\s)(?i:and|or|but|because|which|that|und|oder|aber|weil|dass|sondern|et|ou|mais|car|que|qui|y|o|pero|porque|e|ma|perché|mas|en|maar|og|och|men|и|но|или|что)\s",
        r"\s",
    ]
    .map(regex)
});

/// Splits `sentence` in halves at the best positions until each piece fits.
fn clauses(text: &str, sentence: Span, atoms: &[Span], fits: &dyn Fn(&str) -> bool) -> Vec<Span> {
    let fits = |part: &str| part.len() <= MAX_SENTENCE && fits(part);
    let mut done = Vec::new();
    let mut todo = vec![sentence];
    while let Some(range) = todo.pop() {
        if range.is_empty() {
            continue;
        }
        let cut = if fits(&text[range.clone()]) {
            None
        } else {
            middle(text, &range, atoms)
        };
        match cut {
            Some(cut) => todo.extend([trim(text, cut..range.end), trim(text, range.start..cut)]),
            None => done.push(range),
        }
    }
    done
}

/// Returns where to split `range`: at the best kind of position in its middle half, else anywhere,
/// else within a word.
fn middle(text: &str, range: &Span, atoms: &[Span]) -> Option<usize> {
    let slice = &text[range.clone()];
    let half = slice.len() / 2;
    let outside = |at: usize| range.start < at && at < range.end && !is_within(atoms, at);
    let nearest = |pattern: &Regex, reach: usize| {
        let ends = pattern
            .captures_iter(slice)
            .filter_map(|captures| Some(captures.get(1).or(captures.get(0))?.end()));
        let near = ends.filter(|&end| end.abs_diff(half) <= reach && outside(range.start + end));
        near.min_by_key(|end| end.abs_diff(half))
            .map(|end| range.start + end)
    };
    let reaches = [slice.len() / 4, slice.len()];
    let cut_position = reaches
        .iter()
        .find_map(|&reach| CUTS.iter().find_map(|cut| nearest(cut, reach)));
    cut_position.or_else(|| {
        let inside = slice
            .char_indices()
            .map(|(at, _)| range.start + at)
            .filter(|&at| outside(at));
        inside.min_by_key(|at| at.abs_diff(range.start + half))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split_text<'a>(text: &'a str, language: &str) -> Vec<&'a str> {
        sentences(text, &[], Some(language), Vec::new())
            .into_iter()
            .map(|range| &text[range])
            .collect()
    }

    #[test]
    fn abbreviations_numbers_and_initials_do_not_end_a_sentence() {
        let text = "Dr. Smith paid 3.5 dollars. He left the U.S. early. J. R. Doe came.";
        assert_eq!(
            split_text(text, "en"),
            [
                "Dr. Smith paid 3.5 dollars.",
                "He left the U.S. early.",
                "J. R. Doe came."
            ]
        );
        assert_eq!(
            split_text("Das ist z. B. ein Test. Der 2. Weltkrieg endete.", "de"),
            ["Das ist z. B. ein Test.", "Der 2. Weltkrieg endete."]
        );
        assert_eq!(
            split_text("M. Dupont est venu. Il part.", "fr"),
            ["M. Dupont est venu.", "Il part."]
        );
    }

    #[test]
    fn quotes_and_brackets_behind_the_full_stop_belong_to_the_sentence() {
        assert_eq!(
            split_text("He said \"Go.\" Then he left.", "en"),
            ["He said \"Go.\"", "Then he left."]
        );
        assert_eq!(
            split_text("„Geh weg.“ Dann ging er.", "de"),
            ["„Geh weg.“", "Dann ging er."]
        );
    }

    #[test]
    fn sentences_end_in_scripts_without_spaces_and_with_other_marks() {
        assert_eq!(
            split_text("これは文です。次の文です！", "ja"),
            ["これは文です。", "次の文です！"]
        );
        assert_eq!(split_text("كيف حالك؟ نعم.", "ar"), ["كيف حالك؟", "نعم."]);
        assert_eq!(
            split_text("यह वाक्य है। दूसरा वाक्य।", "hi"),
            ["यह वाक्य है।", "दूसरा वाक्य।"]
        );
    }

    #[test]
    fn a_sentence_does_not_end_within_a_protected_part() {
        let text = "See a! B now. Yes.";
        let atoms = std::slice::from_ref(&(4..8));
        assert_eq!(
            sentences(text, atoms, Some("en"), Vec::new()),
            [0..13, 14..18]
        );
    }

    #[test]
    fn long_sentences_are_cut_at_clauses_and_nothing_is_lost() {
        let text = "He came home late, because the train was slow; she had waited for a long time, and was tired.";
        let all = clauses(text, 0..text.len(), &[], &|part| part.len() < 50);
        let all: Vec<&str> = all.into_iter().map(|range| &text[range]).collect();
        assert_eq!(
            all,
            [
                "He came home late, because the train was slow;",
                "she had waited for a long time, and was tired."
            ]
        );
    }

    #[test]
    fn text_without_positions_to_cut_is_cut_anyway() {
        let text = "長".repeat(100);
        let all = clauses(&text, 0..text.len(), &[], &|part| {
            part.chars().count() <= 10
        });
        assert!(all.iter().all(|range| range.len() <= 30));
        assert_eq!(
            all.iter().map(ExactSizeIterator::len).sum::<usize>(),
            text.len()
        );
    }

    #[test]
    fn a_model_that_takes_nothing_gets_single_characters() {
        let all = clauses("ab c", 0..4, &[], &|_| false);
        assert_eq!(all, [0..1, 1..2, 3..4]);
    }
}
