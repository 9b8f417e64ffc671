//! Removes parts from a sentence that its translation must keep, and restores them in the
//! translation beside the same neighbours.

use super::glue::{around, glued, is_alike, needs_space};
use super::grammar::Grammar;
use crate::words::{Mark, Span, is_in_word, is_letter, mark, past};

/// An alignment link between a range of the translation, usually a token, and a range of the
/// source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// Byte range of the source text.
    pub source: Span,
    /// Byte range of the translated text.
    pub target: Span,
}

/// A sentence with gaps in place of the parts that its translation must keep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cloze<'a> {
    source: &'a str,
    /// The rest of the sentence.
    pub text: String,
    /// The remaining bytes: the start in `text`, and the range in `source`.
    kept: Vec<(usize, Span)>,
    gaps: Vec<Gap>,
    grammar: Grammar,
}

/// Parts of a sentence separated only by punctuation, and the signs and words attached to them.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Gap {
    /// The position of the gap in [`Cloze::text`].
    at: usize,
    /// The byte range of the part in the source.
    range: Span,
    /// If true, the part belongs to the word after it, like a number to the noun that it counts.
    counts: bool,
}

/// A translation with the removed parts restored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FilledCloze {
    /// The translation including the parts.
    pub text: String,
    /// The links of the complete texts; the links of the parts come last.
    pub links: Vec<Link>,
    /// For each gap in source order, its byte range in the source and in the text.
    gaps: Vec<Link>,
}

impl<'a> Cloze<'a> {
    /// Removes the sorted `parts` from `source`, with the signs and words attached to them.
    pub fn without(source: &'a str, parts: impl Iterator<Item = Span>) -> Self {
        let mut ranges: Vec<(Span, bool)> = Vec::new();
        for part in parts {
            let mut gap = (glued(source, part.clone()), counts(&source[part]));
            while let Some((last, counts)) =
                ranges.pop_if(|(last, _)| joins(source, last.end, gap.0.start))
            {
                let both = last.start.min(gap.0.start)..last.end.max(gap.0.end);
                gap = (glued(source, both), counts);
            }
            ranges.push(gap);
        }
        let mut gapped = Self {
            source,
            text: String::new(),
            kept: Vec::new(),
            gaps: Vec::new(),
            grammar: Grammar::default(),
        };
        let mut start = 0;
        for (range, counts) in ranges {
            gapped.keep(start..range.start);
            start = range.end;
            gapped.gaps.push(Gap {
                at: gapped.text.len(),
                range,
                counts,
            });
        }
        gapped.keep(start..source.len());
        gapped.trim_end();
        gapped
    }

    /// Sets the grammar of the placeholders among the parts. Arguments that cannot get numbers
    /// return in their order.
    pub fn with_grammar(self, grammar: Grammar) -> Self {
        Self { grammar, ..self }
    }

    fn keep(&mut self, range: Span) {
        let slice = &self.source[range.clone()];
        if slice.chars().next().is_some_and(closes) {
            self.trim_end();
        }
        let opens = self.text.ends_with(|c| mark(c) == Mark::Open);
        let is_spaced = self.text.is_empty() || opens || self.text.ends_with(char::is_whitespace);
        let trimmed = if is_spaced { slice.trim_start() } else { slice };
        if self.text.ends_with(is_in_word) && trimmed.starts_with(is_in_word) {
            self.text.push(' ');
        }
        self.kept
            .push((self.text.len(), range.end - trimmed.len()..range.end));
        self.text.push_str(trimmed);
    }

    fn trim_end(&mut self) {
        let end = self.text.trim_end().len();
        self.text.truncate(end);
        self.gaps
            .iter_mut()
            .rev()
            .take_while(|gap| gap.at > end)
            .for_each(|gap| gap.at = end);
    }

    /// Restores the parts in `translation`, a translation of the text, at positions given by the
    /// alignment `links`.
    pub fn fill(&self, translation: &str, links: &[Link]) -> FilledCloze {
        self.fill_from(translation, links, 0)
    }

