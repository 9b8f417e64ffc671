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
mod crossing;
mod devices;
mod distill;
mod embedded_models;
mod endless;
mod examples;
mod extensions;
mod faults;
mod files;
mod glossary;
mod hints;
mod interop;
mod languages;
#[cfg(feature = "mpi")]
mod mpi;
mod named;
mod pipeline;
mod quantize;
mod runs;
mod same_file;
mod scores;
#[cfg(feature = "serve")]
mod serve;
mod settings;
mod shards;
mod shortlist;
#[cfg(target_os = "linux")]
mod steps;
mod streams;
mod texts;
mod train_inputs;
mod tsv;
