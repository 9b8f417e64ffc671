use std::path::PathBuf;

/// The reasons why the metrics file of a run cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum MetricsFileError {
    /// A complete line of a metrics file is not a [`Record`](super::Record).
    #[error("{}:{line}: not a metrics record: {message}; delete that line, the others stand on \
        their own", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The message of the parser.
        message: String,
    },
    /// A new run would mix its numbers with the numbers of an earlier run.
    #[error("{}: holds the metrics of an earlier run; resume that run, or choose an empty run \
        directory", .0.display())]
    OtherRun(PathBuf),
}
