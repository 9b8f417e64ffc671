//! The instruction sets that multiply 8-bit integers.

#[cfg(target_arch = "aarch64")]
use std::arch::aarch64::*;
#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;

use super::tile::Tile;

/// Inputs that are multiplied and added in one step.
pub(super) const GROUP: usize = 4;

/// Instructions for sums of products of 8-bit integers in 32 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Instructions {
    /// 16 outputs by `vpdpbusd`.
    #[cfg(target_arch = "x86_64")]
    Avx512Vnni,
    /// 8 outputs by `vpdpbusd`.
    #[cfg(target_arch = "x86_64")]
    AvxVnni,
    /// 8 outputs by `vpmaddubsw`.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// 4 outputs by `smull`.
    #[cfg(target_arch = "aarch64")]
    Neon,
    /// 8 outputs, without vector instructions named.
    Portable,
}

impl Instructions {
    /// Every set that this processor has, the fastest first.
    pub(super) fn available() -> impl Iterator<Item = Self> {
        #[cfg(target_arch = "x86_64")]
        let sets = {
            let vnni512 = crate::simd::has_avx512() && std::is_x86_feature_detected!("avx512vnni");
            let vnni256 = crate::simd::has_avx2() && std::is_x86_feature_detected!("avxvnni");
            [
                vnni512.then_some(Self::Avx512Vnni),
                vnni256.then_some(Self::AvxVnni),
                crate::simd::has_avx2().then_some(Self::Avx2),
                Some(Self::Portable),
            ]
        };
        #[cfg(target_arch = "aarch64")]
        let sets = [Some(Self::Neon), Some(Self::Portable)];
        #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
        let sets = [Some(Self::Portable)];
        sets.into_iter().flatten()
    }

    /// Outputs of one vector.
    pub(super) fn lanes(self) -> usize {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512Vnni => <__m512i as Sums>::LANES,
            #[cfg(target_arch = "x86_64")]
            Self::AvxVnni => <VnniSums as Sums>::LANES,
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => <__m256i as Sums>::LANES,
            #[cfg(target_arch = "aarch64")]
            Self::Neon => <int32x4_t as Sums>::LANES,
            Self::Portable => <[i32; 8] as Sums>::LANES,
        }
    }

    /// What is added to the 8-bit inputs, for instructions that take them without a sign: 128, or 0.
    pub(super) fn offset(self) -> i32 {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512Vnni | Self::AvxVnni => 128,
            _ => 0,
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
                Self::Avx512Vnni => avx512_vnni(tile),
                #[cfg(target_arch = "x86_64")]
                Self::AvxVnni => avx_vnni(tile),
                #[cfg(target_arch = "x86_64")]
                Self::Avx2 => avx2(tile),
                #[cfg(target_arch = "aarch64")]
                Self::Neon => tile.run::<int32x4_t, 4>(),
                Self::Portable => tile.run::<[i32; 8], 1>(),
            }
        }
    }
}

/// Eight rows of three vectors: 24 of the 32 registers hold sums.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma")]
unsafe fn avx512_vnni(tile: &Tile) {
    // SAFETY: the caller's promise.
    unsafe { tile.run::<__m512i, 8>() };
}

/// Four rows of three vectors: 12 of the 16 registers hold sums.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,avxvnni")]
unsafe fn avx_vnni(tile: &Tile) {
    // SAFETY: the caller's promise.
    unsafe { tile.run::<VnniSums, 4>() };
}

/// Two rows of three vectors: the products need registers of their own.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
unsafe fn avx2(tile: &Tile) {
    // SAFETY: the caller's promise.
    unsafe { tile.run::<__m256i, 2>() };
}

/// A vector register of 32-bit sums, one for each of [`LANES`](Self::LANES) outputs.
///
/// # Safety
/// The type consists of [`LANES`](Self::LANES) `i32` and nothing else. Each method is only to be called on processors with
/// the type's instructions; pointers are to as many numbers as the method says.
pub(super) unsafe trait Sums: Copy {
    /// Sums in the register.
    const LANES: usize;
    /// The register at `from`, of [`LANES`](Self::LANES) numbers.
    unsafe fn load(from: *const i32) -> Self;
    /// Zeros.
    unsafe fn zero() -> Self;
    unsafe fn add(self, other: Self) -> Self;
    /// Adds, for each output, the products of the [`GROUP`] inputs at `inputs` with the [`GROUP`] weights of that output at
    /// `weights`, which has those of [`LANES`](Self::LANES) outputs one after the other. A product is of an input, raised
    /// by [`Instructions::offset`] and then without a sign, and a weight from −127 to 127.
    unsafe fn add_products(self, inputs: *const i8, weights: *const i8) -> Self;
    /// Writes `sum · (row_scale · scale) + bias` for each output to `out`, or `floor` where that is below it: scales, biases
    /// and results are [`LANES`](Self::LANES) numbers.
    unsafe fn finish(
        self,
        row_scale: f32,
        scales: *const f32,
        bias: *const f32,
        floor: f32,
        out: *mut f32,
    );
}

