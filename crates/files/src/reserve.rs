//! Memory for whole files, which the system may refuse.

use std::cell::Cell;
use std::collections::TryReserveError;

thread_local! {
    static IS_REFUSABLE: Cell<bool> = const { Cell::new(false) };
}

/// Reserves memory for exactly `count` more elements, like [`Vec::try_reserve_exact`]. Meanwhile,
/// [`is_refusable`] is true on this thread.
///
/// Large files are read into memory reserved here, so that the error names the file.
///
/// # Errors
/// If the system has too little memory.
pub fn try_reserve<T>(elements: &mut Vec<T>, count: usize) -> Result<(), TryReserveError> {
    IS_REFUSABLE.set(true);
    let reserved = elements.try_reserve_exact(count);
    IS_REFUSABLE.set(false);
    reserved
}

/// Returns whether the allocator's caller on this thread handles a refusal.
///
/// An allocator cannot tell [`Vec::try_reserve`] from [`Vec::reserve`]. An allocator that ends the
/// process when memory is short asks here first, and returns null if the result is true.
pub fn is_refusable() -> bool {
    IS_REFUSABLE.get()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_that_no_machine_has_is_an_error() {
        let mut elements: Vec<u64> = vec![1];
        // More than the 47 bits of an address space.
        assert!(try_reserve(&mut elements, 1 << 46).is_err());
        assert!(try_reserve(&mut elements, usize::MAX).is_err());
        assert!(!is_refusable());
        try_reserve(&mut elements, 3).unwrap();
        assert_eq!((elements.capacity(), elements), (4, vec![1]));
    }
}
