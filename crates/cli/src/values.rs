//! Values of options by their names.

use std::path::PathBuf;

use burnformer_core::{ComputeType, Precision};
use clap::builder::{PathBufValueParser, PossibleValuesParser, TypedValueParser};

use crate::embedded;

/// Parses the name of a precision.
pub fn precision() -> impl TypedValueParser<Value = Precision> {
    let named = |name: String| Precision::ALL.into_iter().find(|p| p.name() == name);
    PossibleValuesParser::new(Precision::ALL.map(Precision::name))
        .map(move |name| named(name).expect("one of the names above"))
}

/// Parses the name of a compute type.
pub fn compute_type() -> impl TypedValueParser<Value = ComputeType> {
    let named = |name: String| ComputeType::ALL.into_iter().find(|compute| compute.name() == name);
    PossibleValuesParser::new(ComputeType::ALL.map(ComputeType::name))
        .map(move |name| named(name).expect("one of the names above"))
}

/// Parses the folder of a model, or the name of one inside the program, which is unpacked.
pub fn model() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().try_map(|name| embedded::model_dir(&name))
}

/// Parses the path of a text, or the name of one inside the program, which is unpacked.
pub fn text() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().try_map(|name| embedded::text_file(&name))
}
