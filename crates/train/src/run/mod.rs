//! The folder of a run: what it reads, what it writes, and the state from which it goes on.
//!
//! | files | hold |
//! |---|---|
//! | `texts`, `corpora`, `start_model`, `freeze` | what the run reads, and where |
//! | `dir`, `lock`, `folder` | the folder, and how files and folders are replaced in it |
//! | `state`, `recovery`, `early_stopping`, `log_interval` | the state of the run, as a checkpoint has it |
//! | `checkpoint`, `origin`, `best_model`, `average` | what is saved, and from what it was made |

pub(crate) mod average;
pub(crate) mod best_model;
pub mod checkpoint;
pub(crate) mod corpora;
pub(crate) mod dir;
pub(crate) mod folder;
pub(crate) mod log_interval;
pub(crate) mod origin;
pub(crate) mod start_model;
pub(crate) mod state;
pub(crate) mod texts;
