//! The operations, on shapes from one element to more than a vector of the processor holds.

use burn::tensor::{Bool, Int, Tensor, TensorData};
use burnformer_kernels::{
    self as kernels, AttentionInputs, DropoutMask, Epilogue, KvCache, Precision, Projection,
    RandomKey, reference,
};

use super::formulas::{self, Heads};
use super::{Case, exact};
use crate::common::device;

/// Makes case number `index` of an operation.
type Cases = fn(u64) -> Case;

/// Every operation with gradients, by its exported name. A comma begins a variant.
pub const ALL: &[(&str, Cases)] = &[
    ("attention", |index| attention(index, kernels::attention)),
    ("reference::attention", |index| {
        attention(index, reference::attention)
    }),
    ("step_attention", |index| {
        undropped(index, kernels::step_attention)
    }),
    ("KvCache", |index| undropped(index, cached)),
    ("masked_softmax", masked_softmax),
    ("split_heads", split_heads),
    ("merge_heads", merge_heads),
    ("dropout", |index| dropout(index, kernels::dropout)),
    ("reference::dropout", |index| {
        dropout(index, reference::dropout)
    }),
    ("residual_dropout", |index| {
        residual(index, kernels::residual_dropout)
    }),
    ("reference::residual_dropout", |index| {
        residual(index, reference::residual_dropout)
    }),
    ("layer_norm", |index| layer_norm(index, kernels::layer_norm)),
    ("reference::layer_norm", |index| {
        layer_norm(index, reference::layer_norm)
    }),
    ("residual_dropout_norm", |index| {
        wiring(index, kernels::residual_dropout_norm)
    }),
    ("reference::residual_dropout_norm", |index| {
        wiring(index, reference::residual_dropout_norm)
    }),
    ("linear", |index| linear(index, kernels::linear, unchanged)),
    ("reference::linear", |index| {
        linear(index, reference::linear, unchanged)
    }),
    ("linear_with, ReLU", |index| {
        linear(index, relu, formulas::relu)
    }),
    ("linear_with, SiLU", |index| {
        linear(index, silu_of, formulas::silu)
    }),
    ("reference::linear_with, ReLU", |index| {
        linear(index, reference_relu, formulas::relu)
    }),
    ("reference::linear_with, SiLU", |index| {
        linear(index, reference_silu, formulas::silu)
    }),
    ("silu", silu),
    ("embedding", embedding),
    ("label_smoothed_cross_entropy", |index| {
        loss(index, kernels::label_smoothed_cross_entropy)
    }),
    ("reference::label_smoothed_cross_entropy", |index| {
        loss(index, reference::label_smoothed_cross_entropy)
    }),
    ("linear_cross_entropy", linear_loss),
    ("log_probability", log_probability),
    ("sum", sum),
    ("global_norm", global_norm),
    ("to_f32", to_f32),
];

/// Exported names without a case, and why.
pub const WITHOUT_GRADIENT: &[(&str, &str)] = &[
    ("adam_step", "the step of the optimiser"),
    ("reference::adam_step", "the step of the optimiser"),
    ("AdamStep", "settings"),
    ("Moving", "tensors of the optimiser"),
    ("sum_of_squares", "a number of the host"),
    ("reference::sum_of_squares", "a number of the host"),
    ("log_sum_exp", "a number of the host"),
    ("softmax", "numbers of the host"),
    ("top_k", "numbers of the host"),
    ("top_k_above", "numbers of the host"),
    ("Top", "numbers of the host"),
    ("PackedWeight", "inference"),
    ("QuantizedRows", "inference"),
    ("quantize_rows", "inference"),
    ("ComputeType", "inference"),
    ("is_bfloat16_fast_on", "a property of the device"),
    ("AttentionInputs", "the inputs of `attention`"),
    ("DropoutMask", "factors"),
    ("Epilogue", "a setting of `linear_with`"),
    (
        "Precision",
        "a setting of `linear_with`; 16 bits have no derivative: tests/it/linear.rs",
    ),
    ("Projection", "the inputs of `linear_cross_entropy`"),
    ("MAX_LOGITS", "a limit"),
    ("PhiloxRng", "random numbers"),
    ("RandomKey", "random numbers"),
];

