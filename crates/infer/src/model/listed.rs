//! Decoding that predicts for each sentence only the tokens of its list.

use super::decoding::Decoding;

/// Picks the logits of each sentence's list from those that another decoding gives for all
/// sentences.
pub(super) struct Listed<'a> {
    inner: Box<dyn Decoding + 'a>,
    /// The number of logits of a row of `inner`.
    width: usize,
    /// For each sentence which logits of a row are those of its list, in ascending order.
    columns: Vec<Vec<u32>>,
}

impl<'a> Listed<'a> {
    pub fn new(inner: Box<dyn Decoding + 'a>, width: usize, columns: Vec<Vec<u32>>) -> Self {
        Self { inner, width, columns }
    }
}

impl Decoding for Listed<'_> {
    fn step(&mut self, tokens: &[u32]) -> Vec<f32> {
        let all = self.inner.step(tokens);
        // The columns ascend without repetition, so a list of the full length has every column.
        if self.columns.iter().all(|columns| columns.len() == self.width) {
            return all;
        }
        let rows = tokens.len() / self.columns.len();
        let lengths = self.columns.iter().map(|columns| rows * columns.len());
        let mut picked = Vec::with_capacity(lengths.sum());
        for (row, logits) in all.chunks_exact(self.width).enumerate() {
            let columns = self.columns[row / rows].iter();
            picked.extend(columns.map(|&column| logits[column as usize]));
        }
        picked
    }

    fn reorder(&mut self, rows: &[usize], sentences: Option<&[usize]>) {
        self.inner.reorder(rows, sentences);
        if let Some(sentences) = sentences {
            let kept =
                sentences.iter().map(|&sentence| std::mem::take(&mut self.columns[sentence]));
            self.columns = kept.collect();
        }
    }
}

/// The tokens that are in at least one of `lists`, in ascending order, and for each list where its
/// tokens are among them.
pub(super) fn union(lists: &[&[u32]], vocab: usize) -> (Vec<u32>, Vec<Vec<u32>>) {
    let mut is_in = vec![false; vocab];
    lists.iter().copied().flatten().for_each(|&id| is_in[id as usize] = true);
    let all: Vec<u32> = (0..vocab as u32).filter(|&id| is_in[id as usize]).collect();
    let mut positions = vec![0; vocab];
    for (position, &id) in (0..).zip(&all) {
        positions[id as usize] = position;
    }
    let columns = |list: &&[u32]| list.iter().map(|&id| positions[id as usize]).collect();
    (all, lists.iter().map(columns).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_union_says_where_each_list_is() {
        let (all, columns) = union(&[&[1, 7], &[7, 8], &[]], 9);
        assert_eq!(all, [1, 7, 8]);
        assert_eq!(columns, [vec![0, 1], vec![1, 2], vec![]]);
    }
}
