//! The server over connections.

mod browser;
mod common;
mod deepl;
mod files;
mod http;
mod languages;
mod libretranslate;
mod limits;
mod load;
mod models;
mod pivot;
mod prefix;
mod proxies;
mod refusals;
mod stream;
