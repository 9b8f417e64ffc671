//! The Python module `burnformer._burnformer`: the [`Translator`](translator::Translator) as a
//! class, and the program `burnformer` as a function. The package around it is in
//! `python/burnformer`.
//!
//! The trade-off taken: *computations run on threads of a pool, while the caller's thread waits
//! without Python's lock* and checks for Ctrl-C twenty times a second. Other Python threads
//! therefore run, an interrupt needs no support in the search, and a forked process starts its
//! own threads (see [`compute`]).

mod compute;
mod error;
mod memory;
mod options;
mod requests;
mod results;
mod translations;
mod translator;

use std::ffi::OsString;

use pyo3::prelude::*;

use error::BurnformerError;

/// The code that Python runs as the program. It is not `-m burnformer`, which would import the
/// files of the current folder before those of the packages.
const START: &str = "import sys; sys.path = [*filter(None, sys.path)]; \
    from burnformer.__main__ import main; sys.exit(main())";

/// Runs the program `burnformer` with the command line `args`, whose first word is the program's
/// name; returns its exit code.
#[pyfunction]
fn main(py: Python<'_>, args: Vec<OsString>) -> u8 {
    py.detach(|| burnformer::run(args))
}

/// The model `name` as the program names it: `de-en` is `embedded:de-en`, and `OWNER/NAME` is
/// `hf:OWNER/NAME`, unless they are folders.
#[pyfunction]
fn model_name(name: std::path::PathBuf) -> OsString {
    translator::name_of(&name).into_os_string()
}

/// The language of `text`, or of several texts together, and how sure that is; `None` if there is
/// nothing by which to tell. With `among`, it is one of these codes unless the text is clearly in
/// another language.
#[pyfunction]
#[pyo3(signature = (text, among = Vec::new()))]
fn detect<'py>(
    py: Python<'py>,
    text: &Bound<'py, PyAny>,
    among: Vec<String>,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let texts = results::Texts::read(text)?.all;
    let found = py.detach(|| {
        let codes: Vec<&str> = among.iter().map(String::as_str).collect();
        burnformer_documents::detect(texts.iter().map(String::as_str), &codes)
    });
    found
        .map(|found| results::detection(py, &found))
        .transpose()
}

#[pymodule(gil_used = false)]
fn _burnformer(module: &Bound<'_, PyModule>) -> PyResult<()> {
    // A library says nothing besides its results; the program sets this anew.
    burnformer::output::set_quiet(true);
    let interpreter: OsString = module
        .py()
        .import("sys")?
        .getattr("executable")?
        .extract()?;
    let program = [interpreter, "-c".into(), START.into()];
    burnformer::device::prepare_within(program.to_vec());
    module.add("PROGRAM", program)?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("MODELS", burnformer::embedded::PAIRS.to_vec())?;
    module.add("OPTIONS", options::names())?;
    module.add("BurnformerError", module.py().get_type::<BurnformerError>())?;
    module.add_class::<memory::Memory>()?;
    module.add_class::<translator::Translator>()?;
    module.add_class::<translations::Translations>()?;
    module.add_function(wrap_pyfunction!(detect, module)?)?;
    module.add_function(wrap_pyfunction!(model_name, module)?)?;
    module.add_function(wrap_pyfunction!(main, module)?)
}