/// Sizes and values of a case.
struct Draw {
    index: u64,
    key: RandomKey,
    count: u64,
}

impl Draw {
    fn new(index: u64) -> Self {
        Self {
            index,
            key: RandomKey::new(7).fold(index),
            count: 0,
        }
    }

    fn next(&mut self) -> RandomKey {
        self.count += 1;
        self.key.fold(self.count)
    }

    /// A size from 1 to `most`: 1 in the first case, `most` in the second one.
    fn size(&mut self, most: usize) -> usize {
        match self.index {
            0 => 1,
            1 => most,
            _ => 1 + self.below(most),
        }
    }

    /// A number below `limit`.
    fn below(&mut self, limit: usize) -> usize {
        (self.next().uniform(1)[0] * limit as f32) as usize
    }

    /// Standard normal numbers.
    fn values(&mut self, count: usize) -> Vec<f32> {
        self.next().normal(count)
    }

    /// Dropout in every other case, and its factors of `count` elements.
    fn dropout(&mut self, count: usize) -> (Option<DropoutMask>, Vec<f64>) {
        self.dropout_where(self.index % 2 == 1, count)
    }

    /// Dropout if `is_dropped`, and its factors of `count` elements.
    fn dropout_where(&mut self, is_dropped: bool, count: usize) -> (Option<DropoutMask>, Vec<f64>) {
        if !is_dropped {
            return (None, vec![1.0; count]);
        }
        let mask = DropoutMask::new(self.next(), 0.3);
        let mut factors = vec![0.0; count];
        mask.fill_at(0, &mut factors);
        (Some(mask), exact(&factors))
    }

    /// Ids below `limit`, every third of which is 0.
    fn ids(&mut self, count: usize, limit: usize) -> Vec<usize> {
        let id = |position| {
            if position % 3 == 2 {
                0
            } else {
                self.below(limit)
            }
        };
        (0..count).map(id).collect()
    }
}

fn ids(ids: &[usize]) -> Tensor<1, Int> {
    let ids: Vec<i32> = ids.iter().map(|&id| id as i32).collect();
    Tensor::from_ints(&ids[..], &device())
}

fn flat<const D: usize>(x: Tensor<D>) -> Tensor<1> {
    x.reshape([-1])
}

fn unchanged(x: &[f64]) -> Vec<f64> {
    x.to_vec()
}

fn heads(draw: &mut Draw) -> Heads {
    Heads {
        batch: draw.size(2),
        heads: draw.size(3),
        query_len: draw.size(5),
        key_len: draw.size(18),
        d_k: draw.size(6),
        d_v: draw.size(7),
    }
}

/// A mask of one of the shapes that broadcast, and its element of each weight. It hides every key
/// of its first row.
fn hidden(draw: &mut Draw, sizes: Heads) -> (Option<Tensor<4, Bool>>, Vec<bool>) {
    let Heads {
        batch,
        heads,
        query_len,
        key_len,
        ..
    } = sizes;
    let shape = match draw.index % 4 {
        0 => return (None, vec![false; sizes.weights()]),
        1 => [batch, heads, query_len, key_len],
        2 => [batch, 1, 1, key_len],
        _ => [1, 1, query_len, key_len],
    };
    let uniform = draw.next().uniform(shape.iter().product());
    let mut bits: Vec<bool> = uniform.iter().map(|&u| u < 0.3).collect();
    bits[..key_len].fill(true);
    let mask = Tensor::from_data(TensorData::new(bits, shape), &device());
    let all: Tensor<4, Bool> = mask.clone().expand([batch, heads, query_len, key_len]);
    (Some(mask), all.into_data().iter::<bool>().collect())
}

