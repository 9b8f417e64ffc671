//! A Transformer at work: attention maps as HTML and text.
//!
//! The crate takes plain numbers and returns documents. It does not depend on models, tokenisers or
//! Burn, so that any program can draw its measurements. (The feature `infer` adds `Sentence::new` for
//! the attention of a `burnformer_infer::Translator`.) Text uses the fonts of the viewing program.
//!
//! | to show | use |
//! |---|---|
//! | attention in a browser | [`page`], [`linked_page`] |
//! | attention in a terminal | [`blocks`] |
//! | the habits of heads over a text | [`HeadHabits`], [`heads_table`] |

// The programs in the README are compiled and run as documentation tests.
#![cfg_attr(doctest, doc = include_str!("../README.md"))]

mod attention;

pub use attention::{
    AttentionMatrix, HeadHabit, HeadHabits, HeadRole, PAGE_SCRIPT, PAGE_STYLE, Panel, PanelKind,
    Sentence, blocks, heads_table, linked_page, page,
};
