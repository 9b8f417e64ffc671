//! The decisions in which beam searches differ. The defaults are the paper's search (§6.1).

mod decisions;
mod marian;
mod near;
mod transformers;

pub(super) use self::decisions::{Lengths, Rule, Stop};
use crate::settings::{BeamRule, EarlyStopping};

/// The paper's search: every default of [`Rule`].
struct Gnmt;

impl Rule for Gnmt {}

/// The decisions of `rule`.
pub(super) fn of(rule: BeamRule, early_stopping: EarlyStopping) -> &'static dyn Rule {
    match rule {
        BeamRule::Gnmt => &Gnmt,
        BeamRule::Near => &near::Near,
        BeamRule::Transformers => transformers::of(early_stopping),
        BeamRule::Marian => &marian::Marian,
    }
}
