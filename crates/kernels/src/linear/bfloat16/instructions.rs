//! The instruction sets that multiply bfloat16.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::__m512;

use super::line::LANES;
use super::tile::Task;

/// Instructions for sums of products of bfloat16 numbers in float32.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Instructions {
    /// `vdpbf16ps`.
    #[cfg(target_arch = "x86_64")]
    Avx512Bf16,
    /// Fused multiplication and addition in float32, which the compiler chooses.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// What every processor of this kind has.
    Portable,
}

impl Instructions {
    /// Every set that this processor has, the fastest first.
    pub(super) fn available() -> impl Iterator<Item = Self> {
        #[cfg(target_arch = "x86_64")]
        let sets = [
            super::x86::is_available().then_some(Self::Avx512Bf16),
            crate::simd::has_avx2().then_some(Self::Avx2),
            Some(Self::Portable),
        ];
        #[cfg(not(target_arch = "x86_64"))]
        let sets = [Some(Self::Portable)];
        sets.into_iter().flatten()
    }

    /// The fastest set that this processor has.
    pub(super) fn best() -> Self {
        Self::available().next().expect("the portable set is always there")
    }

    /// Whether a product takes less time than in float32.
    pub(super) fn is_fast(self) -> bool {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512Bf16 => true,
            _ => false,
        }
    }

    /// Computes `task`.
    ///
    /// # Safety
    /// The processor has these instructions, and `task` holds what its fields promise.
    pub(super) unsafe fn run(self, task: &Task) {
        // SAFETY: passed on to the caller.
        unsafe {
            match self {
                #[cfg(target_arch = "x86_64")]
                Self::Avx512Bf16 => avx512_bf16(task),
                #[cfg(target_arch = "x86_64")]
                Self::Avx2 => avx2(task),
                Self::Portable => task.run::<[f32; LANES]>(),
            }
        }
    }
}

/// Eight rows of three vectors: 24 of the 32 registers hold sums.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,avx2,fma")]
unsafe fn avx512_bf16(task: &Task) {
    // SAFETY: the caller's promise.
    unsafe { task.run::<__m512>() };
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
unsafe fn avx2(task: &Task) {
    // SAFETY: the caller's promise.
    unsafe { task.run::<[f32; LANES]>() };
}
