//! Documents of each format through a model.

mod common;
mod html;
mod markdown;
mod pages;
mod properties;
mod sentences;
mod srt;
mod text;
