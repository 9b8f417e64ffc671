//! The folder of a run: its input, its output, and the state from which it resumes.
//!
//! | files | hold |
//! |---|---|
//! | `texts`, `corpora`, `start_model` | the input of the run |
//! | `dir`, `folder` | the folder, its lock, and how files and folders in it are replaced |
//! | `state`, `log_interval` | the state of the run that a checkpoint contains |
//! | `checkpoint`, `origin`, `best_model`, `average` | saved models and checkpoints, and their origin |

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
