//! The decisions in which beam searches differ. The defaults are the paper's search (§6.1).

mod ctranslate2;
mod decisions;
mod marian;
mod near;
mod transformers;

pub(super) use self::decisions::{Rule, State, Stop};
use crate::settings::{BeamRule, SearchSettings};

/// The paper's search: every default of [`Rule`].
struct Gnmt;

impl Rule for Gnmt {}

/// The decisions of `settings`. Sampling uses the rule of GNMT.
pub(super) fn of(settings: &SearchSettings) -> Box<dyn Rule> {
    if settings.sampling.is_some() {
        return Box::new(Gnmt);
    }
    match settings.beam_rule {
        BeamRule::Gnmt => Box::new(Gnmt),
        BeamRule::Near => Box::new(near::Near),
        BeamRule::Transformers => Box::new(transformers::Transformers(settings.early_stopping)),
        BeamRule::Marian => Box::new(marian::Marian),
        BeamRule::Ctranslate2 => Box::new(ctranslate2::Ctranslate2::new(settings)),
    }
}
