//! Products in float32. A result is one sum in the order of the terms, each step rounded once. It
//! depends on its row and its column alone: every instruction set gives the same bits, in decoding
//! and in training, on any number of threads. Only on a processor without fused multiply-add is
//! each step rounded twice.

use std::marker::PhantomData;
use std::ops::Range;

use burn::tensor::Bytes;
use bytemuck::Zeroable;

#[cfg(target_arch = "aarch64")]
use std::arch::aarch64::float32x4_t;
#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{__m256, __m512};

use super::instructions::{Instructions, instructions};
use super::panels::{LINE, Line, Panels, transpose};
use super::product::{LeftFactor, Lhs, Major, Product};
use super::tile::{Arithmetic, Layout, OutputStage, Scales};
use super::vector::Floats;
use crate::linear::settings::Epilogue;

/// The number of terms that are added before the next ones.
const DEPTH_TERMS: usize = 256;
/// The number of terms of each tile that are written together. Their source lines stay in the
/// first-level cache, however far apart they are.
const TERMS_AT_ONCE: usize = 8;

/// Fused multiplication and addition.
struct Fused<R>(PhantomData<R>);

// SAFETY: the methods use nothing but the instructions and the words that the trait asks for.
unsafe impl<R: Floats> Arithmetic for Fused<R> {
    type Sums = R;
    type Floats = R;
    #[inline(always)]
    unsafe fn add_products(sums: R, left: u32, right: *const u32) -> R {
        // SAFETY: the caller has the register's instructions, and a register of words at `right`.
        unsafe { R::splat(f32::from_bits(left)).multiply_add(R::load(right), sums) }
    }
    #[inline(always)]
    unsafe fn floats(sums: R, _: &Scales, _: usize, _: usize) -> R {
        sums
    }
}

/// Returns every instruction set that this processor has, the fastest first.
pub(super) fn available() -> impl Iterator<Item = Instructions> {
    [
        // 24 of the 32 registers hold sums.
        #[cfg(target_arch = "x86_64")]
        crate::simd::has_avx512().then_some(instructions!(
            "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma",
            Fused<__m512>, 8 by 3, tile: 8, offset: 0
        )),
        // 12 of the 16 registers hold sums. Four rows of three vectors need one more register than
        // there are for the factors, and are half as fast.
        #[cfg(target_arch = "x86_64")]
        crate::simd::has_avx2().then_some(instructions!(
            "avx2,fma",
            Fused<__m256>, 6 by 2, tile: 6, offset: 0
        )),
        #[cfg(target_arch = "aarch64")]
        Some(instructions!(Fused<float32x4_t>, 8 by 3, tile: 8, offset: 0)),
        Some(instructions!(Fused<[f32; 8]>, 4 by 1, tile: 8, offset: 0)),
    ]
    .into_iter()
    .flatten()
}

/// Returns the fastest set that this processor has.
pub(super) fn best() -> Instructions {
    available()
        .next()
        .expect("the portable set is always there")
}

/// Panels of a weight, `[columns, depth]` in row-major order.
pub(super) fn panels_of_rows(
    instructions: Instructions,
    weight: &[f32],
    shape @ [columns, depth]: [usize; 2],
) -> Panels {
    assert_eq!(weight.len(), columns * depth, "a weight {columns}x{depth}");
    let weight: &[u32] = bytemuck::cast_slice(weight);
    Panels::by_columns(instructions, shape, |columns, panel| {
        transpose(
            panel,
            &weight[columns.start * depth..columns.end * depth],
            depth,
        );
    })
}

/// Panels of the transpose of a weight, `[depth, columns]` in row-major order.
pub(super) fn panels_of_columns(
    instructions: Instructions,
    matrix: &[f32],
    [depth, columns]: [usize; 2],
) -> Panels {
    assert_eq!(matrix.len(), columns * depth, "a matrix {depth}x{columns}");
    let matrix: &[u32] = bytemuck::cast_slice(matrix);
    Panels::by_steps(instructions, [columns, depth], |terms, part, out| {
        let width = out.len() / terms.len();
        for (term, out) in terms.zip(out.chunks_exact_mut(width)) {
            out[..part.len()].write_copy_of_slice(&matrix[term * columns..][part.clone()]);
        }
    })
}

