//! Edit distance near the diagonal, for a hypothesis that changes little by little.

use std::ops::Range;

/// One edit when the hypothesis is turned into the reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Edit {
    Keep,
    Substitute,
    Delete,
    Insert,
}

/// An alignment, and the words on each side that are wrong.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Alignment {
    /// For each reference word, the number of hypothesis words up to and including its counterpart.
    /// For an inserted word it is the number of hypothesis words before it.
    pub(super) upto: Vec<usize>,
    /// For each reference word, whether it is substituted or missing.
    pub(super) reference_wrong: Vec<bool>,
    /// For each hypothesis word, whether it is substituted or superfluous.
    pub(super) hypothesis_wrong: Vec<bool>,
}

impl Alignment {
    /// Makes the alignment from the edits that turn the hypothesis into the reference.
    pub(super) fn of(trace: &[Edit]) -> Self {
        let mut alignment = Self {
            upto: Vec::new(),
            reference_wrong: Vec::new(),
            hypothesis_wrong: Vec::new(),
        };
        for &edit in trace {
            let wrong = edit != Edit::Keep;
            if edit != Edit::Insert {
                alignment.hypothesis_wrong.push(wrong);
            }
            if edit != Edit::Delete {
                alignment.upto.push(alignment.hypothesis_wrong.len());
                alignment.reference_wrong.push(wrong);
            }
        }
        alignment
    }
}

const BEAM_WIDTH: usize = 25;
const UNREACHED: u32 = u32::MAX / 2;

/// The matrix of edit distances between prefixes, `[hypothesis_len + 1, reference_len + 1]`, of one
/// hypothesis. Hypotheses that differ from it in one range of words are computed with its help.
///
/// Only the cells near the diagonal are kept. The others are not reached.
pub(super) struct EditDistance<'a> {
    reference: &'a [u32],
    pub(super) hypothesis: Vec<u32>,
    beam: Beam,
    /// The index of the first cell of each row, and the number of all cells.
    starts: Vec<usize>,
    costs: Vec<u32>,
    edits: Vec<Edit>,
    scratch: [Vec<u32>; 2],
}

/// The cells of the matrix that are computed.
#[derive(Clone, Copy)]
struct Beam {
    hypothesis: usize,
    reference: usize,
    /// The number of reference words per hypothesis word, which is the slope of the diagonal.
    slope: f64,
    /// The number of columns on each side of the diagonal.
    width: usize,
}

impl Beam {
    fn new(hypothesis: usize, reference: usize) -> Self {
        let slope = if hypothesis > 0 {
            reference as f64 / hypothesis as f64
        } else {
            1.0
        };
        // If the lengths differ so much that the ranges of neighbouring rows would not overlap, the
        // beam is made wider.
        let wide = (slope / 2.0 + BEAM_WIDTH as f64).ceil() as usize;
        Self {
            hypothesis,
            reference,
            slope,
            width: if slope / 2.0 > BEAM_WIDTH as f64 {
                wide
            } else {
                BEAM_WIDTH
            },
        }
    }

    /// The columns of a row within the beam. The first row has all columns, and the last row always
    /// includes the last one.
    fn columns(&self, row: usize) -> Range<usize> {
        let end = self.reference + 1;
        if row == 0 {
            return 0..end;
        }
        let diagonal = (row as f64 * self.slope).floor() as usize;
        let last = row == self.hypothesis;
        diagonal.saturating_sub(self.width)..if last {
            end
        } else {
            end.min(diagonal + self.width)
        }
    }
}

/// Returns at least the number of cells for these numbers of words.
pub(super) fn cells(hypothesis: usize, reference: usize) -> usize {
    let row = 2 * Beam::new(hypothesis, reference).width;
    let rows = hypothesis.saturating_mul(row.min(reference + 1));
    rows.saturating_add(reference.saturating_mul(2))
}

