//! The parts of a siege, which all its threads follow.

use std::sync::atomic::{AtomicUsize, Ordering};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Known requests alone.
    Quiet,
    /// Known requests and attacks.
    Siege,
    /// The same, while another process takes over.
    Restart,
    /// The threads end.
    End,
}

const PHASES: [Phase; 4] = [Phase::Quiet, Phase::Siege, Phase::Restart, Phase::End];

/// The present phase.
#[derive(Default)]
pub struct Clock(AtomicUsize);

impl Clock {
    pub fn phase(&self) -> Phase {
        PHASES[self.0.load(Ordering::SeqCst)]
    }

    pub fn begin(&self, phase: Phase) {
        self.0.store(phase as usize, Ordering::SeqCst);
    }

    pub fn is_over(&self) -> bool {
        self.phase() == Phase::End
    }
}
