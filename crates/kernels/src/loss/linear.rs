//! The loss of states by their projection to a large vocabulary, as an operation on the CPU. The
//! logits of a part of the rows at a time are in memory, and each part's gradients are computed
//! while they are.

use std::ops::Range;

use burn::backend::flex::FlexTensor;
use rayon::prelude::*;

use super::cpu::{CrossEntropy, Row};
use crate::cpu::{column_sums, contiguous, dims, floats, increase, tensor};
use crate::linear::Epilogue;
use crate::linear::cpu::{ProductType, Sizes};
use crate::op::{FusedOp, Keep};

/// The number of rows of a part is a multiple of this. The gradient of the weight then has the same
/// bits as with all rows at once.
const MIN_ROWS: usize = 256;
/// The number of elements that a thread scales.
const SCALED_ELEMENTS: usize = 1 << 14;

/// The projection and its loss. An empty bias means no bias.
#[derive(Debug)]
pub(super) struct LinearCrossEntropy {
    loss: CrossEntropy,
    product: ProductType,
    /// The number of rows of a part.
    part: usize,
}

impl LinearCrossEntropy {
    /// Returns the loss by a projection of about `rows` rows at a time.
    pub(super) fn new(loss: CrossEntropy, product: ProductType, rows: usize) -> Self {
        Self {
            loss,
            product,
            part: (rows / MIN_ROWS * MIN_ROWS).max(MIN_ROWS),
        }
    }
}

/// The gradients of the sum of the smoothed loss: of the states, the weight and the bias. Those
/// that nobody wants are empty.
#[derive(Clone, Debug)]
pub(super) struct Gradients([Vec<f32>; 3], [usize; 2]);

impl FusedOp<3> for LinearCrossEntropy {
    type Saved = Gradients;

    fn forward(self, inputs: [FlexTensor; 3], keep: Keep<3>) -> (FlexTensor, Gradients) {
        let [x, weight, bias] = inputs.map(contiguous);
        let [vocab, width] = dims(&weight);
        let rows = self.loss.targets.len();
        let wanted = match keep {
            Keep::Nothing => [false; 3],
            Keep::ForBackward(wanted) => wanted,
        };
        let sizes = [rows * width, vocab * width, vocab];
        let mut gradients = [0, 1, 2].map(|i| vec![0.0; if wanted[i] { sizes[i] } else { 0 }]);
        let mut statistics: Vec<Row> = Vec::with_capacity(rows);
        for start in (0..rows).step_by(self.part) {
            let range = start..(start + self.part).min(rows);
            let x = &floats(&x)[range.start * width..range.end * width];
            let sizes = Sizes {
                rows: range.len(),
                input: width,
                output: vocab,
            };
            let [weight, bias] = [floats(&weight), floats(&bias)];
            let loss = self.loss.of_rows(range.clone());
            let mut logits = self.product.forward(sizes, x, weight, bias, Epilogue::None);
            let row_losses = loss.rows(&logits, vocab);
            if wanted != [false; 3] {
                loss.gradient(&mut logits, None, &row_losses, vocab, 1.0);
            }
            if wanted[0] {
                let dx = self.product.grad_of_input(sizes, &logits, weight);
                gradients[0][range.start * width..range.end * width].copy_from_slice(&dx);
            }
            if wanted[1] {
                self.product
                    .add_grad_of_weight(sizes, &logits, x, &mut gradients[1]);
            }
            if wanted[2] {
                increase(&mut gradients[2], &column_sums(&logits, vocab));
            }
            statistics.extend(row_losses);
        }
        let sums = CrossEntropy::sums(&statistics).to_vec();
        (tensor(sums, [2]), Gradients(gradients, [vocab, width]))
    }

    fn backward(saved: Gradients, grad: FlexTensor, wanted: [bool; 3]) -> [Option<FlexTensor>; 3] {
        // The second sum, of the plain loss, passes no gradient on.
        let scale = floats(&contiguous(grad))[0];
        let Gradients([mut dx, mut dweight, mut dbias], [vocab, width]) = saved;
        for gradient in [&mut dx, &mut dweight, &mut dbias] {
            gradient
                .par_chunks_mut(SCALED_ELEMENTS)
                .for_each(|part| part.iter_mut().for_each(|x| *x *= scale));
        }
        let rows = dx.len() / width.max(1);
        [
            wanted[0].then(|| tensor(dx, [rows, width])),
            wanted[1].then(|| tensor(dweight, [vocab, width])),
            wanted[2].then(|| tensor(dbias, [vocab])),
        ]
    }
}

impl CrossEntropy {
    /// Returns the loss of the rows in `range` alone.
    fn of_rows(&self, range: Range<usize>) -> Self {
        Self {
            targets: self.targets[range].to_vec(),
            ..*self
        }
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::{Device, Tensor};

    use super::*;
    use crate::random::RandomKey;

    const ROWS: usize = 700;
    const VOCAB: usize = 53;
    const WIDTH: usize = 24;

    /// Returns the sums and the gradients of three times the smoothed sum.
    fn run(part: usize, product: ProductType, bias: bool) -> Vec<Vec<f32>> {
        let device = Device::flex().autodiff();
        let leaf = |seed, shape: [usize; 2]| -> Tensor<2> {
            let numbers = RandomKey::new(seed).normal(shape[0] * shape[1]);
            Tensor::<1>::from_floats(&numbers[..], &device)
                .reshape(shape)
                .require_grad()
        };
        let (x, weight) = (leaf(1, [ROWS, WIDTH]), leaf(2, [VOCAB, WIDTH]));
        let bias: Tensor<1> = if bias {
            Tensor::zeros([VOCAB], &device).require_grad()
        } else {
            Tensor::zeros([0], &device)
        };
        let op = LinearCrossEntropy {
            loss: CrossEntropy {
                targets: (0..ROWS).map(|row| (row * 7 % VOCAB) as i64).collect(),
                pad: 0,
                epsilon: 0.1,
            },
            product,
            part,
        };
        let operands = [x.clone().into(), weight.clone().into(), bias.clone().into()];
        let sums: Tensor<1> = crate::op::apply(op, operands);
        let grads = (sums.clone().narrow(0, 0, 1) * 3.0).backward();
        let mut all = vec![sums.into_data(), x.grad(&grads).unwrap().into_data()];
        all.push(weight.grad(&grads).unwrap().into_data());
        all.extend(bias.grad(&grads).map(Tensor::into_data));
        all.into_iter()
            .map(|data| data.try_to_vec().unwrap())
            .collect()
    }

    #[test]
    fn the_parts_give_the_bits_of_the_whole() {
        for product in [ProductType::Float32, ProductType::BFloat16] {
            let whole = run(768, product, false);
            assert!(run(256, product, false) == whole, "{product:?}");
            assert!(run(512, product, false) == whole, "{product:?}");
        }
    }

    #[test]
    fn the_gradient_of_a_bias_is_the_sum_of_its_parts() {
        let [whole, parts] = [768, 256].map(|part| run(part, ProductType::Float32, true));
        assert!(whole[..3] == parts[..3]);
        for (a, b) in whole[3].iter().zip(&parts[3]) {
            assert!((a - b).abs() < 1e-3, "{a}, {b}");
        }
    }
}