/// The costs of a row within the beam.
#[derive(Clone, Copy)]
struct Row<'a> {
    first: usize,
    costs: &'a [u32],
}

impl Row<'_> {
    fn cost(&self, column: usize) -> u32 {
        let index = column.wrapping_sub(self.first);
        self.costs.get(index).copied().unwrap_or(UNREACHED)
    }
}

impl<'a> EditDistance<'a> {
    pub(super) fn new(hypothesis: &[u32], reference: &'a [u32]) -> Self {
        let beam = Beam::new(hypothesis.len(), reference.len());
        let mut starts = vec![0];
        for row in 0..=hypothesis.len() {
            starts.push(starts[row] + beam.columns(row).len());
        }
        let cells = starts[hypothesis.len() + 1];
        let mut distance = Self {
            reference,
            hypothesis: hypothesis.to_vec(),
            beam,
            starts,
            costs: vec![UNREACHED; cells],
            edits: vec![Edit::Insert; cells],
            scratch: Default::default(),
        };
        for (cost, value) in distance.costs[..=reference.len()].iter_mut().zip(0..) {
            *cost = value;
        }
        distance.fill(1);
        distance
    }

    /// Returns the distance of the whole hypothesis.
    pub(super) fn cost(&self) -> u32 {
        *self.costs.last().expect("the matrix has at least one cell")
    }

    /// Replaces the hypothesis by another one of the same length.
    pub(super) fn replace(&mut self, hypothesis: &[u32]) {
        assert_eq!(
            hypothesis.len(),
            self.hypothesis.len(),
            "a shift does not change the number of words"
        );
        let same = self
            .hypothesis
            .iter()
            .zip(hypothesis)
            .take_while(|(a, b)| a == b)
            .count();
        self.hypothesis.copy_from_slice(hypothesis);
        self.fill(same + 1);
    }

    /// The cells of a row.
    fn cells(&self, row: usize) -> Range<usize> {
        self.starts[row]..self.starts[row + 1]
    }

    fn fill(&mut self, first_row: usize) {
        for row in first_row..=self.hypothesis.len() {
            let (above, cells) = (self.cells(row - 1), self.cells(row));
            let word = self.hypothesis[row - 1];
            let (before, after) = self.costs.split_at_mut(cells.start);
            let above = Row {
                first: self.beam.columns(row - 1).start,
                costs: &before[above],
            };
            let edits = &mut self.edits[cells.clone()];
            let costs = &mut after[..cells.len()];
            let columns = self.beam.columns(row);
            compute(
                word,
                self.reference,
                above,
                columns,
                costs,
                |index, edit| {
                    edits[index] = edit;
                },
            );
        }
    }

    /// Returns the distance of another hypothesis of the same length, which differs only within
    /// `changed`.
    ///
    /// Rows before that range are the same as in the matrix. Once a row after the range equals its
    /// row of the matrix, all following rows do too.
    pub(super) fn cost_of(&mut self, hypothesis: &[u32], changed: Range<usize>) -> u32 {
        let [mut above, mut costs] = std::mem::take(&mut self.scratch);
        above.clear();
        above.extend_from_slice(&self.costs[self.cells(changed.start)]);
        let mut result = None;
        for row in changed.start + 1..=hypothesis.len() {
            let columns = self.beam.columns(row);
            let before = Row {
                first: self.beam.columns(row - 1).start,
                costs: &above,
            };
            costs.clear();
            costs.resize(columns.len(), UNREACHED);
            let word = hypothesis[row - 1];
            compute(word, self.reference, before, columns, &mut costs, |_, _| ());
            std::mem::swap(&mut above, &mut costs);
            if row >= changed.end && above == self.costs[self.cells(row)] {
                result = Some(self.cost());
                break;
            }
        }
        let cost = result.unwrap_or(*above.last().expect("a row has cells"));
        self.scratch = [above, costs];
        cost
    }

