//! Vector registers, with the operations that matrix products need.

#[cfg(target_arch = "aarch64")]
use std::arch::aarch64::*;
#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;

/// A register of 32-bit numbers.
///
/// # Safety
/// The type consists of [`LANES`](Self::LANES) numbers of 32 bits and nothing else. Each method is
/// only to be called on processors with the type's instructions; pointers are to
/// [`LANES`](Self::LANES) numbers, and are aligned to 4 bytes.
pub(super) unsafe trait Register: Copy {
    /// The numbers in the register.
    const LANES: usize;
    unsafe fn zero() -> Self;
    unsafe fn load(from: *const u32) -> Self;
    unsafe fn store(self, to: *mut u32);
    unsafe fn add(self, other: Self) -> Self;
}

/// A register of float32.
///
/// # Safety
/// The conditions of [`Register`].
pub(super) unsafe trait Floats: Register {
    unsafe fn splat(x: f32) -> Self;
    unsafe fn multiply(self, factor: Self) -> Self;
    /// `self·factor + sum`, rounded once. An array rounds twice, because one rounding could need a
    /// call for each number.
    unsafe fn multiply_add(self, factor: Self, sum: Self) -> Self;
    /// Replaces each number below 0 by 0; −0 and NaN stay.
    unsafe fn or_zero(self) -> Self;
}

/// A register of integers with a sign.
///
/// # Safety
/// The conditions of [`Register`].
pub(super) unsafe trait Integers: Register {
    type Floats: Floats;
    unsafe fn to_floats(self) -> Self::Floats;
}

#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
macro_rules! register {
    ($type:ty, $lanes:literal, $zero:expr, $load:ident, $store:ident, $add:ident) => {
        // SAFETY: the type is `$lanes` numbers; the trait demands the same as the intrinsics.
        unsafe impl Register for $type {
            const LANES: usize = $lanes;
            #[inline(always)]
            unsafe fn zero() -> Self {
                // SAFETY: the caller has the instructions of this register.
                unsafe { $zero }
            }
            #[inline(always)]
            unsafe fn load(from: *const u32) -> Self {
                // SAFETY: the caller has the instructions, and `$lanes` words at `from`, which need
                // no alignment.
                unsafe { $load(from.cast()) }
            }
            #[inline(always)]
            unsafe fn store(self, to: *mut u32) {
                // SAFETY: the caller has the instructions, and room for `$lanes` words at `to`,
                // which need no alignment.
                unsafe { $store(to.cast(), self) }
            }
            #[inline(always)]
            unsafe fn add(self, other: Self) -> Self {
                // SAFETY: the caller has the instructions of this register.
                unsafe { $add(self, other) }
            }
        }
    };
}

/// Implements the traits for the registers of one set. `$larger` returns its second operand if both
/// are equal or one is NaN, like the maximum of x86.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
macro_rules! vectors {
    ($lanes:literal,
     $floats:ty: $splat:ident, $load:ident, $store:ident, $add:ident, $multiply:ident, $larger:ident,
     |$x:ident, $factor:ident, $sum:ident| $multiply_add:expr;
     $integers:ty: $splat_i:ident, $load_i:ident, $store_i:ident, $add_i:ident, $convert:ident) => {
        register!($floats, $lanes, $splat(0.0), $load, $store, $add);
        register!($integers, $lanes, $splat_i(0), $load_i, $store_i, $add_i);

        // SAFETY: the type is a register of float32, and the methods need its instructions alone.
        unsafe impl Floats for $floats {
            #[inline(always)]
            unsafe fn splat(x: f32) -> Self {
                // SAFETY: the caller has the instructions of this register.
                unsafe { $splat(x) }
            }
            #[inline(always)]
            unsafe fn multiply(self, factor: Self) -> Self {
                // SAFETY: the caller has the instructions of this register.
                unsafe { $multiply(self, factor) }
            }
            #[inline(always)]
            unsafe fn multiply_add(self, $factor: Self, $sum: Self) -> Self {
                let $x = self;
                // SAFETY: the caller has the instructions of this register.
                unsafe { $multiply_add }
            }
            #[inline(always)]
            unsafe fn or_zero(self) -> Self {
                // SAFETY: the caller has the instructions of this register.
                unsafe { $larger($splat(0.0), self) }
            }
        }

        // SAFETY: the type is a register of 32-bit integers, and the method needs its instructions
        // alone.
        unsafe impl Integers for $integers {
            type Floats = $floats;
            #[inline(always)]
            unsafe fn to_floats(self) -> $floats {
                // SAFETY: the caller has the instructions of this register.
                unsafe { $convert(self) }
            }
        }
    };
}