    /// Like [`fill`](Self::fill), but changes nothing before the byte `from` of `translation`.
    pub fn fill_from(&self, translation: &str, links: &[Link], from: usize) -> FilledCloze {
        let links: Vec<&Link> = links
            .iter()
            .filter(|link: &&Link| {
                let texts = (
                    self.text.get(link.source.clone()),
                    translation.get(link.target.clone()),
                );
                matches!(texts, (Some(_), Some(_)))
            })
            .collect();
        let mut all = self.placed(&GapPositions::new(self, translation, &links));
        all.sort_by_key(|(position, _)| *position);
        let mut filled = FilledCloze::default();
        let mut at = 0;
        let mut shifts = vec![(0, 0)];
        let after_spaces = run_ends(translation, char::is_whitespace);
        for (position, Gap { range, .. }) in all {
            let position = position.max(at).max(from);
            filled.text.push_str(&translation[at..position]);
            at = position;
            let [before, after] = around(self.source, range);
            // A sign that touched the part touches it again; the space goes on the sign's other
            // side.
            let last = filled.text.trim_end();
            if is_sign(before) && is_alike(before, last.chars().next_back()) {
                filled.text.truncate(last.len());
            }
            let edges = [before, self.source[range.clone()].chars().next()];
            if needs_space(edges, filled.text.chars().next_back(), false) {
                filled.text.push(' ');
            }
            let start = filled.text.len();
            filled.text.push_str(&self.source[range.clone()]);
            filled.gaps.push(Link {
                source: range.clone(),
                target: start..filled.text.len(),
            });
            let next_word = after_spaces[at];
            let next = translation[next_word..].chars().next();
            // The space between two words that had the part between them.
            if (before.is_some_and(is_in_word) || is_sign(after)) && is_alike(after, next) {
                at = next_word;
            }
            let edges = [after, self.source[range.clone()].chars().next_back()];
            if needs_space(edges, translation[at..].chars().next(), true) {
                filled.text.push(' ');
            }
            shifts.push((at, filled.text.len()));
        }
        filled.text.push_str(&translation[at..]);
        filled.links = links
            .iter()
            .filter_map(|link| self.whole(link, &shifts))
            .collect();
        filled.links.extend(filled.gaps.iter().cloned());
        filled.gaps.sort_by_key(|gap| gap.source.start);
        filled
    }

    /// Returns the gaps with their positions in the translation.
    fn placed(&self, positions: &GapPositions<'_>) -> Vec<(usize, &Gap)> {
        let is_free = self.grammar.can_number(self.source);
        let mut least = 0;
        let mut all = Vec::with_capacity(self.gaps.len());
        for gap in &self.gaps {
            let mut position = positions.of(gap);
            let text = &self.source[gap.range.clone()];
            if !is_free && !self.grammar.arguments(text).is_empty() {
                position = position.max(least);
                least = position;
            }
            all.push((position, gap));
        }
        all
    }

    /// Converts `link` from the reduced texts to the complete ones.
    fn whole(&self, link: &Link, shifts: &[(usize, usize)]) -> Option<Link> {
        let from = link.source.start;
        let to = link.source.end.checked_sub(1)?;
        let source = self.in_source(from)?..self.in_source(to)? + 1;
        let from = link.target.start;
        let to = link.target.end.checked_sub(1)?;
        let target = shifted(from, shifts)..shifted(to, shifts) + 1;
        Some(Link { source, target })
    }

    /// Converts the position `at` in the reduced source to one in the complete source.
    fn in_source(&self, at: usize) -> Option<usize> {
        let part = self
            .kept
            .partition_point(|(start, _)| *start <= at)
            .checked_sub(1)?;
        let (start, kept) = &self.kept[part];
        Some((kept.start + (at - start)).min(kept.end))
    }
}

/// Converts the position `at` in a translation by `shifts`, pairs of an old and a new position.
fn shifted(at: usize, shifts: &[(usize, usize)]) -> usize {
    let (from, to) = shifts[shifts.partition_point(|&(from, _)| from <= at) - 1];
    at - from + to
}

fn is_sign(c: Option<char>) -> bool {
    c.is_some_and(|c| !is_letter(c))
}

impl FilledCloze {
    /// Returns the position in the text of a source `part`; `None` if it is not in a gap.
    pub fn position(&self, part: &Span) -> Option<Span> {
        let next = self
            .gaps
            .partition_point(|gap| gap.source.start <= part.start);
        let Link { source, target } = &self.gaps[next.checked_sub(1)?];
        let start = target.start + (part.start - source.start);
        (part.end <= source.end).then(|| start..start + part.len())
    }
}

/// The links of a translation, used to find the positions of gaps.
struct GapPositions<'a> {
    gapped: &'a Cloze<'a>,
    translation: &'a str,
    by_start: Vec<&'a Link>,
    by_end: Vec<&'a Link>,
    /// The [starts](run_starts) and [ends](run_ends) of words in the reduced source and in the
    /// translation. Many gaps may be in one long word.
    words: [[Vec<usize>; 2]; 2],
    /// The end of the translation without its full stop.
    end: usize,
}

