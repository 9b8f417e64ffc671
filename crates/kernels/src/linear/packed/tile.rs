//! The innermost loop: a few rows times one panel, the sums in registers.

use crate::linear::epilogue::Epilogue;

#[cfg(target_arch = "aarch64")]
use std::arch::aarch64::*;
#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;

/// The number of vectors side by side in a panel.
pub(super) const VECTORS: usize = 3;

/// Vector instructions with fused multiplication and addition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Instructions {
    #[cfg(target_arch = "x86_64")]
    Avx512,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    #[cfg(target_arch = "aarch64")]
    Neon,
}

impl Instructions {
    /// Every instruction set that this processor has, the fastest first.
    pub(super) fn available() -> impl Iterator<Item = Self> {
        #[cfg(target_arch = "x86_64")]
        return [
            crate::simd::has_avx512().then_some(Self::Avx512),
            crate::simd::has_avx2().then_some(Self::Avx2),
        ]
        .into_iter()
        .flatten();
        #[cfg(target_arch = "aarch64")]
        return std::iter::once(Self::Neon);
        #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
        std::iter::empty()
    }

    /// The number of output features in a panel.
    pub(super) fn panel(self) -> usize {
        VECTORS * self.lanes()
    }

    /// The number of elements of one vector.
    pub(super) fn lanes(self) -> usize {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => __m512::LANES,
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => __m256::LANES,
            #[cfg(target_arch = "aarch64")]
            Self::Neon => float32x4_t::LANES,
        }
    }

    /// Computes `tile`.
    ///
    /// # Safety
    /// The processor has these instructions, and `tile` holds what its fields promise.
    pub(super) unsafe fn run(self, tile: &Tile) {
        // SAFETY: passed on to the caller.
        unsafe {
            match self {
                #[cfg(target_arch = "x86_64")]
                Self::Avx512 => avx512(tile),
                #[cfg(target_arch = "x86_64")]
                Self::Avx2 => avx2(tile),
                #[cfg(target_arch = "aarch64")]
                Self::Neon => tile.run::<float32x4_t, 8>(),
            }
        }
    }
}

/// Eight rows of three vectors: 24 of the 32 registers hold sums.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
unsafe fn avx512(tile: &Tile) {
    // SAFETY: the caller's promise.
    unsafe { tile.run::<__m512, 8>() };
}

/// Four rows of three vectors: 12 of the 16 registers hold sums.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
unsafe fn avx2(tile: &Tile) {
    // SAFETY: the caller's promise.
    unsafe { tile.run::<__m256, 4>() };
}

/// The rows of one panel that are computed together.
pub(super) struct Tile<'a> {
    /// The inputs: `rows` rows of `input` elements.
    pub x: &'a [f32],
    /// The panel, `[input, vectors of the panel]`.
    pub panel: &'a [f32],
    pub input: usize,
    pub rows: usize,
    /// The bias: one number for each feature of the panel, or none.
    pub bias: &'a [f32],
    /// The result: `rows` rows of `features` elements, `stride` apart, that no other thread reads or writes.
    pub out: *mut f32,
    pub stride: usize,
    /// The number of features: more than all vectors of the panel but one hold, and at most as many as all of them
    /// hold.
    pub features: usize,
    pub epilogue: Epilogue,
}

