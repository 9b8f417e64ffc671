//! CPU arithmetic of a gated recurrent unit that attends to the source at each step.

use burnformer_kernels::cpu::{Matrix, Sizes, column_sums, grad_of_weight, increase, ordered_sum};
use rayon::prelude::*;

use super::attend::{AttentionGradients, Sentence, attend, attend_backward};
use crate::baseline::kernels::gru::cpu::{
    advance, back_product, previous, product, retreat, rows_per_task,
};
use crate::baseline::kernels::gru::direction::Direction;

/// The sizes of the sequences, of the source and of the unit.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Shape {
    pub rows: usize,
    pub len: usize,
    pub width: usize,
    pub sentences: usize,
    pub places: usize,
    pub attention: usize,
    pub features: usize,
}

impl Shape {
    /// Number of values in the output at each position.
    pub(crate) fn output(&self) -> usize {
        self.width + self.features
    }
}

/// The inputs of the operation as slices, named as in [`AttentiveGru`](super::AttentiveGru).
#[derive(Clone, Copy)]
pub(crate) struct Given<'a> {
    pub shape: Shape,
    pub inputs: &'a [f32],
    pub context_weight: &'a [f32],
    pub weight: &'a [f32],
    pub bias: &'a [f32],
    pub query_weight: &'a [f32],
    pub energy: &'a [f32],
    pub keys: &'a [f32],
    pub memory: &'a [f32],
    pub initial: &'a [f32],
    pub padding: &'a [u8],
}

/// What the backward pass needs of each position.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tape {
    /// Gates, `[rows, len, 4·width]`.
    gates: Vec<f32>,
    /// Queries Q·h, `[rows, len, attention]`.
    queries: Vec<f32>,
    /// Attention weights α, `[rows, len, places]`.
    weights: Vec<f32>,
}

/// The gradients, in the order of the fields of [`Given`].
pub(crate) struct Gradients {
    pub inputs: Vec<f32>,
    pub context_weight: Vec<f32>,
    pub weight: Vec<f32>,
    pub bias: Vec<f32>,
    pub query_weight: Vec<f32>,
    pub energy: Vec<f32>,
    pub keys: Vec<f32>,
    pub memory: Vec<f32>,
    pub initial: Vec<f32>,
}

/// The rows that one task computes.
struct Rows<'a> {
    given: Given<'a>,
    first: usize,
    count: usize,
}

