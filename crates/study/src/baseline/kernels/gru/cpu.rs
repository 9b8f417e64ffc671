//! CPU arithmetic of gated recurrent units: one step, and whole sequences.

use burnformer_kernels::cpu::{
    Matrix, MatrixMut, Sizes, column_sums, grad_of_weight, increase, multiply,
};
use burnformer_kernels::simd::{sigmoid, tanh, vectorised};
use rayon::prelude::*;

use super::direction::Direction;

/// Number of rows that one task takes through their sequences, a function of the number of rows only. More rows make
/// the matrix products efficient; fewer keep all processors busy.
pub(crate) fn rows_per_task(rows: usize) -> usize {
    rows.div_ceil(8).clamp(8, 64)
}

vectorised! {
    /// One step: computes the `next` state from `state` (`[width]`), given the parts of the gates that come from the
    /// input and from the state (`[3·width]` each). `tape` (`[4·width]`) keeps r, z, n and U_n·h + b_n for
    /// [`retreat`].
    pub(crate) fn advance(
        input: &[f32],
        own: &[f32],
        bias: &[f32],
        state: &[f32],
        tape: &mut [f32],
        next: &mut [f32],
    ) {
        let width = state.len();
        let [input_r, input_z, input_n] = thirds(input, width);
        let [own_r, own_z, own_n] = thirds(own, width);
        let [bias_r, bias_z, bias_n] = thirds(bias, width);
        let [tape_r, tape_z, tape_n, tape_own] = quarters(tape, width);
        let next = &mut next[..width];
        for i in 0..width {
            let r = sigmoid(input_r[i] + (own_r[i] + bias_r[i]));
            let z = sigmoid(input_z[i] + (own_z[i] + bias_z[i]));
            let own = own_n[i] + bias_n[i];
            let n = tanh(input_n[i] + r * own);
            (tape_r[i], tape_z[i], tape_n[i], tape_own[i]) = (r, z, n, own);
            next[i] = (state[i] - n) * z + n;
        }
    }

    /// The backward pass of [`advance`]: computes the gradients of the parts of the gates from the gradient `carry`
    /// of the next state. `carry` becomes the gradient that reaches `state` directly.
    pub(crate) fn retreat(
        carry: &mut [f32],
        tape: &[f32],
        state: &[f32],
        input: &mut [f32],
        own: &mut [f32],
    ) {
        let width = state.len();
        let ([r, z, n], tape_own) = (thirds(tape, width), &tape[3 * width..4 * width]);
        let [input_r, input_z, input_n] = thirds_mut(input, width);
        let [own_r, own_z, own_n] = thirds_mut(own, width);
        let carry = &mut carry[..width];
        for i in 0..width {
            let grad_n = carry[i] * (1.0 - z[i]) * (1.0 - n[i] * n[i]);
            let grad_z = carry[i] * (state[i] - n[i]) * z[i] * (1.0 - z[i]);
            let grad_r = grad_n * tape_own[i] * r[i] * (1.0 - r[i]);
            (input_r[i], input_z[i], input_n[i]) = (grad_r, grad_z, grad_n);
            (own_r[i], own_z[i], own_n[i]) = (grad_r, grad_z, grad_n * r[i]);
            carry[i] *= z[i];
        }
    }
}

#[inline(always)]
fn thirds(x: &[f32], width: usize) -> [&[f32]; 3] {
    [&x[..width], &x[width..2 * width], &x[2 * width..3 * width]]
}

#[inline(always)]
fn thirds_mut(x: &mut [f32], width: usize) -> [&mut [f32]; 3] {
    let (a, rest) = x.split_at_mut(width);
    let (b, c) = rest.split_at_mut(width);
    [a, b, &mut c[..width]]
}

#[inline(always)]
fn quarters(x: &mut [f32], width: usize) -> [&mut [f32]; 4] {
    let (a, rest) = x.split_at_mut(width);
    let (b, rest) = rest.split_at_mut(width);
    let (c, d) = rest.split_at_mut(width);
    [a, b, c, &mut d[..width]]
}

/// Sequences of `[rows, len]` positions and the weights of the unit.
#[derive(Clone, Copy)]
pub(crate) struct Gru<'a> {
    pub len: usize,
    pub width: usize,
    pub direction: Direction,
    /// `[rows, len, 3·width]`.
    pub inputs: &'a [f32],
    pub weight: &'a [f32],
    pub bias: &'a [f32],
    pub initial: &'a [f32],
    /// `[rows, len]`, not 0 where the state does not change.
    pub padding: &'a [u8],
}

/// The gradients of inputs, weight, bias and initial state.
pub(crate) struct GruGradients {
    pub inputs: Vec<f32>,
    pub weight: Vec<f32>,
    pub bias: Vec<f32>,
    pub initial: Vec<f32>,
}

impl<'a> Gru<'a> {
    fn rows(&self) -> usize {
        self.initial.len() / self.width
    }

    /// Only the rows `first..first + count`.
    fn part(self, first: usize, count: usize) -> Self {
        let Self { len, width, .. } = self;
        let of = |x: &'a [f32], size: usize| &x[first * size..(first + count) * size];
        Self {
            inputs: of(self.inputs, len * 3 * width),
            initial: of(self.initial, width),
            padding: &self.padding[first * len..(first + count) * len],
            ..self
        }
    }

