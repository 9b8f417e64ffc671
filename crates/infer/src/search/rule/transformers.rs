//! The search of Hugging Face's transformers.

use super::decisions::{Lengths, Rule, Stop};
use crate::settings::EarlyStopping;

/// [`BeamRule::Transformers`](crate::BeamRule::Transformers).
struct Transformers(EarlyStopping);

/// The search with this `early_stopping`.
pub(super) fn of(early_stopping: EarlyStopping) -> &'static dyn Rule {
    match early_stopping {
        EarlyStopping::Current => &Transformers(EarlyStopping::Current),
        EarlyStopping::Full => &Transformers(EarlyStopping::Full),
        EarlyStopping::Never => &Transformers(EarlyStopping::Never),
    }
}

impl Rule for Transformers {
    fn closes(&self, rank: usize, beam: usize) -> bool {
        rank < beam
    }

    fn ranks_cut(&self) -> bool {
        true
    }

    fn needed(&self, _n_best: usize, beam: usize) -> usize {
        beam
    }

    fn stop(&self, lengths: Lengths) -> Stop {
        match self.0 {
            EarlyStopping::Current => Stop::WhenWorseAt(lengths.step),
            EarlyStopping::Full => Stop::AtOnce,
            EarlyStopping::Never => Stop::WhenWorseAt(lengths.limit),
        }
    }
}
