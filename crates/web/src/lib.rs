//! The translator in WebAssembly. Text translated in a page never leaves it.
//!
//! [`Files`] holds a model directory in memory, and [`Model`] translates with it, by the same core,
//! tokenisers and search as the program. Documents ([`Document`]) are a separate module that is
//! loaded with the first document. The trade-off: an instance computes in one thread, so that pages
//! need no special headers. The package of `cargo xtask web` runs each instance in a worker, and
//! several workers share the sentences. Options and results are JSON; the package adds types.
//!
//! A wrong model or option is an error with one sentence. A panic ends the instance, as it ends the
//! program, and throws its message as an exception. The package then rejects waiting calls.

#[cfg(feature = "documents")]
mod document;
#[cfg(feature = "paper")]
mod lesson;
#[cfg(feature = "translator")]
mod options;
#[cfg(feature = "paper")]
mod paper;
#[cfg(feature = "translator")]
mod translator;

use wasm_bindgen::prelude::*;

#[cfg(feature = "documents")]
pub use document::{Document, detect};
#[cfg(feature = "translator")]
pub use translator::{Files, Model};

/// Makes a panic throw its message. Otherwise the page would only see an `unreachable` trap.
#[cfg(target_family = "wasm")]
#[wasm_bindgen(start)]
fn start() {
    // The constructors of the crates that generate shaders. Without this call, the linker makes
    // every exported function run all of them again.
    #[cfg(feature = "gpu")]
    unsafe extern "C" {
        // SAFETY: it is called once, before any other function of the module.
        safe fn __wasm_call_ctors();
    }
    #[cfg(feature = "gpu")]
    __wasm_call_ctors();
    std::panic::set_hook(Box::new(|panic| {
        wasm_bindgen::throw_str(&panic.to_string())
    }));
}

/// The result of a call from the page.
#[cfg(feature = "translator")]
type Result<T, E = Box<dyn std::error::Error>> = std::result::Result<T, E>;

/// Converts the error of the result to a JavaScript exception.
#[cfg(feature = "translator")]
fn to_js<T>(result: Result<T>) -> Result<T, JsError> {
    result.map_err(|error| JsError::new(&error.to_string()))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    /// The script that builds the package copies these files.
    #[test]
    fn code_linked_by_the_paper_page_exists() {
        let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let links = include_str!("../page/paper.html")
            .split("href=\"code/")
            .skip(1);
        let files = links.map(|link| link.split_once(".txt\"").unwrap().0);
        let (there, missing): (Vec<&str>, Vec<&str>) = files.partition(|file: &&str| {
            let (name, file) = file.split_once('/').unwrap();
            crates.join(name).join("src").join(file).is_file()
        });
        assert!(there.len() > 10 && missing.is_empty(), "{missing:?}");
    }
}
