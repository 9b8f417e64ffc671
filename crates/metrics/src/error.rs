//! What can be wrong with the input of a metric.

/// Every way in which a score can be refused. Line numbers count from 1.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MetricError {
    /// There is not a single hypothesis.
    #[error("there are no hypotheses to score; is the file empty?")]
    EmptyCorpus,
    /// There is not a single stream of references.
    #[error("there are no references; give at least one reference text")]
    NoReferences,
    /// A stream of references has another number of lines than the hypotheses.
    #[error(
        "{hypotheses} hypotheses, but reference {stream} has {references} lines; every line needs its counterpart"
    )]
    UnequalLengths {
        /// Which stream of references, from 1.
        stream: usize,
        /// Lines in the hypotheses.
        hypotheses: usize,
        /// Lines in that stream.
        references: usize,
    },
    /// All references of one line are missing.
    #[error(
        "line {line} has no reference in any of the {streams} streams; give one or drop the line"
    )]
    MissingReference {
        /// The line, from 1.
        line: usize,
        /// How many streams of references there are.
        streams: usize,
    },
    /// Two systems to compare translated different numbers of lines.
    #[error(
        "the baseline has {baseline} lines, the system {system}; a paired test needs the same lines"
    )]
    UnequalSystems {
        /// Lines of the baseline.
        baseline: usize,
        /// Lines of the other system.
        system: usize,
    },
    /// A resampling test was asked for without samples.
    #[error("a resampling test needs at least one sample, 0 were asked for")]
    NoSamples,
    /// A line is too long for a metric whose memory grows with the square of it.
    #[error(
        "line {line}: {metric} compares every word with every other, and {hypothesis} words against \
         {reference} words would fill the memory; split the line or leave it out"
    )]
    TooManyWords {
        /// The metric's name.
        metric: &'static str,
        /// The line, from 1.
        line: usize,
        /// Words of the hypothesis.
        hypothesis: usize,
        /// Words of the reference.
        reference: usize,
    },
    /// A metric counts no n-grams at all.
    #[error("{metric} needs an n-gram order of at least 1")]
    ZeroOrder {
        /// The metric's name.
        metric: &'static str,
    },
    /// A tokeniser that does not exist.
    #[error("unknown tokeniser `{name}`; known are 13a, intl, char, zh and none")]
    UnknownTokenizer {
        /// What was asked for.
        name: String,
    },
    /// A smoothing method that does not exist.
    #[error("unknown smoothing `{name}`; known are exp, floor, add-k and none")]
    UnknownSmoothing {
        /// What was asked for.
        name: String,
    },
    /// A language for which there are no tokenisation rules.
    #[error("no Moses tokenisation for language `{name}`; known are de and en")]
    UnknownLanguage {
        /// What was asked for.
        name: String,
    },
}