type Attention = fn(AttentionInputs, Option<DropoutMask>) -> Tensor<3>;

fn attention(index: u64, run: Attention) -> Case {
    let draw = &mut Draw::new(index);
    let sizes = heads(draw);
    // Not in step with the masks.
    let dropout = draw.dropout_where(index / 2 % 2 == 1, sizes.weights());
    attention_case(draw, sizes, dropout, run)
}

/// Attention without dropout.
fn undropped(index: u64, run: fn(AttentionInputs) -> Tensor<3>) -> Case {
    let draw = &mut Draw::new(index);
    let sizes = heads(draw);
    let dropout = (None, vec![1.0; sizes.weights()]);
    attention_case(draw, sizes, dropout, move |inputs, _| run(inputs))
}

fn attention_case(
    draw: &mut Draw,
    sizes: Heads,
    (dropout, factors): (Option<DropoutMask>, Vec<f64>),
    run: impl Fn(AttentionInputs, Option<DropoutMask>) -> Tensor<3> + 'static,
) -> Case {
    let Heads {
        batch,
        heads,
        query_len,
        key_len,
        d_k,
        d_v,
    } = sizes;
    let (mask, hidden) = hidden(draw, sizes);
    let shapes = [
        [batch, query_len, heads * d_k],
        [batch, key_len, heads * d_k],
        [batch, key_len, heads * d_v],
    ];
    Case {
        inputs: shapes
            .map(|shape| draw.values(shape.iter().product()))
            .to_vec(),
        operation: Box::new(move |leaves| {
            let inputs = [0, 1, 2].map(|n| leaves[n].clone().reshape(shapes[n]));
            let inputs = AttentionInputs::new(inputs, heads);
            flat(run(
                AttentionInputs {
                    hidden: mask.clone(),
                    ..inputs
                },
                dropout,
            ))
        }),
        formula: Box::new(move |x| {
            formulas::attention(sizes, [&x[0], &x[1], &x[2]], &hidden, &factors)
        }),
    }
}

/// Attention to a cache that got its keys in two parts.
fn cached(inputs: AttentionInputs) -> Tensor<3> {
    let AttentionInputs {
        query,
        key,
        value,
        heads,
        hidden,
    } = inputs;
    let len = key.dims()[1];
    let mut cache = KvCache::new();
    for part in [0..len / 2, len / 2..len] {
        if !part.is_empty() {
            cache.append(
                key.clone().slice_dim(1, part.clone()),
                value.clone().slice_dim(1, part),
            );
        }
    }
    cache.attend(query, heads, hidden, None)
}

fn masked_softmax(index: u64) -> Case {
    let draw = &mut Draw::new(index);
    let [rows, keys] = [draw.size(5), draw.size(19)];
    let uniform = draw.next().uniform(rows * keys);
    let mut hidden: Vec<bool> = uniform.iter().map(|&u| u < 0.3).collect();
    hidden[..keys].fill(true);
    let mask = TensorData::new(hidden.clone(), [rows, keys]);
    let mask = Tensor::<2, Bool>::from_data(mask, &device());
    Case {
        inputs: vec![draw.values(rows * keys)],
        operation: Box::new(move |leaves| {
            let scores = leaves[0].clone().reshape([rows, keys]);
            flat(kernels::masked_softmax(scores, mask.clone()))
        }),
        formula: Box::new(move |x| {
            let rows = x[0].chunks_exact(keys).zip(hidden.chunks_exact(keys));
            rows.flat_map(|(scores, hidden)| formulas::softmax(scores, hidden))
                .collect()
        }),
    }
}

/// Exchanges the two axes in the middle of `[batch, a, b, d]`.
fn swapped(x: &[f64], [batch, a, b, d]: [usize; 4]) -> Vec<f64> {
    let mut out = Vec::with_capacity(x.len());
    for sentence in 0..batch {
        for second in 0..b {
            for first in 0..a {
                let start = ((sentence * a + first) * b + second) * d;
                out.extend(&x[start..start + d]);
            }
        }
    }
    out
}

