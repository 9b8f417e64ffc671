//! Sums by the vector instructions of x86.

use std::arch::x86_64::*;

use super::sums::Sums;

/// Defines a type of `$lanes` sums by the intrinsics of one instruction set.
macro_rules! sums {
    ($(#[$doc:meta])* $name:ident($register:ty), $lanes:literal:
     $load:ident, $zero:ident, $add:ident, $to_floats:ident, $floats:ident, $multiply:ident, $add_floats:ident,
     $larger:ident, $splat:ident, $store:ident,
     |$sums:ident, $inputs:ident, $weights:ident| $add_products:expr) => {
        $(#[$doc])*
        #[derive(Clone, Copy)]
        #[repr(transparent)]
        pub(super) struct $name($register);

        // SAFETY: `$lanes` numbers of 32 bits; what the intrinsics demand, the trait does.
        unsafe impl Sums for $name {
            const LANES: usize = $lanes;
            #[inline(always)]
            unsafe fn load(from: *const i32) -> Self {
                unsafe { Self($load(from.cast())) }
            }
            #[inline(always)]
            unsafe fn zero() -> Self {
                unsafe { Self($zero()) }
            }
            #[inline(always)]
            unsafe fn add(self, other: Self) -> Self {
                unsafe { Self($add(self.0, other.0)) }
            }
            #[inline(always)]
            unsafe fn add_products(self, $inputs: *const i8, $weights: *const i8) -> Self {
                let $sums = self.0;
                unsafe {
                    let $inputs = $inputs.cast::<i32>().read_unaligned();
                    let $weights = $load($weights.cast());
                    Self($add_products)
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
                    let scales = $multiply($splat(row_scale), $floats(scales));
                    let y = $add_floats($multiply($to_floats(self.0), scales), $floats(bias));
                    // Of two equal numbers and of NaN, this maximum gives the second: −0 and NaN stay.
                    $store(out, $larger($splat(floor), y));
                }
            }
        }
    };
}

sums!(
    /// Sixteen sums, by `vpdpbusd`.
    Avx512Sums(__m512i), 16:
    _mm512_loadu_si512, _mm512_setzero_si512, _mm512_add_epi32, _mm512_cvtepi32_ps, _mm512_loadu_ps, _mm512_mul_ps,
    _mm512_add_ps, _mm512_max_ps, _mm512_set1_ps, _mm512_storeu_ps,
    |sums, inputs, weights| _mm512_dpbusd_epi32(sums, _mm512_set1_epi32(inputs), weights)
);

sums!(
    /// Eight sums, by `vpdpbusd` on 256 bits.
    AvxVnniSums(__m256i), 8:
    _mm256_loadu_si256, _mm256_setzero_si256, _mm256_add_epi32, _mm256_cvtepi32_ps, _mm256_loadu_ps, _mm256_mul_ps,
    _mm256_add_ps, _mm256_max_ps, _mm256_set1_ps, _mm256_storeu_ps,
    |sums, inputs, weights| _mm256_dpbusd_avx_epi32(sums, _mm256_set1_epi32(inputs), weights)
);

sums!(
    /// Eight sums, by `vpmaddubsw`. It takes one factor without a sign and adds pairs of products in 16 bits: with the
    /// magnitude of the input, and the weight under the input's sign, a pair is at most 2·127², which fits.
    Avx2Sums(__m256i), 8:
    _mm256_loadu_si256, _mm256_setzero_si256, _mm256_add_epi32, _mm256_cvtepi32_ps, _mm256_loadu_ps, _mm256_mul_ps,
    _mm256_add_ps, _mm256_max_ps, _mm256_set1_ps, _mm256_storeu_ps,
    |sums, inputs, weights| {
        let inputs = _mm256_set1_epi32(inputs);
        let signed = _mm256_sign_epi8(weights, inputs);
        let pairs = _mm256_maddubs_epi16(_mm256_abs_epi8(inputs), signed);
        _mm256_add_epi32(sums, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)))
    }
);
