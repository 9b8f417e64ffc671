//! Locks.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// A lock that outlives the panic of a thread that held it: what it guards is valid between any two
/// statements.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
