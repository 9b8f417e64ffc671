//! The translator in WebAssembly: text that is translated in a page never leaves it.
//!
//! The same core, tokenisers and search as in the program read a model directory from memory
//! ([`Files`]) and translate with it ([`Model`]). Documents ([`Document`]) are a module of their
//! own, which is loaded with the first one. The trade-off: an instance computes in one thread, so
//! that pages need no special headers; the package of `cargo xtask web` runs each in a worker, and
//! several workers share the sentences. Options and results are JSON, to which the package gives
//! types.
//!
//! A model or an option that is wrong is an error with one sentence. A panic ends the instance, as
//! it ends the program, with its message as an exception; the package then rejects waiting calls.

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

/// Makes a panic throw its message. Otherwise the page would only see the trap of an unreachable
/// instruction.
#[cfg(target_family = "wasm")]
#[wasm_bindgen(start)]
fn start() {
    // The constructors of the crates that make shaders. Without this call the linker has every
    // function that the page calls run all of them again.
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

/// The result of what a page asks for.
#[cfg(feature = "translator")]
type Result<T, E = Box<dyn std::error::Error>> = std::result::Result<T, E>;

/// Converts the error of the result to an exception of JavaScript.
#[cfg(feature = "translator")]
fn to_js<T>(result: Result<T>) -> Result<T, JsError> {
    result.map_err(|error| JsError::new(&error.to_string()))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    /// The script that builds the package copies these files.
    #[test]
    fn the_code_that_the_paper_page_links_to_is_there() {
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