/// [`panels_of_rows`] for the fastest instruction set.
pub(in crate::linear) fn panels(weight: &[f32], shape: [usize; 2]) -> Panels {
    panels_of_rows(best(), weight, shape)
}

/// Packs a weight, `[columns, depth]` in row-major order, into panels in place. Returns the weight
/// unchanged if it is empty.
pub(in crate::linear) fn panels_in_place(
    weight: Bytes,
    shape: [usize; 2],
) -> Result<Panels, Bytes> {
    Panels::in_place(best(), weight, shape)
}

/// The product of training, `epilogue(left·right + bias)`, `[rows, columns]`; `bias` `[columns]` or
/// empty.
pub(super) fn product(left: Lhs, right: &Panels, bias: &[f32], epilogue: Epilogue) -> Vec<f32> {
    let last = OutputStage::of_floats(bias, epilogue);
    Product::new(PlainLhs(left), right, last).by_rows(DEPTH_TERMS)
}

/// Adds the product of training, `left·right`, to `out`, `[rows, columns]`.
pub(super) fn add_product(left: Lhs, right: &Panels, out: &mut [f32]) {
    let last = OutputStage::of_floats(&[], Epilogue::None);
    Product::new(PlainLhs(left), right, last).add_by_rows(DEPTH_TERMS, out);
}

/// The product of decoding, `epilogue(x·right + bias)` for `x` `[rows, depth]`; `bias` `[columns]`
/// or empty.
pub(in crate::linear) fn forward(
    right: &Panels,
    x: &[f32],
    bias: &[f32],
    epilogue: Epilogue,
) -> Vec<f32> {
    let rows = x.len().checked_div(right.steps).unwrap_or(0);
    let left = PlainLhs(Lhs::rows(x, [rows, right.steps]));
    let last = OutputStage::of_floats(bias, epilogue);
    Product::new(left, right, last).by_panels()
}

/// A left factor that is multiplied as it is.
struct PlainLhs<'a>(Lhs<'a>);

impl LeftFactor for PlainLhs<'_> {
    fn rows(&self) -> usize {
        self.0.rows
    }

    fn steps(&self) -> usize {
        self.0.depth
    }

    fn block(
        &self,
        instructions: Instructions,
        rows: Range<usize>,
        terms: Range<usize>,
        buffer: &mut Vec<Line>,
    ) -> (*const u32, Layout) {
        let Lhs {
            matrix,
            rows: width,
            depth,
            major,
        } = self.0;
        let matrix: &[u32] = bytemuck::cast_slice(matrix);
        if major == Major::Row {
            // Rows of no terms begin at the end of the matrix.
            return (
                matrix[rows.start * depth + terms.start..].as_ptr(),
                Layout::Rows(depth),
            );
        }
        let count = rows.len().next_multiple_of(instructions.tile) * terms.len();
        buffer.resize(count.div_ceil(LINE), Line::zeroed());
        let block = &mut bytemuck::cast_slice_mut(buffer)[..count];
        let matrix = &matrix[terms.start * width..terms.end * width];
        match instructions.tile {
            8 => tiles::<8>(matrix, width, rows, terms.len(), block),
            6 => tiles::<6>(matrix, width, rows, terms.len(), block),
            tile => unreachable!("tiles of {tile} rows"),
        }
        (block.as_ptr(), Layout::Tiles)
    }
}