fn split_heads(index: u64) -> Case {
    let draw = &mut Draw::new(index);
    let [batch, len, heads, d] = [draw.size(3), draw.size(5), draw.size(4), draw.size(5)];
    Case {
        inputs: vec![draw.values(batch * len * heads * d)],
        operation: Box::new(move |leaves| {
            let x = leaves[0].clone().reshape([batch, len, heads * d]);
            flat(kernels::split_heads(x, heads))
        }),
        formula: Box::new(move |x| swapped(&x[0], [batch, len, heads, d])),
    }
}

fn merge_heads(index: u64) -> Case {
    let draw = &mut Draw::new(index);
    let [batch, heads, len, d] = [draw.size(3), draw.size(4), draw.size(5), draw.size(5)];
    Case {
        inputs: vec![draw.values(batch * heads * len * d)],
        operation: Box::new(move |leaves| {
            let x = leaves[0].clone().reshape([batch, heads, len, d]);
            flat(kernels::merge_heads(x))
        }),
        formula: Box::new(move |x| swapped(&x[0], [batch, heads, len, d])),
    }
}

fn dropout(index: u64, run: fn(Tensor<2>, Option<DropoutMask>) -> Tensor<2>) -> Case {
    let draw = &mut Draw::new(index);
    let [rows, columns] = [draw.size(7), draw.size(19)];
    let (mask, factors) = draw.dropout(rows * columns);
    Case {
        inputs: vec![draw.values(rows * columns)],
        operation: Box::new(move |leaves| {
            flat(run(leaves[0].clone().reshape([rows, columns]), mask))
        }),
        formula: Box::new(move |x| formulas::times(&x[0], &factors)),
    }
}

type Residual = fn(Tensor<2>, Tensor<2>, Option<DropoutMask>) -> Tensor<2>;

fn residual(index: u64, run: Residual) -> Case {
    let draw = &mut Draw::new(index);
    let shape = [draw.size(7), draw.size(19)];
    let count = shape[0] * shape[1];
    let (mask, factors) = draw.dropout(count);
    Case {
        inputs: vec![draw.values(count), draw.values(count)],
        operation: Box::new(move |leaves| {
            let [x, y] = [0, 1].map(|n| leaves[n].clone().reshape(shape));
            flat(run(x, y, mask))
        }),
        formula: Box::new(move |x| formulas::add(&x[0], &formulas::times(&x[1], &factors))),
    }
}

/// Added to the variance by the norms. Usual ones are smaller, and rows of few features then have
/// gradients that are small differences of large numbers.
const EPSILON: f64 = 1e-2;

fn layer_norm(index: u64, run: fn(Tensor<2>, Tensor<1>, Tensor<1>, f64) -> Tensor<2>) -> Case {
    let draw = &mut Draw::new(index);
    let [rows, width] = [draw.size(7), draw.size(19)];
    Case {
        inputs: vec![
            draw.values(rows * width),
            draw.values(width),
            draw.values(width),
        ],
        operation: Box::new(move |leaves| {
            let [x, weight, bias] = [0, 1, 2].map(|n| leaves[n].clone());
            flat(run(x.reshape([rows, width]), weight, bias, EPSILON))
        }),
        formula: Box::new(|x| formulas::layer_norm(&x[0], &x[1], &x[2], EPSILON)),
    }
}

type Wiring = fn(Tensor<2>, Tensor<2>, Tensor<1>, Tensor<1>, f64, Option<DropoutMask>) -> Tensor<2>;