impl Tile<'_> {
    /// # Safety
    /// The caller guarantees what [`Instructions::run`] requires, for the instructions of `V`.
    #[inline(always)]
    unsafe fn run<V: Vector, const ROWS: usize>(&self) {
        // SAFETY: passed on to the caller.
        unsafe {
            match self.features.div_ceil(V::LANES) {
                1 => self.blocks::<V, ROWS, 1>(),
                2 => self.blocks::<V, ROWS, 2>(),
                _ => self.blocks::<V, ROWS, VECTORS>(),
            }
        }
    }

    /// Computes blocks of `ROWS` rows, then of 4, 2 and 1 for the rows that remain.
    ///
    /// # Safety
    /// The caller guarantees what [`run`](Self::run) requires, for a panel of `WIDTH` vectors.
    #[inline(always)]
    unsafe fn blocks<V: Vector, const ROWS: usize, const WIDTH: usize>(&self) {
        let mut row = 0;
        // SAFETY: passed on to the caller; `row` and the rows of its block exist.
        unsafe {
            while row + ROWS <= self.rows {
                self.block::<V, ROWS, WIDTH>(row);
                row += ROWS;
            }
            while row + 4 <= self.rows {
                self.block::<V, 4, WIDTH>(row);
                row += 4;
            }
            if row + 2 <= self.rows {
                self.block::<V, 2, WIDTH>(row);
                row += 2;
            }
            if row < self.rows {
                self.block::<V, 1, WIDTH>(row);
            }
        }
    }

    /// # Safety
    /// The caller guarantees what [`blocks`](Self::blocks) requires, and that rows `first..first + ROWS` exist.
    #[inline(always)]
    unsafe fn block<V: Vector, const ROWS: usize, const WIDTH: usize>(&self, first: usize) {
        let x = self.x[first * self.input..(first + ROWS) * self.input].as_ptr();
        let panel = self.panel[..self.input * WIDTH * V::LANES].as_ptr();
        // SAFETY: `x` holds ROWS rows of `input` numbers and `panel` `input` times WIDTH
        // vectors; the processor has the instructions.
        let sums: [[V; WIDTH]; ROWS] = unsafe {
            let mut sums = [[V::splat(0.0); WIDTH]; ROWS];
            for i in 0..self.input {
                let mut weights = [V::splat(0.0); WIDTH];
                for (v, weight) in weights.iter_mut().enumerate() {
                    *weight = V::load(panel.add((i * WIDTH + v) * V::LANES));
                }
                for (row, sums) in sums.iter_mut().enumerate() {
                    let x = V::splat(*x.add(row * self.input + i));
                    for (sum, weight) in sums.iter_mut().zip(weights) {
                        *sum = x.multiply_add(weight, *sum);
                    }
                }
            }
            sums
        };
        // SAFETY: the rows exist, and the caller promises the rest.
        unsafe {
            let out = self.out.add(first * self.stride);
            if self.features == WIDTH * V::LANES {
                for (row, sums) in sums.into_iter().enumerate() {
                    self.finish(sums, out.add(row * self.stride));
                }
            } else {
                for (row, sums) in sums.into_iter().enumerate() {
                    self.finish_part(sums, out.add(row * self.stride));
                }
            }
        }
    }

    /// Writes the sums of one row of a full panel, with bias and epilogue.
    ///
    /// # Safety
    /// The caller guarantees what [`blocks`](Self::blocks) requires, that `out` is the place of the row and that the
    /// panel is full.
    #[inline(always)]
    unsafe fn finish<V: Vector, const WIDTH: usize>(&self, sums: [V; WIDTH], out: *mut f32) {
        // SAFETY: bias, if any, and row have WIDTH vectors' numbers.
        unsafe {
            for (v, mut sum) in sums.into_iter().enumerate() {
                if !self.bias.is_empty() {
                    sum = sum.add(V::load(self.bias.as_ptr().add(v * V::LANES)));
                }
                if self.epilogue == Epilogue::Relu {
                    sum = sum.or_zero();
                }
                sum.store(out.add(v * V::LANES));
            }
        }
    }

    /// Writes the sums of one row of a panel that is not full.
    ///
    /// # Safety
    /// The caller guarantees what [`finish`](Self::finish) requires, except that the panel may have fewer features.
    #[inline(never)] // its vectors lie in memory, those of full panels shall not
    unsafe fn finish_part<V: Vector, const WIDTH: usize>(&self, sums: [V; WIDTH], out: *mut f32) {
        // SAFETY: vectors are their numbers, side by side.
        let sums: &[f32] =
            unsafe { std::slice::from_raw_parts(sums.as_ptr().cast(), WIDTH * V::LANES) };
        for (feature, &sum) in sums.iter().enumerate().take(self.features) {
            let sum = self.bias.get(feature).map_or(sum, |bias| sum + bias);
            let sum = if self.epilogue == Epilogue::Relu && sum < 0.0 { 0.0 } else { sum };
            // SAFETY: the row has `features` numbers.
            unsafe { out.add(feature).write(sum) };
        }
    }
}

