use std::path::PathBuf;

use burnformer_infer::LanguageError;

/// The reasons why a run cannot begin or resume in its folder.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The directory of a new run holds a run.
    #[error("{}: holds a run already; continue it with --out {} --resume, or choose another --out",
        .0.display(), .0.display())]
    Exists(PathBuf),
    /// The folder holds something else that a run would overwrite.
    #[error("{}: holds no run, but {}, which training would overwrite; choose another --out, or \
        move it away", path.display(), found.strip_prefix(path).unwrap_or(found).display())]
    FolderTaken {
        /// The folder.
        path: PathBuf,
        /// The file that would be overwritten.
        found: PathBuf,
    },
    /// Another process trains in the run directory.
    #[error("{}: another process{} trains in this folder; wait for it, or choose another --out",
        path.display(), if holder.is_empty() { String::new() } else { format!(" ({holder})") })]
    InUse {
        /// The run directory.
        path: PathBuf,
        /// The id of the other process, if known.
        holder: String,
    },
    /// There is nothing to resume.
    #[error("{}: {}", .0.display(), if .0.exists() {
        "no checkpoint to resume from; start the run without --resume"
    } else {
        "no such folder, so there is no run to resume; check the path"
    })]
    NothingToResume(PathBuf),
}

/// The reasons why checkpoints cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CheckpointError {
    /// The state of a checkpoint cannot be used.
    #[error("{}: {message}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// The problem.
        message: String,
    },
    /// A checkpoint belongs to another corpus, tokeniser or configuration.
    #[error("{}: the run cannot be resumed: {what}; restore the old value, or start a new \
        run with another --out", path.display())]
    OtherRun {
        /// The checkpoint.
        path: PathBuf,
        /// The change.
        what: String,
    },
    /// All checkpoints of the run are damaged.
    #[error("{}: every checkpoint is damaged:\n{}\ncopy one back from a backup, or start a new run \
        with another --out", path.display(), damage.join("\n"))]
    AllDamaged {
        /// The run directory.
        path: PathBuf,
        /// The damage of each checkpoint, the newest first.
        damage: Vec<String>,
    },
    /// Models cannot be averaged: there are none, or their shapes differ.
    #[error("averaging: {0}")]
    Average(String),
}

/// The reasons why a tokeniser cannot name the languages of `data.pairs`.
#[derive(Debug, thiserror::Error)]
pub enum LanguagesError {
    /// The vocabulary does not have the languages of a pair.
    #[error("data.pairs, {} → {}: {cause}", pair[0], pair[1])]
    Unknown {
        /// The codes of the pair.
        pair: [String; 2],
        /// The cause.
        cause: LanguageError,
    },
    /// The vocabulary has no tokens of languages.
    #[error("data.pairs has the target languages {}, but the tokeniser has no tokens that name languages; \
        train a new one (without tokenizer.files and training.from), or name one target language", .0.join(", "))]
    NoTokens(Vec<String>),
    /// The texts name no languages.
    #[error("{}: the texts of this model begin with tokens that name their languages; name them \
        with --languages SOURCE TARGET (data.languages), or in data.pairs", .0.display())]
    Needed(PathBuf),
}

/// The reason why a tokeniser cannot separate the sentences of a context.
#[derive(Debug, thiserror::Error)]
#[error(
    "data.context needs a token <sep> in the {0} vocabulary, and the tokeniser has none; train a new \
    one (without tokenizer.files and training.from), or leave data.context out"
)]
pub struct NoSeparator(
    /// The side.
    pub &'static str,
);

/// The reasons why a run cannot start from a model.
#[derive(Debug, thiserror::Error)]
pub enum StartModelError {
    /// The vocabularies of a model and its tokenisers differ.
    #[error("{}: the {side} tokeniser has {tokens} tokens, but the model has {rows}; choose the \
        model's own tokenisers", dir.display())]
    Vocabulary {
        /// The model directory.
        dir: PathBuf,
        /// The side.
        side: &'static str,
        /// Tokens of the tokeniser.
        tokens: usize,
        /// Tokens of the model.
        rows: usize,
    },
}
