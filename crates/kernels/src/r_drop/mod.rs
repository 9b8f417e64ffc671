//! The loss of R-Drop (Wu et al., 2021): a batch is computed twice with different dropout, and both predictions are to
//! agree.

#[cfg(feature = "cpu")]
mod cpu;
pub(crate) mod reference;

use burn::tensor::{Int, Tensor};

use crate::op::Place;
pub use reference::RDropLoss;

/// The loss of two passes over the same positions, summed over those whose target is not `pad`: the first half of the
/// rows is the first pass, the second half the second. Each pass has the loss of
/// [`label_smoothed_cross_entropy`](crate::label_smoothed_cross_entropy) with ε `smoothing`.
///
/// The function is half of equation 4 of Wu et al. (2021), which adds the losses of both passes, so that the gradient
/// is as large as without R-Drop. The fused version, on the CPU, reads the logits twice forward and once backward, and
/// writes the gradient over them if no other tensor shares their memory.
///
/// # Shapes
/// - `logits`: `[2·rows, vocab]`, all finite, `targets`: `[2·rows]` ids, the same in both halves
///
/// # Panics
/// If the number of rows is odd or is not the number of targets, or if a target is neither `pad` nor below `vocab`.
pub fn r_drop_loss(
    logits: Tensor<2>,
    targets: Tensor<1, Int>,
    pad: u32,
    smoothing: f64,
    alpha: f64,
) -> RDropLoss {
    let rows = logits.dims()[0];
    assert!(rows.is_multiple_of(2), "two passes have an even number of rows, not {rows}");
    assert_eq!(targets.dims(), [rows], "a target for each row of logits");
    match Place::of(&[&logits]) {
        #[cfg(feature = "cpu")]
        Place::Cpu => {
            let targets = crate::cpu::integers(targets);
            let smoothing = crate::loss::Smoothing { pad: i64::from(pad), epsilon: smoothing };
            let passes = cpu::TwoPasses { targets, smoothing, alpha };
            let (minimised, aside) = crate::loss::sums_of(passes, logits);
            let [smoothed, nll] = aside.try_into().expect("two further sums");
            RDropLoss { minimised, smoothed, nll }
        }
        _ => reference::r_drop_loss(logits, targets, pad, smoothing, alpha),
    }
}
