//! Error messages: what failed, and what helps.

use std::fmt::{self, Display};
use std::io;

/// The parts of an error message. The libraries write `cause; remedy` in one line, for logs and
/// JSON; on the terminal the remedy has a line of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Message {
    cause: String,
    remedy: Option<String>,
}

impl Message {
    /// The message `text`.
    pub fn of_text(text: &str) -> Self {
        match text.rsplit_once("; ") {
            Some((cause, remedy)) => Self {
                cause: cause.into(),
                remedy: Some(remedy.into()),
            },
            None => Self {
                cause: text.into(),
                remedy: None,
            },
        }
    }

    /// The message of `error` and of its causes, without causes that are already part of it. The
    /// first remedy is kept, except that a system limit has its own.
    pub fn of(error: &anyhow::Error) -> Self {
        let mut whole = Self {
            cause: String::new(),
            remedy: None,
        };
        let mut text_so_far = String::new();
        for link in error.chain() {
            let text = link.to_string();
            if text_so_far.contains(&text) {
                continue;
            }
            text_so_far.push_str(&text);
            let part = Self::of_text(&text);
            if !whole.cause.is_empty() {
                whole.cause.push_str(": ");
            }
            whole.cause.push_str(&part.cause);
            whole.remedy = whole.remedy.or(part.remedy);
        }
        let number = system_error(error, &whole.cause);
        let other_remedy = remedy_of_generation(&whole.cause).or(number.and_then(remedy_of_limit));
        if let Some(remedy) = other_remedy {
            whole.remedy = Some(remedy.into());
        }
        if whole.remedy.is_none() {
            whole.remedy = number.and_then(remedy_of_disk).map(String::from);
        }
        whole
    }
}

impl Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.cause)?;
        match &self.remedy {
            Some(remedy) => write!(f, "\nhint: {remedy}"),
            None => Ok(()),
        }
    }
}

/// Returns the number of the system's error in `error`: of the first such error among its causes,
/// otherwise the number in the text `cause`, as several errors of libraries quote the system's
/// text.
fn system_error(error: &anyhow::Error, cause: &str) -> Option<i32> {
    if !cfg!(unix) {
        return None;
    }
    error
        .chain()
        .find_map(|link| link.downcast_ref::<io::Error>()?.raw_os_error())
        .or_else(|| {
            let (_, rest) = cause.rsplit_once("(os error ")?;
            rest.split_once(')')?.0.parse().ok()
        })
}

/// The remedy for a `generation.json` that was changed by hand.
fn remedy_of_generation(cause: &str) -> Option<&'static str> {
    let is_changed = [
        "generation.json: hash differs",
        "generation.json: size differs",
    ]
    .iter()
    .any(|text| cause.contains(text));
    is_changed.then_some(
        "copy the whole directory anew (`burnformer settings MODEL --set KEY=VALUE` changes the \
        settings)",
    )
}

/// The remedy for a limit of the system, which is better than any other remedy.
fn remedy_of_limit(number: i32) -> Option<&'static str> {
    match number {
        20 => Some("there is a file in the place of a folder; name another path"),
        24 => Some("raise the limit on open files (`ulimit -n`)"),
        27 => Some("raise the limit on the size of files (`ulimit -f`)"),
        _ => None,
    }
}

/// The remedy for an error of the system that has no other remedy.
fn remedy_of_disk(number: i32) -> Option<&'static str> {
    match number {
        4 => Some("run the same command again"),
        5 => Some("check the disk, then run the same command again"),
        12 => Some("free some memory, then run the same command again"),
        13 => Some("check the permissions of the path and its folder"),
        28 | 122 => Some(
            "free some space on its disk (`df -h` and `df -i` show it), then run the same command \
            again",
        ),
        _ => None,
    }
}

/// Returns the message of `error` and of its causes in one line: `cause; remedy`.
pub fn in_one_line(error: &anyhow::Error) -> String {
    let Message { cause, remedy } = Message::of(error);
    match remedy {
        Some(remedy) => format!("{cause}; {remedy}"),
        None => cause,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(unix)]
    fn a_limit_of_the_system_has_its_remedy() {
        for (code, remedy) in [(20, "another path"), (24, "ulimit -n"), (27, "ulimit -f")] {
            let cause = io::Error::from_raw_os_error(code);
            let message = Message::of(&anyhow::anyhow!("a/b: {cause}; check the disk"));
            assert!(message.cause.starts_with("a/b: "), "{message}");
            assert!(message.remedy.unwrap().contains(remedy));
        }
    }

    #[test]
    #[cfg(unix)]
    fn an_error_of_the_disk_has_a_remedy_if_it_has_no_other() {
        for (code, remedy) in [
            (5, "check the disk"),
            (12, "memory"),
            (13, "permissions"),
            (28, "df -h"),
        ] {
            let cause = || io::Error::from_raw_os_error(code);
            let message = Message::of(&anyhow::Error::from(cause()).context("a/b"));
            assert!(message.cause.starts_with("a/b: "), "{message}");
            assert!(message.remedy.unwrap().contains(remedy));
            let message = Message::of(&anyhow::Error::from(cause()).context("a/b; wait"));
            assert_eq!(message.remedy.as_deref(), Some("wait"));
        }
    }

    #[test]
    fn a_cause_is_named_once() {
        let error = anyhow::anyhow!("no such file").context("a.toml: no such file; check it");
        assert_eq!(in_one_line(&error), "a.toml: no such file; check it");
        assert_eq!(in_one_line(&anyhow::anyhow!("b").context("a")), "a: b");
    }

    #[test]
    fn the_remedy_has_a_line_of_its_own_behind_all_causes() {
        let error =
            anyhow::anyhow!("disk full; c").context("a; b: cannot be written; check the disk");
        let text = Message::of(&error).to_string();
        assert_eq!(
            text,
            "a; b: cannot be written: disk full\nhint: check the disk"
        );
    }
}
