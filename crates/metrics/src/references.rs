//! The references of a corpus, line by line.

use derive_more::Display;

use crate::{MetricError, Result};

/// The number of references per line; the field `nrefs` of a [`Signature`](crate::Signature).
#[derive(Debug, Clone, Copy, Display, PartialEq, Eq)]
pub enum ReferenceCount {
    /// Every line has this number of references.
    Fixed(usize),
    /// Some lines lack some references.
    #[display("var")]
    Variable,
}

impl From<usize> for ReferenceCount {
    fn from(count: usize) -> Self {
        Self::Fixed(count)
    }
}

/// Borrows the references of every line. sacreBLEU has one text ("stream") per reference; here they
/// are grouped by line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct References<'a> {
    streams: Vec<usize>,
    lines: Vec<Vec<&'a str>>,
}

impl<'a> References<'a> {
    /// Groups whole texts by line: `streams[r][i]` is reference `r` of line `i`.
    pub fn new<S: AsRef<str>>(streams: &'a [Vec<S>]) -> Self {
        Self::gather(streams, |line| Some(line.as_ref()))
    }

    /// Groups texts with missing lines (`None`), as sacreBLEU's library allows them.
    pub fn with_gaps<S: AsRef<str>>(streams: &'a [Vec<Option<S>>]) -> Self {
        Self::gather(streams, |line| line.as_ref().map(AsRef::as_ref))
    }

    /// Returns the references of a single line.
    pub fn of_segment<S: AsRef<str>>(references: &'a [S]) -> Self {
        Self {
            streams: vec![1; references.len()],
            lines: vec![references.iter().map(AsRef::as_ref).collect()],
        }
    }

    fn gather<T>(streams: &'a [Vec<T>], text: impl Fn(&'a T) -> Option<&'a str>) -> Self {
        let longest = streams.iter().map(Vec::len).max().unwrap_or(0);
        let mut lines = Vec::with_capacity(longest);
        for i in 0..longest {
            let line = streams.iter().filter_map(|stream| stream.get(i));
            lines.push(line.filter_map(&text).collect());
        }
        Self {
            streams: streams.iter().map(Vec::len).collect(),
            lines,
        }
    }

    /// Returns the references of line `index`, from 0.
    pub fn line(&self, index: usize) -> &[&'a str] {
        &self.lines[index]
    }

    /// Returns the number of references per line.
    pub fn count(&self) -> ReferenceCount {
        let first = self.lines.first().map_or(0, Vec::len);
        if self.lines.iter().all(|line| line.len() == first) {
            ReferenceCount::Fixed(first)
        } else {
            ReferenceCount::Variable
        }
    }

    /// Checks that the references fit this number of hypotheses.
    ///
    /// # Errors
    /// Returns [`EmptyCorpus`](MetricError::EmptyCorpus) if there is no hypothesis,
    /// [`NoReferences`](MetricError::NoReferences) if there are no references,
    /// [`UnequalLengths`](MetricError::UnequalLengths) if a stream of references has another number
    /// of lines, and [`MissingReference`](MetricError::MissingReference) if a line has no
    /// reference. For texts of unequal length, sacreBLEU's library cuts the longer one off; its
    /// command line refuses them, as this function does.
    pub fn check(&self, hypotheses: usize) -> Result<()> {
        if hypotheses == 0 {
            return Err(MetricError::EmptyCorpus);
        }
        if self.streams.is_empty() {
            return Err(MetricError::NoReferences);
        }
        if let Some(stream) = self.streams.iter().position(|&len| len != hypotheses) {
            let references = self.streams[stream];
            return Err(MetricError::UnequalLengths {
                stream: stream + 1,
                hypotheses,
                references,
            });
        }
        if let Some(line) = self.lines.iter().position(Vec::is_empty) {
            return Err(MetricError::MissingReference {
                line: line + 1,
                streams: self.streams.len(),
            });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn streams(lengths: &[usize]) -> Vec<Vec<&'static str>> {
        lengths.iter().map(|&len| vec!["x"; len]).collect()
    }

    #[test]
    fn no_hypotheses_are_an_error() {
        assert_eq!(
            References::new(&streams(&[0])).check(0),
            Err(MetricError::EmptyCorpus)
        );
    }

    #[test]
    fn no_references_are_an_error() {
        assert_eq!(
            References::new(&streams(&[])).check(3),
            Err(MetricError::NoReferences)
        );
    }

    #[test]
    fn unequal_lengths_name_both_counts() {
        let error = References::new(&streams(&[3, 2])).check(3).unwrap_err();
        assert_eq!(
            error,
            MetricError::UnequalLengths {
                stream: 2,
                hypotheses: 3,
                references: 2
            }
        );
        assert!(error.to_string().contains('3') && error.to_string().contains('2'));
    }

    #[test]
    fn a_line_without_any_reference_is_an_error() {
        let gaps = vec![vec![Some("a"), None], vec![Some("b"), None]];
        assert_eq!(
            References::with_gaps(&gaps).check(2),
            Err(MetricError::MissingReference {
                line: 2,
                streams: 2
            })
        );
    }

    #[test]
    fn a_gap_makes_the_count_variable() {
        let gaps = vec![vec![Some("a"), Some("b")], vec![Some("c"), None]];
        assert_eq!(
            References::with_gaps(&gaps).count(),
            ReferenceCount::Variable
        );
        assert_eq!(
            References::new(&streams(&[2, 2])).count(),
            ReferenceCount::Fixed(2)
        );
    }
}
