//! Catches panics of the `tokenizers` library.
//!
//! This is sound: between calls the library keeps nothing but caches of words. It locks or borrows
//! them for a single lookup or insertion, and no longer uses them once they are poisoned.

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

thread_local! {
    static IS_QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Runs `work`. A panic becomes an error with the panic's message, and nothing is printed on the
/// terminal.
///
/// To suppress the printing, the first call installs a panic hook that passes every other panic on
/// to the previous hook.
pub(super) fn quietly<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    static HOOK: Once = Once::new();
    if !std::thread::panicking() {
        HOOK.call_once(|| {
            let before = take_hook();
            set_hook(Box::new(move |panic| {
                // Where a panic is not caught, its message is the last word.
                if !IS_QUIET.get() || cfg!(panic = "abort") {
                    before(panic);
                }
            }));
        });
    }
    let outer = IS_QUIET.replace(true);
    let result = catch_unwind(AssertUnwindSafe(work));
    IS_QUIET.set(outer);
    result.map_err(|panic| message(&*panic))
}

/// The result of `work`. A panic, which the panic hook has reported, gives `None`, and so does an
/// error.
pub(super) fn survived<T, E>(work: impl FnOnce() -> Result<T, E>) -> Option<T> {
    catch_unwind(AssertUnwindSafe(work)).ok()?.ok()
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or(panic.downcast_ref::<&str>().copied());
    text.and_then(|text| text.lines().next())
        .unwrap_or("it panics")
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_error_that_says_what_the_panic_says() {
        assert_eq!(quietly(|| 7), Ok(7));
        assert_eq!(
            quietly(|| panic!("first\nsecond")),
            Err::<(), _>("first".to_owned())
        );
        assert_eq!(
            quietly(|| Vec::<u8>::new()[3])
                .unwrap_err()
                .split(':')
                .next(),
            Some("index out of bounds")
        );
        assert_eq!(survived(|| Ok::<_, ()>(7)), Some(7));
        assert_eq!(survived(|| Err::<(), _>(7)), None);
    }
}
