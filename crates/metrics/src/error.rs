//! The errors of metrics: what can be wrong with their input.

/// A result with [`MetricError`] as its default error.
pub(crate) type Result<T, E = MetricError> = std::result::Result<T, E>;

/// An error that prevents a score from being computed. Line numbers start at 1.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MetricError {
    /// There is no hypothesis.
    #[error("there are no hypotheses to score; is the file empty?")]
    EmptyCorpus,
    /// There is no stream of references.
    #[error("there are no references; give at least one reference text")]
    NoReferences,
    /// A stream of references has another number of lines than the hypotheses.
    #[error(
        "{hypotheses} hypotheses, but reference {stream} has {references} lines; every line needs its counterpart"
    )]
    UnequalLengths {
        /// Number of the stream of references, from 1.
        stream: usize,
        /// Number of lines in the hypotheses.
        hypotheses: usize,
        /// Number of lines in that stream.
        references: usize,
    },
    /// All references of one line are missing.
    #[error(
        "line {line} has no reference in any of the {streams} streams; give one or drop the line"
    )]
    MissingReference {
        /// The line, from 1.
        line: usize,
        /// The number of streams of references.
        streams: usize,
    },
    /// Two systems that are compared have different numbers of lines.
    #[error(
        "the baseline has {baseline} lines, the system {system}; a paired test needs the same lines"
    )]
    UnequalSystems {
        /// Number of lines of the baseline.
        baseline: usize,
        /// Number of lines of the other system.
        system: usize,
    },
    /// A resampling test has zero samples.
    #[error("a resampling test needs at least one sample, 0 were asked for")]
    NoSamples,
    /// A line is too long for TER, whose search takes many steps for each word.
    #[error(
        "line {line}: {metric} would take too long for {hypothesis} words against {reference} words; \
         split the line or leave it out"
    )]
    TooManyWords {
        /// The metric's name.
        metric: &'static str,
        /// The line, from 1.
        line: usize,
        /// Number of words in the hypothesis.
        hypothesis: usize,
        /// Number of words in the reference.
        reference: usize,
    },
    /// The highest n-gram order is 0, so the metric counts nothing.
    #[error("{0} needs an n-gram order of at least 1")]
    ZeroOrder(&'static str),
    /// The tokeniser does not exist.
    #[error(
        "unknown tokeniser `{0}`; supported: 13a, intl, char, zh, none, spm, flores101 and flores200"
    )]
    UnknownTokenizer(String),
    /// The file of a tokeniser does not exist or is not a SentencePiece model.
    #[error(
        "the tokeniser {name} has a file that cannot be used: {cause}; \
         `sacrebleu --tokenize {name}` fetches it to there when it scores"
    )]
    NoTokenizerFile {
        /// The name of the tokeniser.
        name: &'static str,
        /// The file and the problem.
        cause: String,
    },
    /// The smoothing method does not exist.
    #[error("unknown smoothing `{0}`; supported: exp, floor, add-k and none")]
    UnknownSmoothing(String),
}
