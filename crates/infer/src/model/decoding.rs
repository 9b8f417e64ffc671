/// A batch of hypotheses that are being decoded. The rows of one sentence are adjacent, and every
/// sentence has the same number of rows.
pub trait Decoding {
    /// Appends to each row its token of `tokens`. Returns the logits of the next token: numbers
    /// whose softmax is its distribution.
    ///
    /// # Shapes
    /// - `tokens`: `[rows]` → `[rows, target_vocab]`, row by row;
    ///   `[rows, tokens of the sentence's list]` after
    ///   [`start_listed`](super::step::StepModel::start_listed), where rows of several sentences
    ///   differ in length
    fn step(&mut self, tokens: &[u32]) -> Vec<f32>;

    /// Like [`step`](Self::step), but passes the logits to `take` a few rows at a time, in order.
    /// Parts are whole sentences of `width` rows each.
    ///
    /// This default passes all at once. A model may compute few rows at a time, so that they stay
    /// in the processor's caches.
    fn step_in_parts(&mut self, tokens: &[u32], width: usize, take: &mut dyn FnMut(&mut [f32])) {
        let _ = width;
        take(&mut self.step(tokens));
    }

    /// Replaces the rows by copies of the old rows `rows` (`[new_rows]`; a row may be repeated or
    /// left out).
    ///
    /// `sentences` are the sentences of the old batch that stay and to which the new rows belong,
    /// in ascending order; `None` if all stay.
    fn reorder(&mut self, rows: &[usize], sentences: Option<&[usize]>);
}
