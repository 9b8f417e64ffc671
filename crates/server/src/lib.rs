//! Translation over HTTP: sentences of all requests share batches, documents keep their markup.
//!
//! [`Server::new`] takes the models and the limits. [`Server::run`] answers requests until it is
//! told to stop. It serves a web page and three interfaces. Clients of LibreTranslate
//! (`/translate`, `/languages`, `/detect`, …) and of DeepL (`/v2/translate`, `/v2/document`, …)
//! work unchanged. `/v1/translate` and `/v1/sentences` add scores, alternatives, forced prefixes
//! and glossaries. `/openapi.json` describes all of them.
//!
//! The trade-off taken: *one queue per model between the connections and the search*. The text of a
//! request is split into sentences. The sentences of all requests wait in one queue, and a thread
//! takes enough of them to fill a batch. A translation depends only on its sentence. Other requests
//! can change an answer only through the rounding of sums, when two words have almost equal scores.
//! Senders take turns in the queue, and so do the requests of each sender. Turns are taken sentence
//! by sentence and weighted by cost, so neither a long document nor a client with many requests
//! keeps a short request waiting. The queue is bounded: beyond its length the answer is 503 with
//! `Retry-After`. When a client disconnects, its search ends before the next step. No computation
//! above a tenth of a millisecond runs on the threads that answer requests.
//!
//! | idea | item |
//! |---|---|
//! | translation | [`Engine`]; `TranslatorEngine` makes one of a `Translator` |
//! | models by language pair, loaded when first needed | [`ModelSource`] |
//! | bounds on what a client may ask | [`Limits`] |
//! | requests that share batches | [`QueueSettings`] |
//! | the language of a text | [`detect`] |

// The programs in the README are compiled and run as documentation tests.
#![cfg_attr(doctest, doc = include_str!("../README.md"))]

mod api;
mod bodies;
mod cache;
mod compute;
mod connections;
mod engine;
mod error;
mod fair;
mod formatting;
mod language;
mod metrics;
mod models;
mod pages;
mod pipeline;
mod queue;
mod sender;
mod server;
mod settings;
mod store;
mod text;

pub use burnformer_documents::{Detection, detect};
pub use engine::TranslatorEngine;
pub use engine::{Candidate, Choice, Engine, EngineError, Job, Sentence};
pub use error::ServerError;
pub use ipnet::IpNet;
pub use language::LanguagePair;
pub use models::{MemorySource, ModelSource};
pub use queue::QueueSettings;
pub use server::Server;
pub use settings::{LOOPBACK, Limits, ServerSettings};