    /// Returns the alignment of the edits with the lowest cost.
    pub(super) fn alignment(&self) -> Alignment {
        let mut row = self.hypothesis.len();
        let mut column = self.reference.len();
        let mut trace = Vec::with_capacity(row + column);
        while row > 0 || column > 0 {
            let index = column.wrapping_sub(self.beam.columns(row).start);
            let edits = &self.edits[self.cells(row)];
            let edit = edits.get(index).copied().unwrap_or(Edit::Insert);
            trace.push(edit);
            row -= usize::from(edit != Edit::Insert);
            column -= usize::from(edit != Edit::Delete);
        }
        trace.reverse();
        Alignment::of(&trace)
    }
}

/// Computes the `costs` of the row of `word` in `columns`, and calls `edit` with the index of each
/// and its last edit.
fn compute(
    word: u32,
    reference: &[u32],
    above: Row<'_>,
    columns: Range<usize>,
    costs: &mut [u32],
    mut edit: impl FnMut(usize, Edit),
) {
    let mut left = UNREACHED;
    for (index, column) in columns.enumerate() {
        let (cost, last) = cell(word, reference, above, left, column);
        costs[index] = cost;
        left = cost;
        edit(index, last);
    }
}

/// Cost and last edit of a cell; `left` is the cost of the cell before it. If costs are equal,
/// Tercom prefers keeping or substituting, then deleting (in the terms of this function), then
/// inserting.
fn cell(word: u32, reference: &[u32], above: Row<'_>, left: u32, j: usize) -> (u32, Edit) {
    if j == 0 {
        return (above.cost(0) + 1, Edit::Delete);
    }
    let kept = word == reference[j - 1];
    let mut best = (
        above.cost(j - 1) + u32::from(!kept),
        if kept { Edit::Keep } else { Edit::Substitute },
    );
    for other in [(above.cost(j) + 1, Edit::Delete), (left + 1, Edit::Insert)] {
        if other.0 < best.0 {
            best = other;
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    fn letters(word: &str) -> Vec<u32> {
        word.chars().map(u32::from).collect()
    }

    #[test]
    fn distances_match_levenshtein() {
        for (a, b, cost) in [
            ("kitten", "sitting", 3),
            ("", "abc", 3),
            ("abc", "", 3),
            ("same", "same", 0),
        ] {
            assert_eq!(
                EditDistance::new(&letters(a), &letters(b)).cost(),
                cost,
                "{a} {b}"
            );
        }
    }

    #[test]
    fn the_cost_of_a_change_equals_a_full_computation() {
        let reference: Vec<u32> = (0..30).collect();
        let hypothesis: Vec<u32> = (0..40).map(|i| i * 7 % 30).collect();
        let mut changed = hypothesis.clone();
        changed[5..12].rotate_left(3);
        let cost = EditDistance::new(&hypothesis, &reference).cost_of(&changed, 5..12);
        assert_eq!(cost, EditDistance::new(&changed, &reference).cost());
        let mut replaced = EditDistance::new(&hypothesis, &reference);
        replaced.replace(&changed);
        assert_eq!(replaced.cost(), cost);
    }

    #[test]
    fn very_unequal_lengths_widen_the_beam() {
        for (hypothesis, reference) in [(1, 300), (2, 100), (2, 101), (300, 1), (3, 170)] {
            let cost = EditDistance::new(&vec![1; hypothesis], &vec![2; reference]).cost();
            assert_eq!(cost as usize, hypothesis.max(reference));
        }
    }

    #[test]
    fn an_inserted_word_follows_the_words_before_it() {
        let alignment = Alignment::of(&[Edit::Insert, Edit::Keep, Edit::Delete, Edit::Substitute]);
        assert_eq!(alignment.upto, [0, 1, 3]);
        assert_eq!(alignment.reference_wrong, [true, false, true]);
        assert_eq!(alignment.hypothesis_wrong, [false, true, true]);
    }
}
