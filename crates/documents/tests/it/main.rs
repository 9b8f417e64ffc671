//! Documents of each format through a model.

mod answers;
mod catalogues;
mod common;
mod encodings;
mod extensions;
mod glued;
mod grammars;
mod html;
mod invented;
mod invisible;
mod languages;
mod markdown;
mod messages;
mod notes;
mod office;
mod others;
mod pages;
mod plurals;
mod properties;
mod real_files;
mod sentences;
mod srt;
mod suites;
mod text;
mod yaml;
