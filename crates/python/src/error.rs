//! The exception of this module.

use pyo3::prelude::*;

pyo3::create_exception!(
    burnformer,
    BurnformerError,
    pyo3::exceptions::PyValueError,
    "What was asked for cannot be done: the sentence says why, and what to do."
);

/// `error` as an exception with the sentence that the program would print.
pub fn exception(error: &anyhow::Error) -> PyErr {
    BurnformerError::new_err(burnformer::output::message(error))
}