/// A vector register.
///
/// # Safety
/// The type consists of [`LANES`](Self::LANES) `f32` and nothing else. Each method is only to be called
/// on processors with the type's instructions; pointers are to [`LANES`](Self::LANES) numbers.
unsafe trait Vector: Copy {
    /// The number of elements in the register.
    const LANES: usize;
    unsafe fn splat(x: f32) -> Self;
    unsafe fn load(from: *const f32) -> Self;
    unsafe fn store(self, to: *mut f32);
    unsafe fn add(self, other: Self) -> Self;
    /// `self·factor + sum`, rounded once.
    unsafe fn multiply_add(self, factor: Self, sum: Self) -> Self;
    /// Replaces each number below 0 by 0; −0 and NaN stay.
    unsafe fn or_zero(self) -> Self;
}

/// Implements [`Vector`] with the instructions of one set. `$larger` returns its second operand if both are equal or
/// one is NaN, like the maximum of x86.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
macro_rules! vector {
    ($type:ty, $lanes:literal, $splat:ident, $load:ident, $store:ident, $add:ident, $larger:ident,
     |$x:ident, $factor:ident, $sum:ident| $multiply_add:expr) => {
        // SAFETY: the type is `$lanes` numbers; what the intrinsics demand, the trait does.
        unsafe impl Vector for $type {
            const LANES: usize = $lanes;
            #[inline(always)]
            unsafe fn splat(x: f32) -> Self {
                unsafe { $splat(x) }
            }
            #[inline(always)]
            unsafe fn load(from: *const f32) -> Self {
                unsafe { $load(from) }
            }
            #[inline(always)]
            unsafe fn store(self, to: *mut f32) {
                unsafe { $store(to, self) }
            }
            #[inline(always)]
            unsafe fn add(self, other: Self) -> Self {
                unsafe { $add(self, other) }
            }
            #[inline(always)]
            unsafe fn multiply_add(self, $factor: Self, $sum: Self) -> Self {
                let $x = self;
                unsafe { $multiply_add }
            }
            #[inline(always)]
            unsafe fn or_zero(self) -> Self {
                unsafe { $larger($splat(0.0), self) }
            }
        }
    };
}

#[cfg(target_arch = "x86_64")]
vector!(
    __m512,
    16,
    _mm512_set1_ps,
    _mm512_loadu_ps,
    _mm512_storeu_ps,
    _mm512_add_ps,
    _mm512_max_ps,
    |x, factor, sum| _mm512_fmadd_ps(x, factor, sum)
);
#[cfg(target_arch = "x86_64")]
vector!(
    __m256,
    8,
    _mm256_set1_ps,
    _mm256_loadu_ps,
    _mm256_storeu_ps,
    _mm256_add_ps,
    _mm256_max_ps,
    |x, factor, sum| _mm256_fmadd_ps(x, factor, sum)
);
#[cfg(target_arch = "aarch64")]
vector!(float32x4_t, 4, vdupq_n_f32, vld1q_f32, vst1q_f32, vaddq_f32, larger, |x, factor, sum| {
    vfmaq_f32(sum, x, factor)
});

/// ARM's own maximum regards 0 as larger than −0.
#[cfg(target_arch = "aarch64")]
#[inline(always)]
unsafe fn larger(a: float32x4_t, b: float32x4_t) -> float32x4_t {
    unsafe { vbslq_f32(vcgtq_f32(a, b), a, b) }
}