fn wiring(index: u64, run: Wiring) -> Case {
    let draw = &mut Draw::new(index);
    let shape = [draw.size(7), draw.size(19)];
    let [rows, width] = shape;
    let (mask, factors) = draw.dropout(rows * width);
    let sizes = [rows * width, rows * width, width, width];
    Case {
        inputs: sizes.map(|size| draw.values(size)).to_vec(),
        operation: Box::new(move |leaves| {
            let [x, y] = [0, 1].map(|n| leaves[n].clone().reshape(shape));
            flat(run(
                x,
                y,
                leaves[2].clone(),
                leaves[3].clone(),
                EPSILON,
                mask,
            ))
        }),
        formula: Box::new(move |x| {
            let sum = formulas::add(&x[0], &formulas::times(&x[1], &factors));
            formulas::layer_norm(&sum, &x[2], &x[3], EPSILON)
        }),
    }
}

type Linear = fn(Tensor<2>, Tensor<2>, Option<Tensor<1>>) -> Tensor<2>;

fn relu(x: Tensor<2>, weight: Tensor<2>, bias: Option<Tensor<1>>) -> Tensor<2> {
    kernels::linear_with(x, weight, bias, Epilogue::Relu, Precision::Float32)
}

fn silu_of(x: Tensor<2>, weight: Tensor<2>, bias: Option<Tensor<1>>) -> Tensor<2> {
    kernels::linear_with(x, weight, bias, Epilogue::Silu, Precision::Float32)
}

fn reference_relu(x: Tensor<2>, weight: Tensor<2>, bias: Option<Tensor<1>>) -> Tensor<2> {
    reference::linear_with(x, weight, bias, Epilogue::Relu, Precision::Float32)
}

fn reference_silu(x: Tensor<2>, weight: Tensor<2>, bias: Option<Tensor<1>>) -> Tensor<2> {
    reference::linear_with(x, weight, bias, Epilogue::Silu, Precision::Float32)
}

/// An affine map before `function`, without a bias in every third case.
fn linear(index: u64, run: Linear, function: fn(&[f64]) -> Vec<f64>) -> Case {
    let draw = &mut Draw::new(index);
    let [rows, input, output] = [draw.size(7), draw.size(18), draw.size(19)];
    let mut inputs = vec![draw.values(rows * input), draw.values(output * input)];
    if !index.is_multiple_of(3) {
        inputs.push(draw.values(output));
    }
    Case {
        inputs,
        operation: Box::new(move |leaves| {
            let x = leaves[0].clone().reshape([rows, input]);
            let weight = leaves[1].clone().reshape([output, input]);
            flat(run(x, weight, leaves.get(2).cloned()))
        }),
        formula: Box::new(move |x| {
            let bias = x.get(2).map_or(&[][..], |bias| bias);
            function(&formulas::linear(&x[0], &x[1], bias, input))
        }),
    }
}

fn silu(index: u64) -> Case {
    let draw = &mut Draw::new(index);
    let count = draw.size(50);
    Case {
        inputs: vec![draw.values(count)],
        operation: Box::new(|leaves| kernels::silu(leaves[0].clone())),
        formula: Box::new(|x| formulas::silu(&x[0])),
    }
}

fn embedding(index: u64) -> Case {
    let draw = &mut Draw::new(index);
    let [vocab, width, batch, len] = [draw.size(9), draw.size(7), draw.size(3), draw.size(5)];
    let rows = draw.ids(batch * len, vocab);
    let tokens = ids(&rows).reshape([batch, len]);
    Case {
        inputs: vec![draw.values(vocab * width)],
        operation: Box::new(move |leaves| {
            let weight = leaves[0].clone().reshape([vocab, width]);
            flat(kernels::embedding(weight, tokens.clone(), 1.7))
        }),
        formula: Box::new(move |x| {
            let row = |&id: &usize| x[0][id * width..(id + 1) * width].iter();
            rows.iter().flat_map(row).map(|x| 1.7 * x).collect()
        }),
    }
}

/// ε of label smoothing; none in the first case.
fn smoothing(index: u64) -> f64 {
    [0.0, 0.1, 0.5][index as usize % 3]
}

