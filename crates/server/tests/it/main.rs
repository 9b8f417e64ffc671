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
mod prefix;
mod proxies;
mod refusals;