/// Writes the columns `rows` of a matrix `[terms, width]` as `[tiles, terms, TILE]`. The last tile
/// keeps its old numbers for missing rows.
fn tiles<const TILE: usize>(
    matrix: &[u32],
    width: usize,
    rows: Range<usize>,
    terms: usize,
    block: &mut [u32],
) {
    for start in (0..terms).step_by(TERMS_AT_ONCE) {
        for (tile, block) in block.chunks_exact_mut(terms * TILE).enumerate() {
            let first = rows.start + tile * TILE;
            let count = TILE.min(rows.end - first);
            let term_slots = block.as_chunks_mut::<TILE>().0[start..]
                .iter_mut()
                .take(TERMS_AT_ONCE);
            for (term, slot) in term_slots.enumerate() {
                let numbers = &matrix[(start + term) * width + first..];
                match numbers.first_chunk::<TILE>() {
                    Some(numbers) if count == TILE => *slot = *numbers,
                    _ => slot[..count].copy_from_slice(&numbers[..count]),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linear::cpu::tests::{SIZES, transposed};
    use crate::random::RandomKey;

    fn bits(numbers: &[f32]) -> Vec<u32> {
        numbers.iter().map(|x| x.to_bits()).collect()
    }

    /// One step of a sum: arrays have no fused multiplication and addition.
    fn step(instructions: Instructions) -> fn(f32, f32, f32) -> f32 {
        if instructions.name.contains('[') {
            |sum, x, w| x * w + sum
        } else {
            |sum, x, w| x.mul_add(w, sum)
        }
    }

    /// Every instruction set gives the same bits: a product is one sum in the order of the inputs,
    /// and each step is rounded once.
    #[test]
    fn every_instruction_set_gives_the_sum_in_order() {
        for instructions in available() {
            let step = step(instructions);
            for [rows, input, output] in [
                [1, 5, 3],
                [3, 16, 24],
                [7, 33, 25],
                [13, 70, 100],
                [40, 9, 48],
            ] {
                let x = RandomKey::new(1).normal(rows * input);
                let weight = RandomKey::new(2).normal(output * input);
                let bias = RandomKey::new(3).normal(output);
                let panels = panels_of_rows(instructions, &weight, [output, input]);
                let actual = forward(&panels, &x, &bias, Epilogue::Relu);
                let expected = x.chunks_exact(input).flat_map(|x| {
                    weight
                        .chunks_exact(input)
                        .zip(&bias)
                        .map(move |(weight, bias)| {
                            let sum = x
                                .iter()
                                .zip(weight)
                                .fold(0.0, |sum, (x, w)| step(sum, *x, *w));
                            let sum = sum + bias;
                            if sum < 0.0 { 0.0 } else { sum }
                        })
                });
                let expected: Vec<f32> = expected.collect();
                assert_eq!(
                    bits(&actual),
                    bits(&expected),
                    "{instructions:?} {rows}x{input}x{output}"
                );
            }
        }
    }

    #[test]
    fn panels_in_place_equal_copied_panels_and_unpack_to_the_weight() {
        for instructions in available() {
            for [input, output] in [
                [5, 16],
                [33, 32],
                [16, 48],
                [70, 112],
                [9, 1],
                [16, 33],
                [7, 121],
            ] {
                let numbers = RandomKey::new(1).normal(input * output);
                let weight = Bytes::from_elems(numbers.clone());
                let beside = panels_of_rows(instructions, &numbers, [output, input]);
                let inside = Panels::in_place(instructions, weight, [output, input])
                    .unwrap_or_else(|_| panic!("{instructions:?} {input} {output}"));
                for panel in 0..beside.count() {
                    assert_eq!(inside.words(panel, 0..input), beside.words(panel, 0..input));
                }
                assert_eq!(bytemuck::cast_vec::<u32, f32>(inside.rows()), numbers);
                assert_eq!(bytemuck::cast_vec::<u32, f32>(beside.rows()), numbers);
            }
        }
    }

    /// The panel of 16 outputs is full; the last one of 17 is filled up.
    #[test]
    fn relu_keeps_the_sign_of_an_underflow() {
        for instructions in available() {
            let product = step(instructions)(0.0, -1e-30, 1e-30);
            for output in [16, 17] {
                let panels = panels_of_rows(instructions, &vec![1e-30; output], [output, 1]);
                let actual = forward(&panels, &[-1e-30], &[], Epilogue::Relu);
                assert_eq!(
                    bits(&actual),
                    bits(&vec![product; output]),
                    "{instructions:?} {output}"
                );
            }
        }
    }

    /// The product by its definition in the documentation of the module, one number at a time;
    /// `left` is `[rows, depth]`, `right` `[depth, columns]`.
    fn defined(
        left: &[f32],
        right: &[f32],
        [rows, depth, columns]: [usize; 3],
        step: fn(f32, f32, f32) -> f32,
    ) -> Vec<f32> {
        let mut product = Vec::with_capacity(rows * columns);
        for row in 0..rows {
            for column in 0..columns {
                let mut sum = 0.0;
                for k in 0..depth {
                    sum = step(sum, left[row * depth + k], right[k * columns + column]);
                }
                product.push(sum);
            }
        }
        product
    }

    #[test]
    fn every_instruction_set_gives_the_sums_in_order_for_every_layout() {
        for size @ [rows, depth, columns] in SIZES.into_iter().chain([[1100, 260, 25]]) {
            let left = RandomKey::new(1).normal(rows * depth);
            let right = RandomKey::new(2).normal(depth * columns);
            let bias = RandomKey::new(3).normal(columns);
            let left_turned = transposed(&left, [rows, depth]);
            let right_turned = transposed(&right, [depth, columns]);
            for instructions in available() {
                let sums = defined(&left, &right, size, step(instructions));
                let with_bias = sums
                    .iter()
                    .enumerate()
                    .map(|(index, y)| y + bias[index % columns]);
                let rectified: Vec<f32> =
                    with_bias.map(|y| if y < 0.0 { 0.0 } else { y }).collect();
                let lefts = [
                    Lhs::rows(&left, [rows, depth]),
                    Lhs::columns(&left_turned, [depth, rows]),
                ];
                let rights = [
                    panels_of_columns(instructions, &right, [depth, columns]),
                    panels_of_rows(instructions, &right_turned, [columns, depth]),
                ];
                for (left, right) in lefts
                    .iter()
                    .flat_map(|left| rights.iter().map(move |right| (left, right)))
                {
                    let actual = product(*left, right, &[], Epilogue::None);
                    assert!(bits(&actual) == bits(&sums), "{instructions:?} {size:?}");
                    let actual = product(*left, right, &bias, Epilogue::Relu);
                    assert!(
                        bits(&actual) == bits(&rectified),
                        "{instructions:?} {size:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn training_and_decoding_give_the_same_bits() {
        let [rows, depth, columns] = [37, 300, 70];
        let x = RandomKey::new(1).normal(rows * depth);
        let weight = RandomKey::new(2).normal(columns * depth);
        for instructions in available() {
            let panels = panels_of_rows(instructions, &weight, [columns, depth]);
            let packed = forward(&panels, &x, &[], Epilogue::None);
            let ours = product(Lhs::rows(&x, [rows, depth]), &panels, &[], Epilogue::None);
            assert!(bits(&packed) == bits(&ours), "{instructions:?}");
        }
    }

    #[test]
    fn the_number_of_threads_does_not_change_the_bits() {
        let [rows, depth, columns] = [301, 270, 90];
        let left = RandomKey::new(1).normal(rows * depth);
        let right = RandomKey::new(2).normal(depth * columns);
        let panels = panels_of_columns(best(), &right, [depth, columns]);
        let on = |threads| {
            let pool = rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .build()
                .unwrap();
            pool.install(|| {
                product(
                    Lhs::rows(&left, [rows, depth]),
                    &panels,
                    &[],
                    Epilogue::None,
                )
            })
        };
        assert!(bits(&on(1)) == bits(&on(3)));
    }
}
