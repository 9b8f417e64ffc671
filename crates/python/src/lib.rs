//! The Python module `burnformer._burnformer`: the [`Translator`](translator::Translator) as a
//! class, and the program `burnformer` as a function. The package around it is in
//! `python/burnformer`.
//!
//! The trade-off taken: *computations run on a thread pool, while the calling thread waits without
//! the GIL* and checks for Ctrl-C twenty times a second. Other Python threads keep running, an
//! interrupt needs no support in the search, and a forked process starts its own threads (see
//! [`compute`]).

mod compute;
mod error;
mod options;
mod requests;
mod results;
mod translation_memory;
mod translations;
mod translator;

use std::ffi::OsString;

use pyo3::prelude::*;

use error::BurnformerError;

/// The code that Python runs as the program. `-m burnformer` would import files of the current
/// folder before installed packages.
const START: &str = "import sys; sys.path = [*filter(None, sys.path)]; \
    from burnformer.__main__ import main; sys.exit(main())";

/// Runs the program `burnformer` with the command line `args`, including the program name. Returns
/// its exit code.
#[pyfunction]
fn main(py: Python<'_>, args: Vec<OsString>) -> u8 {
    py.detach(|| burnformer::run(args))
}

/// Returns the model `name` as the program writes it: `embedded:de-en` for `de-en` and
/// `hf:OWNER/NAME` for `OWNER/NAME`, unless they are folders.
#[pyfunction]
fn model_name(name: std::path::PathBuf) -> OsString {
    translator::name_of(&name).into_os_string()
}

/// Detects the language of `text`, or of several texts together, and a confidence. `None` if the
/// text has nothing to go by. With `among`, it is one of these codes unless the text is clearly in
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
    // A library prints nothing; the program sets this again.
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
    module.add_class::<translation_memory::Memory>()?;
    module.add_class::<translator::Translator>()?;
    module.add_class::<translations::Translations>()?;
    module.add_function(wrap_pyfunction!(detect, module)?)?;
    module.add_function(wrap_pyfunction!(model_name, module)?)?;
    module.add_function(wrap_pyfunction!(main, module)?)
}
