//! The server over connections.

mod browser;
mod clients;
mod common;
mod http;
mod languages;
mod load;
mod prefix;
mod proxies;
mod refusals;