impl<'a> Rows<'a> {
    /// Keys, memory and padding of the sentence of row `row`, counted within this task.
    fn sentence(&self, row: usize) -> Sentence<'a> {
        let Shape { rows, sentences, places, attention, features, .. } = self.given.shape;
        let sentence = (self.first + row) / (rows / sentences);
        let part = |x: &'a [f32], size: usize| &x[sentence * places * size..][..places * size];
        Sentence {
            keys: part(self.given.keys, attention),
            memory: part(self.given.memory, features),
            hidden: &self.given.padding[sentence * places..][..places],
        }
    }

    fn forward(&self, output: &mut [f32], [gates, queries, weights]: [&mut [f32]; 3]) {
        let Given { shape, bias, energy, .. } = self.given;
        let Shape { len, width, places, attention, features, .. } = shape;
        let (rows, triple, out_width) = (self.count, 3 * width, shape.output());
        let mut state = self.given.initial[self.first * width..][..rows * width].to_vec();
        let mut query = vec![0.0; rows * attention];
        let mut context = vec![0.0; rows * features];
        let (mut input, mut own) = (vec![0.0; rows * triple], vec![0.0; rows * triple]);
        for place in 0..len {
            product(&mut query, &state, self.given.query_weight, [rows, width, attention]);
            context.fill(0.0);
            for row in 0..rows {
                let query = &query[row * attention..][..attention];
                let weights = &mut weights[(row * len + place) * places..][..places];
                let context = &mut context[row * features..][..features];
                attend(query, energy, self.sentence(row), weights, context);
                queries[(row * len + place) * attention..][..attention].copy_from_slice(query);
            }
            product(&mut input, &context, self.given.context_weight, [rows, features, triple]);
            product(&mut own, &state, self.given.weight, [rows, width, triple]);
            for row in 0..rows {
                let at = row * len + place;
                let input = &mut input[row * triple..][..triple];
                let given = (self.first * len + at) * triple;
                increase(input, &self.given.inputs[given..][..triple]);
                let own = &own[row * triple..][..triple];
                let state = &mut state[row * width..][..width];
                let (next, found) = output[at * out_width..][..out_width].split_at_mut(width);
                advance(input, own, bias, state, &mut gates[at * 4 * width..], next);
                state.copy_from_slice(next);
                found.copy_from_slice(&context[row * features..][..features]);
            }
        }
    }

    /// The backward pass of these rows. Fills the gradients of `inputs`, `own` gates and `queries`, adds to those of
    /// `keys`, `memory` and `carry` (the initial state), and returns the gradient of the energy.
    fn backward(
        &self,
        output: &[f32],
        tape: &Tape,
        grad: &[f32],
        [inputs, own, queries, keys, memory, carry]: [&mut [f32]; 6],
    ) -> Vec<f32> {
        let Given { shape, energy, .. } = self.given;
        let Shape { len, width, places, attention, features, .. } = shape;
        let (rows, triple, out_width) = (self.count, 3 * width, shape.output());
        let mut context = vec![0.0; rows * features];
        let mut before = vec![0.0; rows * width];
        let mut products = vec![0.0; places];
        let mut grad_energy = vec![0.0; attention];
        for place in (0..len).rev() {
            self.retreat_all(place, output, tape, grad, [inputs, own, carry]);
            let of = |x: &'_ [f32], size: usize| -> Vec<f32> { strided(x, rows, place, len, size) };
            let input = of(inputs, triple);
            let matrix = Matrix::new(&input, rows, triple, triple);
            back_product(&mut context, matrix, self.given.context_weight, [rows, features, triple]);
            for row in 0..rows {
                let (at, all) = (row * len + place, (self.first + row) * len + place);
                let context = &mut context[row * features..][..features];
                increase(context, &grad[all * out_width + width..][..features]);
                let grads = AttentionGradients {
                    query: &mut queries[at * attention..][..attention],
                    energy: &mut grad_energy,
                    keys: &mut keys[row * places * attention..][..places * attention],
                    memory: &mut memory[row * places * features..][..places * features],
                };
                let query = &tape.queries[all * attention..][..attention];
                let weights = &tape.weights[all * places..][..places];
                attend_backward(
                    context,
                    query,
                    energy,
                    self.sentence(row),
                    weights,
                    grads,
                    &mut products,
                );
            }
            let (own, query) = (of(own, triple), of(queries, attention));
            let sides =
                [(&own, self.given.weight, triple), (&query, self.given.query_weight, attention)];
            for (grad, weight, size) in sides {
                let grad = Matrix::new(grad, rows, size, size);
                back_product(&mut before, grad, weight, [rows, width, size]);
                increase(carry, &before);
            }
        }
        grad_energy
    }

    /// Goes back through the gates of all rows at position `place`.
    fn retreat_all(
        &self,
        place: usize,
        output: &[f32],
        tape: &Tape,
        grad: &[f32],
        [inputs, own, carry]: [&mut [f32]; 3],
    ) {
        let Shape { len, width, .. } = self.given.shape;
        let (triple, out_width) = (3 * width, self.given.shape.output());
        for row in 0..self.count {
            let (at, all) = (row * len + place, (self.first + row) * len + place);
            let carry = &mut carry[row * width..][..width];
            increase(carry, &grad[all * out_width..][..width]);
            let state = match place {
                0 => &self.given.initial[(self.first + row) * width..][..width],
                _ => &output[(all - 1) * out_width..][..width],
            };
            let gates = at * triple..(at + 1) * triple;
            let (input, own) = (&mut inputs[gates.clone()], &mut own[gates]);
            retreat(carry, &tape.gates[all * 4 * width..][..4 * width], state, input, own);
        }
    }
}

