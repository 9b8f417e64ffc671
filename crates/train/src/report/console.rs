//! The lines of a run on standard error, with its progress and remaining time.

use std::io::{self, IsTerminal, Write};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::record::{TrainRecord, bar_line};

/// The number of steps of the bar, finer than any terminal.
const RESOLUTION: u64 = 1000;
/// The bar of a run with a limit. It fills the space beside the numbers, about ten of eighty
/// columns.
const WITH_END: &str = "[{wide_bar}] {msg}";
/// The spinner of a run without a limit. The message is cut at the width of the terminal.
const ENDLESS: &str = "{spinner} {wide_msg}";

/// The output of a run on standard error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Verbosity {
    /// Every line of its log and, on a terminal, a bar.
    #[default]
    Normal,
    /// Nothing.
    Quiet,
}

/// The destination of the lines.
#[derive(Debug)]
pub(super) enum Console {
    /// Lines are not printed.
    Quiet,
    /// Lines go to standard error one by one: a file, a pipe, or the log of a job.
    Plain,
    /// Lines go above a bar on a terminal.
    Bar(Bar),
}

impl Console {
    /// A bar if standard error is a terminal, otherwise plain lines.
    pub(super) fn new(verbosity: Verbosity, pace: Pace) -> Self {
        if verbosity == Verbosity::Quiet {
            return Self::Quiet;
        }
        if !io::stderr().is_terminal() {
            return Self::Plain;
        }
        let bar = Bar::new(pace);
        // indicatif shows no bar on a terminal without cursor movement.
        if bar.bar.is_hidden() {
            Self::Plain
        } else {
            Self::Bar(bar)
        }
    }

    /// Shows a line.
    pub(super) fn print(&self, text: &str) {
        match self {
            Self::Quiet => {}
            // A closed terminal must not end a long run; train.log has the line.
            Self::Plain => drop(writeln!(io::stderr(), "{text}")),
            Self::Bar(bar) => bar.bar.println(text),
        }
    }

    /// Moves the bar, if there is one.
    pub(super) fn progress(&mut self, now: &TrainRecord) {
        if let Self::Bar(bar) = self {
            bar.show(now);
        }
    }

    /// Removes the bar; the lines stay.
    pub(super) fn finish(&self) {
        if let Self::Bar(bar) = self {
            bar.bar.finish_and_clear();
        }
    }
}

/// The bar and its pace.
#[derive(Debug)]
pub(super) struct Bar {
    bar: ProgressBar,
    pace: Pace,
}

impl Bar {
    fn new(pace: Pace) -> Self {
        let bar = ProgressBar::with_draw_target(Some(RESOLUTION), ProgressDrawTarget::stderr());
        bar.set_style(style(&pace));
        Self { bar, pace }
    }

    fn show(&mut self, now: &TrainRecord) {
        let eta = self.pace.eta(now.step, now.seconds);
        let share = self.pace.share(now.step, now.seconds);
        self.bar
            .set_message(bar_line(now, self.pace.max_steps, eta));
        self.bar.set_position((share * RESOLUTION as f64) as u64);
        self.bar.tick();
    }
}

/// The bar of a run with a limit, or the spinner of one without.
fn style(pace: &Pace) -> ProgressStyle {
    let template = if pace.is_bounded() { WITH_END } else { ENDLESS };
    // Both templates parse, see the test.
    let style = ProgressStyle::with_template(template);
    style
        .unwrap_or_else(|_| ProgressStyle::default_bar())
        .progress_chars("=> ")
}

/// The limits of a run and its pace so far. The nearest limit ends the run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pace {
    /// The limit in updates.
    pub(super) max_steps: Option<u64>,
    /// The limit in seconds of training.
    pub(super) max_seconds: Option<f64>,
    /// The first step and seconds of this process; not 0 in a resumed run.
    first: Option<(u64, f64)>,
}

impl Pace {
    /// The pace before the start of a run.
    pub fn new(max_steps: Option<u64>, max_seconds: Option<f64>) -> Self {
        Self {
            max_steps,
            max_seconds,
            first: None,
        }
    }

    /// Returns whether the run has a limit.
    pub(super) fn is_bounded(&self) -> bool {
        self.max_steps.is_some() || self.max_seconds.is_some()
    }

    /// The share of the run that is done, 0 to 1, by the nearer limit; 0 without a limit.
    pub(super) fn share(&self, step: u64, seconds: f64) -> f64 {
        let step_share = self
            .max_steps
            .map_or(0.0, |max| step as f64 / max.max(1) as f64);
        let time_share = self.max_seconds.map_or(0.0, |max| seconds / max.max(1e-9));
        step_share.max(time_share).clamp(0.0, 1.0)
    }

    /// The number of seconds until the nearer limit; `None` before a pace is known.
    pub(super) fn eta(&mut self, step: u64, seconds: f64) -> Option<f64> {
        let (first_step, first_seconds) = *self.first.get_or_insert((step, seconds));
        let done = step.saturating_sub(first_step);
        let a_step = (done > 0).then(|| (seconds - first_seconds) / done as f64);
        let by_steps = self
            .max_steps
            .zip(a_step)
            .map(|(max, cost)| max.saturating_sub(step) as f64 * cost);
        let by_time = self.max_seconds.map(|max| (max - seconds).max(0.0));
        match (by_steps, by_time) {
            (Some(steps), Some(time)) => Some(steps.min(time)),
            (steps, time) => steps.or(time),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_templates_parse() {
        assert!(
            [WITH_END, ENDLESS]
                .iter()
                .all(|it| ProgressStyle::with_template(it).is_ok())
        );
    }

    #[test]
    fn a_quiet_console_stays_quiet_on_a_terminal_too() {
        assert!(matches!(
            Console::new(Verbosity::Quiet, Pace::default()),
            Console::Quiet
        ));
    }

    #[test]
    fn a_resumed_run_is_timed_from_where_it_resumed() {
        let mut pace = Pace::new(Some(1000), None);
        assert_eq!(pace.eta(500, 9000.0), None);
        // 100 steps in 50 s: the remaining 400 take 200 s, independent of the first 500.
        assert_eq!(pace.eta(600, 9050.0), Some(200.0));
        assert_eq!(pace.eta(1200, 9350.0), Some(0.0));
    }

    #[test]
    fn the_nearer_limit_ends_the_run() {
        let mut pace = Pace::new(Some(1000), Some(100.0));
        assert_eq!(pace.eta(0, 0.0), Some(100.0));
        assert_eq!(pace.eta(10, 20.0), Some(80.0));
        assert_eq!(pace.eta(900, 90.0), Some(10.0));
        assert_eq!(pace.share(10, 20.0), 0.2);
        assert_eq!(pace.share(900, 20.0), 0.9);
        assert_eq!(pace.share(900, 1e6), 1.0);
    }

    #[test]
    fn a_run_without_limits_has_no_end_to_show() {
        let mut pace = Pace::new(None, None);
        assert!(!pace.is_bounded());
        assert_eq!((pace.eta(1, 1.0), pace.eta(2, 2.0)), (None, None));
        assert_eq!(pace.share(2, 2.0), 0.0);
    }
}
