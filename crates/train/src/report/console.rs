//! The lines of a run on standard error, for a person who watches it.

use std::io::{self, IsTerminal, Write};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use super::line;
use super::pace::Pace;
use super::record::TrainRecord;

/// The number of steps of the bar itself, finer than any terminal shows.
const RESOLUTION: u64 = 1000;
/// The bar of a run with a limit. It takes the space that the numbers leave, about ten of eighty
/// columns.
const WITH_END: &str = "[{wide_bar}] {msg}";
/// The spinner of a run without a limit. The message is cut at the end of the terminal.
const ENDLESS: &str = "{spinner} {wide_msg}";

/// The amount that a run prints on standard error.
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
    /// Lines appear above a bar on a terminal.
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
        // A terminal that cannot move its cursor gets no bar from indicatif.
        if bar.bar.is_hidden() { Self::Plain } else { Self::Bar(bar) }
    }

    /// Shows a line.
    pub(super) fn print(&self, text: &str) {
        match self {
            Self::Quiet => {}
            // A terminal that went away must not end a run of days; train.log has the line.
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

/// The bar and the pace it shows.
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
        self.bar.set_message(line::bar_line(now, self.pace.max_steps, eta));
        self.bar.set_position((share * RESOLUTION as f64) as u64);
        self.bar.tick();
    }
}

/// The bar of a run with a limit, or the spinner of one without.
fn style(pace: &Pace) -> ProgressStyle {
    let template = if pace.is_bounded() { WITH_END } else { ENDLESS };
    // Both templates parse, see the test.
    let style = ProgressStyle::with_template(template);
    style.unwrap_or_else(|_| ProgressStyle::default_bar()).progress_chars("=> ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_templates_parse() {
        assert!([WITH_END, ENDLESS].iter().all(|it| ProgressStyle::with_template(it).is_ok()));
    }

    #[test]
    fn a_quiet_console_stays_quiet_on_a_terminal_too() {
        assert!(matches!(Console::new(Verbosity::Quiet, Pace::default()), Console::Quiet));
    }
}