#[cfg(target_arch = "x86_64")]
// SAFETY: 16 numbers of 32 bits; what the intrinsics demand, the trait does.
unsafe impl Sums for __m512i {
    const LANES: usize = 16;
    #[inline(always)]
    unsafe fn load(from: *const i32) -> Self {
        unsafe { _mm512_loadu_si512(from.cast()) }
    }
    #[inline(always)]
    unsafe fn zero() -> Self {
        unsafe { _mm512_setzero_si512() }
    }
    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        unsafe { _mm512_add_epi32(self, other) }
    }
    #[inline(always)]
    unsafe fn add_products(self, inputs: *const i8, weights: *const i8) -> Self {
        unsafe {
            let inputs = _mm512_set1_epi32(inputs.cast::<i32>().read_unaligned());
            _mm512_dpbusd_epi32(self, inputs, _mm512_loadu_si512(weights.cast()))
        }
    }
    #[inline(always)]
    unsafe fn finish(
        self,
        row_scale: f32,
        scales: *const f32,
        bias: *const f32,
        floor: f32,
        out: *mut f32,
    ) {
        unsafe {
            let scales = _mm512_mul_ps(_mm512_set1_ps(row_scale), _mm512_loadu_ps(scales));
            let y = _mm512_mul_ps(_mm512_cvtepi32_ps(self), scales);
            let y = _mm512_add_ps(y, _mm512_loadu_ps(bias));
            _mm512_storeu_ps(out, _mm512_max_ps(_mm512_set1_ps(floor), y));
        }
    }
}

/// `finish` of the sets whose registers hold eight sums.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn finish_eight(
    sums: __m256i,
    row_scale: f32,
    scales: *const f32,
    bias: *const f32,
    floor: f32,
    out: *mut f32,
) {
    unsafe {
        let scales = _mm256_mul_ps(_mm256_set1_ps(row_scale), _mm256_loadu_ps(scales));
        let y = _mm256_mul_ps(_mm256_cvtepi32_ps(sums), scales);
        let y = _mm256_add_ps(y, _mm256_loadu_ps(bias));
        _mm256_storeu_ps(out, _mm256_max_ps(_mm256_set1_ps(floor), y));
    }
}

/// Eight sums, for processors with `vpdpbusd` on 256 bits.
#[cfg(target_arch = "x86_64")]
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(super) struct VnniSums(__m256i);

#[cfg(target_arch = "x86_64")]
// SAFETY: 8 numbers of 32 bits; what the intrinsics demand, the trait does.
unsafe impl Sums for VnniSums {
    const LANES: usize = 8;
    #[inline(always)]
    unsafe fn load(from: *const i32) -> Self {
        unsafe { Self(_mm256_loadu_si256(from.cast())) }
    }
    #[inline(always)]
    unsafe fn zero() -> Self {
        unsafe { Self(_mm256_setzero_si256()) }
    }
    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        unsafe { Self(_mm256_add_epi32(self.0, other.0)) }
    }
    #[inline(always)]
    unsafe fn add_products(self, inputs: *const i8, weights: *const i8) -> Self {
        unsafe {
            let inputs = _mm256_set1_epi32(inputs.cast::<i32>().read_unaligned());
            Self(_mm256_dpbusd_avx_epi32(self.0, inputs, _mm256_loadu_si256(weights.cast())))
        }
    }
    #[inline(always)]
    unsafe fn finish(
        self,
        row_scale: f32,
        scales: *const f32,
        bias: *const f32,
        floor: f32,
        out: *mut f32,
    ) {
        unsafe { finish_eight(self.0, row_scale, scales, bias, floor, out) }
    }
}

