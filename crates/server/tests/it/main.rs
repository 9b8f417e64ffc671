//! The server over connections.

mod common;
mod http;
mod load;
mod refusals;
