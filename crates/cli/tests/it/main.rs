//! The program as users run it.

mod adapt;
mod attention;
mod bad_input_config;
mod bad_input_corpus;
mod bad_input_model;
mod bad_input_scores;
mod bad_input_translate;
mod catalogues;
mod common;
mod context;
mod crossing;
mod devices;
mod distill;
mod documents;
mod doors;
mod embedded_models;
mod endless;
mod examples;
mod extensions;
mod faults;
mod files;
mod glossary;
mod help;
mod hints;
mod interop;
mod languages;
mod limits;
#[cfg(feature = "mpi")]
mod mpi;
mod n_best;
mod named;
mod pairs;
mod pipeline;
mod pivot;
mod plot;
mod prefixes;
mod quantize;
mod quiet;
mod runs;
mod same_file;
mod scores;
#[cfg(feature = "serve")]
mod serve;
mod settings;
mod shards;
mod shortlist;
#[cfg(target_os = "linux")]
mod streams;
mod texts;
mod train_inputs;
mod tsv;
