//! What the program writes: results, messages, and the error that ends it.

mod csv;
mod failure;
mod file;
mod message;
mod messages;

pub use csv::csv;
pub use failure::{Closed, NoModel, Stopped, exit_code, print_usage, unwritable, wrong_usage};
pub use file::{OnFailure, Output, check_name, check_new, check_writable, print, write_whole};
pub use message::in_one_line;
pub use messages::{is_quiet, note, note_terminal, say, set_quiet, verbosity};
