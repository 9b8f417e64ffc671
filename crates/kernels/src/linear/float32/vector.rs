//! Vector registers of float32.

#[cfg(target_arch = "aarch64")]
use std::arch::aarch64::*;
#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;

/// A vector register.
///
/// # Safety
/// The type consists of [`LANES`](Self::LANES) `f32` and nothing else. Each method is only to be called
/// on processors with the type's instructions; pointers are to [`LANES`](Self::LANES) numbers.
pub(super) unsafe trait Vector: Copy {
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