#[cfg(target_arch = "x86_64")]
// SAFETY: 8 numbers of 32 bits; what the intrinsics demand, the trait does.
unsafe impl Sums for __m256i {
    const LANES: usize = 8;
    #[inline(always)]
    unsafe fn load(from: *const i32) -> Self {
        unsafe { _mm256_loadu_si256(from.cast()) }
    }
    #[inline(always)]
    unsafe fn zero() -> Self {
        unsafe { _mm256_setzero_si256() }
    }
    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        unsafe { _mm256_add_epi32(self, other) }
    }
    /// `vpmaddubsw` takes one factor without a sign and adds pairs of products in 16 bits: with the magnitude of the
    /// input and the weight under the input's sign, a pair is at most 2·127², which fits.
    #[inline(always)]
    unsafe fn add_products(self, inputs: *const i8, weights: *const i8) -> Self {
        unsafe {
            let inputs = _mm256_set1_epi32(inputs.cast::<i32>().read_unaligned());
            let weights = _mm256_sign_epi8(_mm256_loadu_si256(weights.cast()), inputs);
            let pairs = _mm256_maddubs_epi16(_mm256_abs_epi8(inputs), weights);
            _mm256_add_epi32(self, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)))
        }
    }
    #[inline(always)]
    unsafe fn finish(
        self,
        row_scale: f32,
        scales: *const f32,
        bias: *const f32,
        floor: f32,
        out: *mut f32,
    ) {
        unsafe { finish_eight(self, row_scale, scales, bias, floor, out) }
    }
}

#[cfg(target_arch = "aarch64")]
// SAFETY: 4 numbers of 32 bits; what the intrinsics demand, the trait does.
unsafe impl Sums for int32x4_t {
    const LANES: usize = 4;
    #[inline(always)]
    unsafe fn load(from: *const i32) -> Self {
        unsafe { vld1q_s32(from) }
    }
    #[inline(always)]
    unsafe fn zero() -> Self {
        unsafe { vdupq_n_s32(0) }
    }
    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        unsafe { vaddq_s32(self, other) }
    }
    /// Products in 16 bits, added in pairs there (at most 2·127², which fits) and in pairs of pairs in 32.
    #[inline(always)]
    unsafe fn add_products(self, inputs: *const i8, weights: *const i8) -> Self {
        unsafe {
            let inputs = vreinterpretq_s8_s32(vdupq_n_s32(inputs.cast::<i32>().read_unaligned()));
            let weights = vld1q_s8(weights);
            let low = vmull_s8(vget_low_s8(inputs), vget_low_s8(weights));
            let high = vmull_high_s8(inputs, weights);
            vpadalq_s16(self, vpaddq_s16(low, high))
        }
    }
    #[inline(always)]
    unsafe fn finish(
        self,
        row_scale: f32,
        scales: *const f32,
        bias: *const f32,
        floor: f32,
        out: *mut f32,
    ) {
        unsafe {
            let scales = vmulq_f32(vdupq_n_f32(row_scale), vld1q_f32(scales));
            let y = vaddq_f32(vmulq_f32(vcvtq_f32_s32(self), scales), vld1q_f32(bias));
            // ARM's own maximum takes 0 for larger than −0.
            let floor = vdupq_n_f32(floor);
            vst1q_f32(out, vbslq_f32(vcgtq_f32(floor, y), floor, y));
        }
    }
}

// SAFETY: 8 numbers of 32 bits.
unsafe impl Sums for [i32; 8] {
    const LANES: usize = 8;
    #[inline(always)]
    unsafe fn load(from: *const i32) -> Self {
        unsafe { from.cast::<Self>().read() }
    }
    #[inline(always)]
    unsafe fn zero() -> Self {
        [0; 8]
    }
    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        std::array::from_fn(|i| self[i] + other[i])
    }
    #[inline(always)]
    unsafe fn add_products(self, inputs: *const i8, weights: *const i8) -> Self {
        // SAFETY: the trait's promise about the two pointers.
        let (inputs, weights) = unsafe {
            (inputs.cast::<[i8; GROUP]>().read(), weights.cast::<[[i8; GROUP]; 8]>().read())
        };
        let product = |weights: [i8; GROUP]| -> i32 {
            inputs.iter().zip(weights).map(|(&x, w)| i32::from(x) * i32::from(w)).sum()
        };
        std::array::from_fn(|i| self[i] + product(weights[i]))
    }
    #[inline(always)]
    unsafe fn finish(
        self,
        row_scale: f32,
        scales: *const f32,
        bias: *const f32,
        floor: f32,
        out: *mut f32,
    ) {
        for (i, sum) in self.into_iter().enumerate() {
            // SAFETY: the trait's promise about the pointers.
            unsafe {
                let scale = row_scale * scales.add(i).read();
                out.add(i).write(finished(sum, scale, bias.add(i).read(), floor));
            }
        }
    }
}

/// One result: `sum · scale + bias`, each step rounded, or `floor` where that is below it; NaN and −0 stay.
#[inline(always)]
pub(super) fn finished(sum: i32, scale: f32, bias: f32, floor: f32) -> f32 {
    let y = sum as f32 * scale + bias;
    if y < floor { floor } else { y }
}
