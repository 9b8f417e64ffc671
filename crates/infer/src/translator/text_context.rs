//! The sentences before a sentence.

/// The sentences before a sentence in its document, the oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TextContext {
    /// The previous sources.
    pub sources: Vec<String>,
    /// Their translations. If there are fewer than sources, the translations of the oldest are
    /// missing.
    pub targets: Vec<String>,
}

impl TextContext {
    /// The context of sources alone.
    pub fn of_sources<S: Into<String>>(sources: impl IntoIterator<Item = S>) -> Self {
        Self {
            sources: sources.into_iter().map(Into::into).collect(),
            targets: Vec::new(),
        }
    }

    /// Appends a sentence and its translation, and forgets all but the last `most`. An empty
    /// sentence ends the document.
    pub(super) fn push(&mut self, source: &str, target: Option<String>, most: usize) {
        if is_blank(source) {
            *self = Self::default();
            return;
        }
        self.sources.push(source.into());
        self.targets.extend(target);
        for side in [&mut self.sources, &mut self.targets] {
            let surplus = side.len().saturating_sub(most);
            side.drain(..surplus);
        }
    }
}

/// Returns whether `text` has no visible character.
pub(super) fn is_blank(text: &str) -> bool {
    burnformer_text::visible(text).trim().is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_history_is_bounded() {
        let mut context = TextContext::default();
        for number in 0..5 {
            context.push(&number.to_string(), Some(format!("t{number}")), 2);
        }
        assert_eq!(context.sources, ["3", "4"]);
        assert_eq!(context.targets, ["t3", "t4"]);
        context.push(" ", Some(String::new()), 2);
        assert_eq!(context, TextContext::default());
    }
}
