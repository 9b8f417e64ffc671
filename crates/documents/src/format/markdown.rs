//! Markdown: text as `pulldown-cmark` finds it; everything else stays byte for byte.

mod extensions;
mod lines;
mod options;
mod parser;
mod read;
mod verbatim;
mod write;

pub(super) use self::read::{has_shape_of, parse, texts};
pub(super) use self::write::{finish, html_lines};
