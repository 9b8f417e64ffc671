//! The embedding as an operation on the CPU.

use burn::backend::Flex;
use burn::backend::flex::FlexTensor;
use burn::tensor::{Int, Tensor};

use super::cpu;
use crate::cpu::{contiguous, dims, floats, integers, tensor};
use crate::op::{FusedOp, Keep, apply};

/// The rows `ids` of a table on the CPU.
pub(super) fn embedding(weight: Tensor<2>, ids: Tensor<2, Int>, scale: f64) -> Tensor<3> {
    let shape = ids.dims();
    let [vocab, _] = weight.dims();
    let ids = integers(ids);
    for &id in &ids {
        assert!((0..vocab as i64).contains(&id), "id {id} is not below vocab {vocab}");
    }
    apply(Embedding { ids, shape, scale: scale as f32 }, [weight.into()])
}

#[derive(Debug)]
struct Embedding {
    /// Ids below the number of rows of the table.
    ids: Vec<i64>,
    /// `[batch, len]`.
    shape: [usize; 2],
    scale: f32,
}

#[derive(Clone, Debug)]
struct Saved {
    ids: Vec<i64>,
    vocab: usize,
    width: usize,
    scale: f32,
}

impl FusedOp<1> for Embedding {
    type Backend = Flex;
    type Saved = Saved;

    fn forward(self, [weight]: [FlexTensor; 1], _keep: Keep) -> (FlexTensor, Saved) {
        let weight = contiguous(weight);
        let ([vocab, width], [batch, len]) = (dims(&weight), self.shape);
        let mut out = vec![0.0; batch * len * width];
        cpu::forward(floats(&weight), &self.ids, width, self.scale, &mut out);
        let saved = Saved { ids: self.ids, vocab, width, scale: self.scale };
        (tensor(out, [batch, len, width]), saved)
    }

    fn backward(saved: Saved, grad: FlexTensor, _wanted: [bool; 1]) -> [Option<FlexTensor>; 1] {
        let Saved { ids, vocab, width, scale } = saved;
        let grad = contiguous(grad);
        let dweight = cpu::backward(floats(&grad), &ids, vocab, width, scale);
        [Some(tensor(dweight, [vocab, width]))]
    }
}
