//! Pictures of a Transformer at work: attention maps and curves, as HTML, PNG, SVG and text.
//!
//! Plain numbers go in, documents come out: this crate knows no model, no tokeniser and no Burn, so
//! that any program can draw what it measured. The trade-off taken: one look for everything, chosen
//! for print and for colour-blind readers (Okabe and Ito's palette, and dashes and markers beside the
//! colours), and one embedded font (DejaVu Sans, see `fonts/LICENSE`) instead of a search for the
//! system's, so that a picture has the same bytes on every machine.
//!
//! | to show | take |
//! |---|---|
//! | attention in a browser | [`page`] |
//! | attention in print | [`HeadGrid`] |
//! | attention in a terminal | [`blocks`] |
//! | curves | [`Figure`] of [`Chart`]s |
//! | a matrix of signed values | [`HeatMap`] |
//! | values with their intervals | [`Estimates`] |
//!
//! # Example
//!
//! ```
//! use burnformer_view::{Axis, Chart, Figure, Picture, Series};
//!
//! let halving = (0..10).map(|x| (f64::from(x), 0.5f64.powi(x))).collect();
//! let chart = Chart {
//!     title: "Halving".into(),
//!     x: Axis::linear("steps"),
//!     y: Axis::log("what is left"),
//!     series: vec![Series::new("exact", halving)],
//! };
//! let svg = Figure::of(chart).to_svg()?;
//! assert!(svg.starts_with("<svg") && svg.contains("what is left"));
//! # Ok::<(), burnformer_view::ViewError>(())
//! ```

mod attention;
mod canvas;
mod chart;
mod estimates;
mod heat;
mod palette;
mod ticks;

pub use attention::{HeadGrid, Matrix, Panel, PanelKind, Sentence, blocks, page};
pub use canvas::{Format, Picture, ViewError};
pub use chart::{Axis, Chart, Figure, Scale, Series};
pub use estimates::{Estimate, EstimateRow, Estimates};
pub use heat::HeatMap;

/// The program in the README, compiled and run as it stands there.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
