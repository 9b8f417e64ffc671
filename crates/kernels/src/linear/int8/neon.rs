//! Sums by the vector instructions of 64-bit ARM.

use std::arch::aarch64::*;

use super::sums::Sums;

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
