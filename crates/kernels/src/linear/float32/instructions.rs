//! The instruction sets that multiply float32.

#[cfg(target_arch = "aarch64")]
use std::arch::aarch64::float32x4_t;
#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::{__m256, __m512};

use super::tile::Tile;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
use super::vector::Vector;

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
        self.vectors() * self.lanes()
    }

    /// The number of vectors side by side in a panel.
    fn vectors(self) -> usize {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => 3,
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => 2,
            #[cfg(target_arch = "aarch64")]
            Self::Neon => 3,
        }
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

    /// The number of rows of a tile of a left factor.
    pub(super) fn rows(self) -> usize {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => 8,
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => 6,
            #[cfg(target_arch = "aarch64")]
            Self::Neon => 8,
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
                Self::Neon => tile.run::<float32x4_t, 8, 3>(),
            }
        }
    }
}

/// Eight rows of three vectors: 24 of the 32 registers hold sums.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
unsafe fn avx512(tile: &Tile) {
    // SAFETY: the caller's promise.
    unsafe { tile.run::<__m512, 8, 3>() };
}

/// Six rows of two vectors: 12 of the 16 registers hold sums. Four rows of three vectors need one more register than there are
/// for the factors, and are half as fast.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
unsafe fn avx2(tile: &Tile) {
    // SAFETY: the caller's promise.
    unsafe { tile.run::<__m256, 6, 2>() };
}
