//! Progress lines while the texts of a run are prepared.

use std::io::{self, IsTerminal, Write as _};

use burnformer_data::{Progress, Stage};
use burnformer_train::report::Verbosity;

use crate::output::say;

/// Prints a line to standard error at each stage, and the progress if standard error is a terminal.
pub(super) fn progress(verbosity: Verbosity) -> impl FnMut(Progress) {
    let terminal = io::stderr().is_terminal();
    let mut stage: Option<Stage> = None;
    move |now: Progress| {
        if verbosity == Verbosity::Quiet {
            return;
        }
        let label = match now.stage {
            Stage::ReadText => "reading text",
            Stage::TrainTokenizer => "training the tokeniser",
            Stage::Tokenize => "tokenising",
        };
        if stage != Some(now.stage) {
            stage = Some(now.stage);
            say(label);
        } else if terminal && now.lines > 0 {
            // The run continues if the terminal is closed.
            let _ = write!(io::stderr(), "\r{label}: {} lines\r", now.lines);
        }
    }
}
