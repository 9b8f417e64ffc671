//! The exception of this module.

use pyo3::prelude::*;

pyo3::create_exception!(
    burnformer,
    BurnformerError,
    pyo3::exceptions::PyValueError,
    "Raised when a call fails. The message gives the reason and a remedy."
);

/// Converts `error` to an exception with the message that the program would print.
pub fn exception(error: &anyhow::Error) -> PyErr {
    BurnformerError::new_err(burnformer::output::in_one_line(error))
}
