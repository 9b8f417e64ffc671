//! Attention on GPUs without its scores in memory: they are computed one tile at a time, forward
//! with a running softmax (Dao et al., 2022), and again in the backward pass from one number per
//! query. The heads are not copied apart.

mod backward;
mod forward;
mod launch;
mod scores;
mod tiles;

use burn::backend::Cube;
use burn::backend::tensor::{BoolTensor, FloatTensor};
use burn::tensor::{Bool, Tensor};

use crate::dropout::DropoutMask;
use crate::op::{FusedOp, Keep, apply};
use launch::{AttentionKernels, Operands};

/// Features of the widest head whose tiles fit into the shared memory that every device has.
const WIDEST: usize = 64;

/// Above this number of keys the matrix products are left to kernels that are made for them. The
/// number is an estimate: it was never measured on a GPU.
const LONGEST: usize = 128;

/// Returns whether the kernels support these operands, which are on a GPU in float32.
pub(super) fn supports(query: &Tensor<3>, value: &Tensor<3>, heads: usize) -> bool {
    let ([batch, query_len, width], [_, key_len, value_width]) = (query.dims(), value.dims());
    let fits = |width: usize| (1..=WIDEST).contains(&(width / heads));
    fits(width) && fits(value_width) && batch * query_len > 0 && (1..=LONGEST).contains(&key_len)
}

/// Attention of tensors on a GPU.
pub(super) fn attention(
    query: Tensor<3>,
    key: Tensor<3>,
    value: Tensor<3>,
    heads: usize,
    hidden: Option<Tensor<4, Bool>>,
    mask: Option<DropoutMask>,
) -> Tensor<3> {
    let all_visible = || Tensor::<1, Bool>::full([1], false, &query.device()).reshape([1; 4]);
    let hidden = hidden.unwrap_or_else(all_visible).inner();
    let hidden = hidden.try_into_primitive::<Cube>().expect("a mask on the device of the queries");
    apply(Attention { heads, hidden, mask }, [query.into(), key.into(), value.into()])
}

#[derive(Debug)]
struct Attention {
    heads: usize,
    hidden: BoolTensor<Cube>,
    mask: Option<DropoutMask>,
}

/// Tensors saved for the backward pass. The mask of hidden keys is the only one that may be as
/// large as the scores.
#[derive(Clone, Debug)]
struct Saved {
    operands: Operands<Cube>,
    context: FloatTensor<Cube>,
    log_sums: FloatTensor<Cube>,
    heads: usize,
    mask: Option<DropoutMask>,
}

impl FusedOp<3> for Attention {
    type Backend = Cube;
    type Saved = Saved;

    fn forward(self, inputs: [FloatTensor<Cube>; 3], _keep: Keep) -> (FloatTensor<Cube>, Saved) {
        let Self { heads, hidden, mask } = self;
        let [query, key, value] = inputs;
        let operands = Operands { query, key, value, hidden };
        let (context, log_sums) = Cube::contexts(operands.clone(), heads, mask);
        (context.clone(), Saved { operands, context, log_sums, heads, mask })
    }

    fn backward(
        saved: Saved,
        grad: FloatTensor<Cube>,
        _wanted: [bool; 3],
    ) -> [Option<FloatTensor<Cube>>; 3] {
        let Saved { operands, context, log_sums, heads, mask } = saved;
        let (query, key, value) =
            Cube::context_gradients(grad, operands, context, log_sums, heads, mask);
        [query, key, value].map(Some)
    }
}