#[cfg(target_arch = "x86_64")]
vectors!(
    16,
    __m512: _mm512_set1_ps, _mm512_loadu_ps, _mm512_storeu_ps, _mm512_add_ps, _mm512_mul_ps, _mm512_max_ps,
    |x, factor, sum| _mm512_fmadd_ps(x, factor, sum);
    __m512i: _mm512_set1_epi32, _mm512_loadu_si512, _mm512_storeu_si512, _mm512_add_epi32, _mm512_cvtepi32_ps
);
#[cfg(target_arch = "x86_64")]
vectors!(
    8,
    __m256: _mm256_set1_ps, _mm256_loadu_ps, _mm256_storeu_ps, _mm256_add_ps, _mm256_mul_ps, _mm256_max_ps,
    |x, factor, sum| _mm256_fmadd_ps(x, factor, sum);
    __m256i: _mm256_set1_epi32, _mm256_loadu_si256, _mm256_storeu_si256, _mm256_add_epi32, _mm256_cvtepi32_ps
);
#[cfg(target_arch = "aarch64")]
vectors!(
    4,
    float32x4_t: vdupq_n_f32, vld1q_f32, vst1q_f32, vaddq_f32, vmulq_f32, larger,
    |x, factor, sum| vfmaq_f32(sum, x, factor);
    int32x4_t: vdupq_n_s32, vld1q_s32, vst1q_s32, vaddq_s32, vcvtq_f32_s32
);

/// ARM's own maximum regards 0 as larger than −0.
#[cfg(target_arch = "aarch64")]
#[inline(always)]
unsafe fn larger(a: float32x4_t, b: float32x4_t) -> float32x4_t {
    // SAFETY: every processor of this architecture has the instructions.
    unsafe { vbslq_f32(vcgtq_f32(a, b), a, b) }
}

/// Registers that the compiler chooses.
macro_rules! array {
    ($number:ty) => {
        // SAFETY: an array is its numbers, without gaps, and the methods need no instructions of a
        // special processor.
        unsafe impl<const LANES: usize> Register for [$number; LANES] {
            const LANES: usize = LANES;
            #[inline(always)]
            unsafe fn zero() -> Self {
                [Default::default(); LANES]
            }
            #[inline(always)]
            unsafe fn load(from: *const u32) -> Self {
                // SAFETY: the caller has `LANES` words at `from`, aligned like these numbers, and
                // any bits are a number.
                unsafe { from.cast::<Self>().read() }
            }
            #[inline(always)]
            unsafe fn store(self, to: *mut u32) {
                // SAFETY: the caller has room for `LANES` words at `to`, aligned like these
                // numbers.
                unsafe { to.cast::<Self>().write(self) }
            }
            #[inline(always)]
            unsafe fn add(self, other: Self) -> Self {
                std::array::from_fn(|i| self[i] + other[i])
            }
        }
    };
}

array!(f32);
array!(i32);

// SAFETY: the array is a register of float32, and the methods read no memory but the arrays.
unsafe impl<const LANES: usize> Floats for [f32; LANES] {
    #[inline(always)]
    unsafe fn splat(x: f32) -> Self {
        [x; LANES]
    }
    #[inline(always)]
    unsafe fn multiply(self, factor: Self) -> Self {
        std::array::from_fn(|i| self[i] * factor[i])
    }
    #[inline(always)]
    unsafe fn multiply_add(self, factor: Self, sum: Self) -> Self {
        std::array::from_fn(|i| self[i] * factor[i] + sum[i])
    }
    #[inline(always)]
    unsafe fn or_zero(self) -> Self {
        self.map(|x| if x < 0.0 { 0.0 } else { x })
    }
}

// SAFETY: the array is a register of 32-bit integers, and the method reads no memory but the array.
unsafe impl<const LANES: usize> Integers for [i32; LANES] {
    type Floats = [f32; LANES];
    #[inline(always)]
    unsafe fn to_floats(self) -> [f32; LANES] {
        self.map(|x| x as f32)
    }
}
