//! The server over connections.

mod clients;
mod common;
mod http;
mod languages;
mod load;
mod prefix;
mod refusals;
