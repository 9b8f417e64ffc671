//! The instruction sets that multiply 8-bit integers.

#[cfg(target_arch = "aarch64")]
use std::arch::aarch64::int32x4_t;

use super::sums::Sums;
use super::tile::Tile;
#[cfg(target_arch = "x86_64")]
use super::x86::{Avx2Sums, Avx512Sums, AvxVnniSums};

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
            Self::Avx512Vnni => <Avx512Sums as Sums>::LANES,
            #[cfg(target_arch = "x86_64")]
            Self::AvxVnni => <AvxVnniSums as Sums>::LANES,
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => <Avx2Sums as Sums>::LANES,
            #[cfg(target_arch = "aarch64")]
            Self::Neon => <int32x4_t as Sums>::LANES,
            Self::Portable => <[i32; 8] as Sums>::LANES,
        }
    }

    /// The number that is added to the 8-bit inputs, for instructions that take them without a sign: 128, or 0.
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
    unsafe { tile.run::<Avx512Sums, 8>() };
}

/// Four rows of three vectors: 12 of the 16 registers hold sums.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma,avxvnni")]
unsafe fn avx_vnni(tile: &Tile) {
    // SAFETY: the caller's promise.
    unsafe { tile.run::<AvxVnniSums, 4>() };
}

/// Three rows of three vectors: the products need registers of their own.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
unsafe fn avx2(tile: &Tile) {
    // SAFETY: the caller's promise.
    unsafe { tile.run::<Avx2Sums, 3>() };
}