impl<'a> GapPositions<'a> {
    fn new(gapped: &'a Cloze<'a>, translation: &'a str, links: &[&'a Link]) -> Self {
        let mut by_start = links.to_vec();
        let mut by_end = links.to_vec();
        by_start.sort_by_key(|link| (link.source.start, link.target.start));
        by_end.sort_by_key(|link| (link.source.end, link.target.end));
        Self {
            gapped,
            translation,
            by_start,
            by_end,
            words: [&*gapped.text, translation]
                .map(|text| [run_starts(text, is_in_word), run_ends(text, is_in_word)]),
            end: translation.trim_end_matches(['.', '!', '?']).len(),
        }
    }

    /// Returns the position of `gap` in the translation: at the word it is glued to, before the
    /// word it counts, or after the preceding word.
    fn of(&self, gap: &Gap) -> usize {
        let [before, after] = around(self.gapped.source, &gap.range);
        let is_glued = after.is_some_and(is_letter)
            || before.is_some_and(|c: char| matches!(mark(c), Mark::Open | Mark::Quote));
        let counts = gap.counts
            && self.gapped.text[gap.at..]
                .trim_start()
                .starts_with(is_letter);
        let is_next = !before.is_some_and(is_letter) && (is_glued || counts);
        let side = if is_next {
            self.before_next(gap.at)
                .or_else(|| self.behind_last(gap.at))
        } else {
            self.behind_last(gap.at)
                .or_else(|| self.before_next(gap.at))
        };
        self.within(gap.at).or(side).unwrap_or(match gap.at {
            0 => 0,
            _ => self.end,
        })
    }

    /// Returns the position of `at` inside the word around it.
    fn within(&self, at: usize) -> Option<usize> {
        let next = self.by_start.partition_point(|link| link.source.start < at);
        let Link { source, target } = self.by_start[next.checked_sub(1)?];
        let same = source.len() == target.len() && at < source.end;
        same.then(|| {
            self.translation
                .floor_char_boundary(target.start + at - source.start)
        })
    }

    /// Returns the position after the translation of the last word before `at`, and after the marks
    /// between them.
    fn behind_last(&self, at: usize) -> Option<usize> {
        let next = self.by_end.partition_point(|link| link.source.end <= at);
        let Link { source, target } = self.by_end[next.checked_sub(1)?];
        let [[_, source_ends], [_, target_ends]] = &self.words;
        let marks = &self.gapped.text[source_ends[source.end].min(at)..at];
        let word_end = target_ends[target.end];
        let rest = &self.translation[word_end..];
        Some(word_end + past(rest.chars(), marks.chars()))
    }

    /// Returns the position before the translation of the first word after `at`, and before the
    /// marks between them.
    fn before_next(&self, at: usize) -> Option<usize> {
        let next = self.by_start.partition_point(|link| link.source.start < at);
        let Link { source, target } = self.by_start.get(next)?;
        let [[source_starts, _], [target_starts, _]] = &self.words;
        let marks = &self.gapped.text[at..source_starts[source.start].max(at)];
        let word_start = target_starts[target.start];
        let rest = &self.translation[..word_start];
        Some(word_start - past(rest.chars().rev(), marks.chars().rev()))
    }
}

/// Returns, for each position in `text`, the end of the characters from there on that are as `is`
/// says.
fn run_ends(text: &str, is: impl Fn(char) -> bool) -> Vec<usize> {
    let mut ends = vec![text.len(); text.len() + 1];
    for (at, c) in text.char_indices().rev() {
        ends[at] = if is(c) { ends[at + c.len_utf8()] } else { at };
    }
    ends
}

/// Returns, for each position in `text`, the start of the characters before it that are as `is`
/// says.
fn run_starts(text: &str, is: impl Fn(char) -> bool) -> Vec<usize> {
    let mut starts = vec![0; text.len() + 1];
    for (at, c) in text.char_indices() {
        let next = at + c.len_utf8();
        starts[next] = if is(c) { starts[at] } else { next };
    }
    starts
}

/// Returns whether a word needs no space before `c`.
fn closes(c: char) -> bool {
    matches!(mark(c), Mark::Terminal | Mark::Separator | Mark::Close)
}

/// Returns whether only punctuation stands between two parts, as in a list.
fn joins(source: &str, end: usize, start: usize) -> bool {
    start <= end || source[end..start].chars().all(|c| !is_letter(c))
}

/// Returns whether the part is a number that counts something and is not a year, or a placeholder
/// for such a number.
fn counts(part: &str) -> bool {
    let is_year = part.len() == 4 && part.parse().is_ok_and(|it: u32| (1000..2100).contains(&it));
    part.starts_with(|c: char| c.is_numeric()) && !is_year || part.starts_with("%d")
}
