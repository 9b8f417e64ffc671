//! The alignment between hypothesis words and reference words.

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
        let mut alignment =
            Self { upto: Vec::new(), reference_wrong: Vec::new(), hypothesis_wrong: Vec::new() };
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_inserted_word_stands_behind_those_before_it() {
        let alignment = Alignment::of(&[Edit::Insert, Edit::Keep, Edit::Delete, Edit::Substitute]);
        assert_eq!(alignment.upto, [0, 1, 3]);
        assert_eq!(alignment.reference_wrong, [true, false, true]);
        assert_eq!(alignment.hypothesis_wrong, [false, true, true]);
    }
}