/// The values at position `place` of each row: `[rows, len, size]` → `[rows, size]`.
fn strided(x: &[f32], rows: usize, place: usize, len: usize, size: usize) -> Vec<f32> {
    (0..rows).flat_map(|row| &x[(row * len + place) * size..][..size]).copied().collect()
}

impl Given<'_> {
    /// Computes states and contexts, `[rows, len, width + features]`, and what the backward pass needs.
    pub(crate) fn forward(self) -> (Vec<f32>, Tape) {
        let shape = self.shape;
        let Shape { rows, len, width, places, attention, .. } = shape;
        let zeros = |size: usize| vec![0.0; rows * len * size];
        let mut output = zeros(shape.output());
        let mut tape =
            Tape { gates: zeros(4 * width), queries: zeros(attention), weights: zeros(places) };
        let block = rows_per_task(rows);
        let size = |of: usize| (block * len * of).max(1);
        let tasks = output
            .par_chunks_mut(size(shape.output()))
            .zip(tape.gates.par_chunks_mut(size(4 * width)))
            .zip(tape.queries.par_chunks_mut(size(attention)))
            .zip(tape.weights.par_chunks_mut(size(places)));
        tasks.enumerate().for_each(|(n, (((output, gates), queries), weights))| {
            let count = output.len() / (len * shape.output());
            let rows = Rows { given: self, first: n * block, count };
            rows.forward(output, [gates, queries, weights]);
        });
        (output, tape)
    }

    /// The gradients of all inputs, from the gradient of the output and the results of [`forward`](Self::forward).
    /// There is one row per sentence.
    pub(crate) fn backward(self, output: &[f32], tape: &Tape, grad: &[f32]) -> Gradients {
        let shape = self.shape;
        let Shape { rows, len, width, places, attention, features, .. } = shape;
        assert_eq!(rows, shape.sentences, "a row for each sentence");
        let zeros = |size: usize| vec![0.0; rows * size];
        let (mut inputs, mut own) = (zeros(len * 3 * width), zeros(len * 3 * width));
        let mut queries = zeros(len * attention);
        let (mut keys, mut memory) = (zeros(places * attention), zeros(places * features));
        let mut initial = zeros(width);
        let block = rows_per_task(rows);
        let tasks = inputs
            .par_chunks_mut(block * len * 3 * width)
            .zip(own.par_chunks_mut(block * len * 3 * width))
            .zip(queries.par_chunks_mut(block * len * attention))
            .zip(keys.par_chunks_mut(block * places * attention))
            .zip(memory.par_chunks_mut(block * places * features))
            .zip(initial.par_chunks_mut(block * width));
        let task =
            |(n, (((((inputs, own), queries), keys), memory), carry)): (usize, Chunks<'_>)| {
                let rows = Rows { given: self, first: n * block, count: carry.len() / width };
                rows.backward(output, tape, grad, [inputs, own, queries, keys, memory, carry])
            };
        let energies: Vec<Vec<f32>> = tasks.enumerate().map(task).collect();
        let before =
            previous(output, self.initial, [len, width, shape.output()], Direction::Forward);
        let contexts: Vec<f32> =
            output.chunks_exact(shape.output()).flat_map(|row| &row[width..]).copied().collect();
        let sizes = |input, output| Sizes { rows: rows * len, input, output };
        Gradients {
            context_weight: grad_of_weight(sizes(features, 3 * width), &inputs, &contexts),
            weight: grad_of_weight(sizes(width, 3 * width), &own, &before),
            query_weight: grad_of_weight(sizes(width, attention), &queries, &before),
            bias: column_sums(&own, 3 * width),
            energy: ordered_sum(&energies, attention),
            inputs,
            keys,
            memory,
            initial,
        }
    }
}

/// The parts of the gradients that belong to the rows of one task.
type Chunks<'a> = (
    ((((&'a mut [f32], &'a mut [f32]), &'a mut [f32]), &'a mut [f32]), &'a mut [f32]),
    &'a mut [f32],
);
