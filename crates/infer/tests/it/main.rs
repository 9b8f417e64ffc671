//! Translating as other crates do it.

mod attention;
mod common;
mod context;
mod glossary;
mod grouping;
mod model;
mod reference;
mod reports;
mod sentencepiece;
mod shortlist;
mod toy;
mod translator;