    /// Fills `states` (`[rows, len, width]`), and `tape` (`[rows, len, 4·width]`) with what the backward pass needs.
    pub(crate) fn forward(self, states: &mut [f32], tape: &mut [f32]) {
        let block = rows_per_task(self.rows());
        let size = block * self.len * self.width;
        let tasks = states.par_chunks_mut(size).zip(tape.par_chunks_mut(4 * size)).enumerate();
        tasks.for_each(|(n, (states, tape))| {
            let count = states.len() / (self.len * self.width);
            self.part(n * block, count).forward_rows(states, tape);
        });
    }

    fn forward_rows(self, states: &mut [f32], tape: &mut [f32]) {
        let Self { len, width, .. } = self;
        let rows = self.rows();
        let mut state = self.initial.to_vec();
        let mut own = vec![0.0; rows * 3 * width];
        for place in self.direction.places(len) {
            product(&mut own, &state, self.weight, [rows, width, 3 * width]);
            for row in 0..rows {
                let at = row * len + place;
                let state = &mut state[row * width..][..width];
                let next = &mut states[at * width..][..width];
                if self.padding[at] != 0 {
                    next.copy_from_slice(state);
                    continue;
                }
                let input = &self.inputs[at * 3 * width..][..3 * width];
                let own = &own[row * 3 * width..][..3 * width];
                advance(input, own, self.bias, state, &mut tape[at * 4 * width..], next);
                state.copy_from_slice(next);
            }
        }
    }

    /// The gradients of all inputs, from the gradient of the states and the results of [`forward`](Self::forward).
    pub(crate) fn backward(self, states: &[f32], tape: &[f32], grad: &[f32]) -> GruGradients {
        let Self { len, width, .. } = self;
        let (rows, block) = (self.rows(), rows_per_task(self.rows()));
        let mut inputs = vec![0.0; rows * len * 3 * width];
        let mut own = inputs.clone();
        let mut initial = vec![0.0; rows * width];
        let size = block * len * 3 * width;
        let outputs = inputs.par_chunks_mut(size).zip(own.par_chunks_mut(size));
        let tasks = outputs.zip(initial.par_chunks_mut(block * width)).enumerate();
        tasks.for_each(|(n, ((inputs, own), carry))| {
            let count = carry.len() / width;
            let of = |size: usize| n * block * len * size..(n * block + count) * len * size;
            let (states, tape, grad) = (&states[of(width)], &tape[of(4 * width)], &grad[of(width)]);
            self.part(n * block, count).backward_rows(states, tape, grad, [inputs, own, carry]);
        });
        let sizes = Sizes { rows: rows * len, input: width, output: 3 * width };
        let previous = previous(states, self.initial, [len, width, width], self.direction);
        let weight = grad_of_weight(sizes, &own, &previous);
        let bias = column_sums(&own, 3 * width);
        GruGradients { inputs, weight, bias, initial }
    }

    fn backward_rows(
        self,
        states: &[f32],
        tape: &[f32],
        grad: &[f32],
        [inputs, own, carry]: [&mut [f32]; 3],
    ) {
        let Self { len, width, .. } = self;
        let rows = self.rows();
        let mut before = vec![0.0; rows * width];
        let places: Vec<usize> = self.direction.places(len).collect();
        for (step, &place) in places.iter().enumerate().rev() {
            for row in 0..rows {
                let at = row * len + place;
                let carry = &mut carry[row * width..][..width];
                increase(carry, &grad[at * width..][..width]);
                if self.padding[at] != 0 {
                    continue;
                }
                let state = match step {
                    0 => &self.initial[row * width..][..width],
                    _ => &states[(row * len + places[step - 1]) * width..][..width],
                };
                let gates = at * 3 * width..(at + 1) * 3 * width;
                let (input, own) = (&mut inputs[gates.clone()], &mut own[gates]);
                retreat(carry, &tape[at * 4 * width..][..4 * width], state, input, own);
            }
            let own = Matrix::new(&own[place * 3 * width..], rows, 3 * width, len * 3 * width);
            back_product(&mut before, own, self.weight, [rows, width, 3 * width]);
            increase(carry, &before);
        }
    }
}

/// Computes `out = x·weightᵀ` on this thread: `x` `[rows, input]`, `weight` `[output, input]`.
pub(crate) fn product(
    out: &mut [f32],
    x: &[f32],
    weight: &[f32],
    [rows, input, output]: [usize; 3],
) {
    let weight = Matrix::new(weight, output, input, input).transposed();
    let out = MatrixMut::new(out, rows, output, output);
    multiply(out, Matrix::new(x, rows, input, input), weight, 1.0);
}

/// Computes `out = grad·weight` on this thread: `grad` `[rows, output]`, `weight` `[output, input]`.
pub(crate) fn back_product(
    out: &mut [f32],
    grad: Matrix,
    weight: &[f32],
    [rows, input, output]: [usize; 3],
) {
    let weight = Matrix::new(weight, output, input, input);
    multiply(MatrixMut::new(out, rows, input, input), grad, weight, 1.0);
}

/// The state before each position, `[rows, len, width]`, from the states after each position. Those are at the start
/// of every `stride` values of `states`.
pub(crate) fn previous(
    states: &[f32],
    initial: &[f32],
    [len, width, stride]: [usize; 3],
    direction: Direction,
) -> Vec<f32> {
    let mut previous = vec![0.0; initial.len() * len];
    let rows = previous.par_chunks_mut((len * width).max(1)).enumerate();
    rows.for_each(|(row, out)| {
        let mut before = &initial[row * width..][..width];
        for place in direction.places(len) {
            out[place * width..][..width].copy_from_slice(before);
            before = &states[(row * len + place) * stride..][..width];
        }
    });
    previous
}
