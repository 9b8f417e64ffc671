//! Turns Burn's panics into errors. Burn panics if a driver fails or a server disappears. Panics on
//! the CPU stay panics, because they are bugs of this program.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind, set_hook, take_hook};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Result, anyhow};

/// If true, a device other than the CPU is in use. Its failures are not bugs of this program.
static IS_FOREIGN: AtomicBool = AtomicBool::new(false);

/// Records that a device other than the CPU is opened. Must be called for each such device.
pub fn note_foreign() {
    IS_FOREIGN.store(true, Ordering::Relaxed);
}

fn is_foreign() -> bool {
    IS_FOREIGN.load(Ordering::Relaxed)
}

/// Runs `work`. If it opens a device other than the CPU and the device fails, the result is an
/// error with `advice`.
///
/// # Errors
/// Returns the errors of `work`, and the failure of a device.
pub fn guarded<T>(advice: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
    let earlier = Arc::new(take_hook());
    let print = Arc::clone(&earlier);
    set_hook(Box::new(move |panic| {
        if !is_foreign() {
            print(panic);
        }
    }));
    let result = catch_unwind(AssertUnwindSafe(work));
    set_hook(Box::new(move |panic| earlier(panic)));
    result.unwrap_or_else(|panic| {
        if !is_foreign() {
            resume_unwind(panic);
        }
        let advice = if advice.is_empty() {
            String::new()
        } else {
            format!("; {advice}")
        };
        Err(anyhow!("the device failed: {}{advice}", cause(&*panic)))
    })
}

/// Runs `work`, returns its panics as errors and keeps their messages from the terminal.
///
/// # Errors
/// Returns the error of `work`, or the message of its panic.
pub fn quietly<T>(work: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    let hook = take_hook();
    set_hook(Box::new(|_| ()));
    let result = catch_unwind(AssertUnwindSafe(work));
    set_hook(hook);
    result.unwrap_or_else(|panic| Err(cause(&*panic)))
}

/// The message of a panic.
pub fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or(panic.downcast_ref::<&str>().copied())
        .unwrap_or("it panics")
}

/// The first line of the message of a panic.
fn cause(panic: &(dyn Any + Send)) -> String {
    panic_text(panic)
        .lines()
        .next()
        .unwrap_or_default()
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_error_in_one_line() {
        let result = quietly::<()>(|| panic!("no memory\nbacktrace"));
        assert_eq!(result, Err("no memory".into()));
    }

    #[test]
    fn errors_without_a_panic_are_returned_unchanged() {
        let error =
            guarded("lower the budget", || Err::<(), _>(anyhow!("no such file"))).unwrap_err();
        assert_eq!(error.to_string(), "no such file");
    }
}
