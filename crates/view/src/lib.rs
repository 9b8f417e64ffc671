//! A Transformer at work: attention maps as HTML and text, curves as SVG.
//!
//! The crate takes plain numbers and returns documents. It does not depend on models, tokenisers or
//! Burn, so that any program can draw its measurements. (The feature `infer` adds `Sentence::new`,
//! which takes the attention of a `burnformer_infer::Translator`.) Everything has one look, chosen
//! for print and for colour-blind readers: Okabe and Ito's palette, with dashes in addition to
//! colours. Text uses the fonts of the viewing program, so that every script can be read.
//!
//! | to show | use |
//! |---|---|
//! | attention in a browser | [`page`], [`linked_page`] |
//! | attention in a terminal | [`blocks`] |
//! | the habits of heads over a text | [`HeadHabits`], [`heads_table`] |
//! | curves | [`Figure`] of [`Chart`]s |
//!
//! # Example
//!
//! ```
//! use burnformer_view::{Axis, Chart, Figure, Series};
//!
//! let halving = (0..10).map(|x| (f64::from(x), 0.5f64.powi(x))).collect();
//! let chart = Chart {
//!     title: "Halving".into(),
//!     x: Axis::linear("steps"),
//!     y: Axis::log("remaining"),
//!     series: vec![Series::new("exact", halving)],
//! };
//! let svg = Figure::of(chart).to_svg()?;
//! assert!(svg.starts_with("<svg") && svg.contains("remaining"));
//! # Ok::<(), burnformer_view::ViewError>(())
//! ```

// The programs in the README are compiled and run as documentation tests.
#![cfg_attr(doctest, doc = include_str!("../README.md"))]

mod attention;
mod canvas;
mod chart;

pub use attention::{
    AttentionMatrix, HeadHabit, HeadHabits, HeadRole, PAGE_SCRIPT, PAGE_STYLE, Panel, PanelKind,
    Sentence, blocks, heads_table, linked_page, page,
};
pub use canvas::ViewError;
pub use chart::{Axis, Chart, Figure, Scale, Series};