type Loss = fn(Tensor<2>, Tensor<1, Int>, u32, f64) -> (Tensor<1>, Tensor<1>);

fn loss(index: u64, run: Loss) -> Case {
    let draw = &mut Draw::new(index);
    let [rows, vocab] = [draw.size(7), draw.size(40)];
    let targets = draw.ids(rows, vocab);
    let tokens = ids(&targets);
    Case {
        inputs: vec![draw.values(rows * vocab)],
        operation: Box::new(move |leaves| {
            let logits = leaves[0].clone().reshape([rows, vocab]);
            run(logits, tokens.clone(), 0, smoothing(index)).0
        }),
        formula: Box::new(move |x| {
            vec![formulas::smoothed_loss(
                &x[0],
                &targets,
                vocab,
                smoothing(index),
            )]
        }),
    }
}

fn linear_loss(index: u64) -> Case {
    let draw = &mut Draw::new(index);
    let [rows, width, vocab] = [draw.size(7), draw.size(6), draw.size(40)];
    let targets = draw.ids(rows, vocab);
    let tokens = ids(&targets);
    let sizes = [rows * width, vocab * width, vocab];
    Case {
        inputs: sizes.map(|size| draw.values(size)).to_vec(),
        operation: Box::new(move |leaves| {
            let projection = Projection {
                weight: leaves[1].clone().reshape([vocab, width]),
                bias: Some(leaves[2].clone()),
                precision: Precision::Float32,
            };
            let states = leaves[0].clone().reshape([rows, width]);
            let tokens = tokens.clone();
            kernels::linear_cross_entropy(states, projection, tokens, 0, smoothing(index)).0
        }),
        formula: Box::new(move |x| {
            let logits = formulas::linear(&x[0], &x[1], &x[2], width);
            vec![formulas::smoothed_loss(
                &logits,
                &targets,
                vocab,
                smoothing(index),
            )]
        }),
    }
}

fn log_probability(index: u64) -> Case {
    let draw = &mut Draw::new(index);
    let [rows, vocab] = [draw.size(7), draw.size(40)];
    let targets = draw.ids(rows, vocab);
    let tokens = ids(&targets);
    Case {
        inputs: vec![draw.values(rows * vocab)],
        operation: Box::new(move |leaves| {
            let logits = leaves[0].clone().reshape([rows, vocab]);
            kernels::log_probability(logits, tokens.clone())
        }),
        formula: Box::new(move |x| {
            let all = formulas::log_probabilities(&x[0], vocab);
            let rows = all.chunks_exact(vocab).zip(&targets);
            rows.map(|(row, &target)| row[target]).collect()
        }),
    }
}

fn sum(index: u64) -> Case {
    let draw = &mut Draw::new(index);
    let shape = [draw.size(7), draw.size(200)];
    Case {
        inputs: vec![draw.values(shape[0] * shape[1])],
        operation: Box::new(move |leaves| kernels::sum(leaves[0].clone().reshape(shape))),
        formula: Box::new(|x| vec![x[0].iter().sum()]),
    }
}

fn global_norm(index: u64) -> Case {
    let draw = &mut Draw::new(index);
    let sizes = [draw.size(20), draw.size(30)];
    Case {
        inputs: sizes.map(|size| draw.values(size)).to_vec(),
        operation: Box::new(kernels::global_norm),
        formula: Box::new(|x| {
            let squares = x.iter().flatten().map(|x| x * x);
            vec![squares.sum::<f64>().sqrt()]
        }),
    }
}

fn to_f32(index: u64) -> Case {
    let draw = &mut Draw::new(index);
    let count = draw.size(20);
    Case {
        inputs: vec![draw.values(count)],
        operation: Box::new(|leaves| kernels::to_f32(leaves[0].clone())),
        formula: Box::new(|x| x[0].clone()),
    }
}
