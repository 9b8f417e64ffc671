//! The server over connections.

mod browser;
mod clients;
mod common;
mod http;
mod languages;
mod load;
mod nginx;
mod prefix;
mod refusals;
