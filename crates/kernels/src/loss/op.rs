//! Losses of logits as operations on the CPU.

use std::fmt::Debug;

use burn::backend::Flex;
use burn::backend::flex::FlexTensor;
use burn::tensor::Tensor;

use crate::cpu::{contiguous, dims, floats, overwrite, tensor};
use crate::op::{FusedOp, Keep, apply_with_aside};

/// A loss that is a sum over the rows of a matrix of logits. The value holds the targets and the settings.
pub(crate) trait LossOfRows: Clone + Debug + Send + 'static {
    /// What the forward pass knows of one row, or of one pair of rows.
    type Known: Clone + Debug + Send + 'static;

    /// What is known of the rows of `logits`, `[rows, vocab]`.
    fn forward(&self, logits: &[f32], vocab: usize) -> Vec<Self::Known>;

    /// The sum that training minimises, and further sums, each taken in the order of the rows.
    fn sums(&self, known: &[Self::Known]) -> Vec<f32>;

    /// Turns the logits in `out`, or in `source` if there is one, into their gradient in `out`, multiplied by `scale`.
    fn backward(
        &self,
        out: &mut [f32],
        source: Option<&[f32]>,
        known: &[Self::Known],
        vocab: usize,
        scale: f32,
    );
}

/// The sums of `loss` of logits on the CPU: the one that is minimised, and the further ones.
pub(crate) fn sums_of(loss: impl LossOfRows, logits: Tensor<2>) -> (Tensor<1>, Vec<Tensor<1>>) {
    apply_with_aside(OfRows(loss), [logits.into()])
}

#[derive(Debug)]
struct OfRows<L>(L);

/// What the backward pass needs: nothing the size of the logits but the logits themselves.
#[derive(Clone, Debug)]
struct Saved<L: LossOfRows> {
    logits: FlexTensor,
    known: Vec<L::Known>,
    loss: L,
}

impl<L: LossOfRows> FusedOp<1> for OfRows<L> {
    type Backend = Flex;
    type Saved = Saved<L>;

    fn forward(self, [logits]: [FlexTensor; 1], _keep: Keep) -> (FlexTensor, Saved<L>) {
        let Self(loss) = self;
        let logits = contiguous(logits);
        let [_, vocab] = dims(&logits);
        let known = loss.forward(floats(&logits), vocab);
        let minimised = loss.sums(&known)[0];
        (tensor(vec![minimised], [1]), Saved { logits, known, loss })
    }

    fn backward(saved: Saved<L>, grad: FlexTensor, _wanted: [bool; 1]) -> [Option<FlexTensor>; 1] {
        let Saved { logits, known, loss } = saved;
        let (scale, [_, vocab]) = (floats(&contiguous(grad))[0], dims(&logits));
        let gradient = overwrite(logits, |out, source| {
            loss.backward(out, source, &known, vocab, scale);
        });
        [Some(gradient)]
    }

    fn aside(saved: &Saved<L>) -> Vec<FlexTensor> {
        let sums = saved.loss.sums(&saved.known);
        sums[1..].iter().map(|&sum| tensor(vec![sum], [1])).collect()
    }
}
