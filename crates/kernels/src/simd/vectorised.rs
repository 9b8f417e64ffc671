//! One source, compiled for several instruction sets.

/// Declares functions that are compiled for AVX-512, for AVX2 and portably. One of them is chosen
/// at run time.
#[doc(hidden)]
#[macro_export]
macro_rules! vectorised {
    ($($(#[$meta:meta])* $vis:vis fn $name:ident($($arg:ident: $ty:ty),* $(,)?) $(-> $ret:ty)? $body:block)*) => {$(
        $(#[$meta])*
        $vis fn $name($($arg: $ty),*) $(-> $ret)? {
            #[inline(always)]
            fn portable($($arg: $ty),*) $(-> $ret)? $body

            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
                fn avx512($($arg: $ty),*) $(-> $ret)? { portable($($arg),*) }

                #[target_feature(enable = "avx2,fma")]
                fn avx2($($arg: $ty),*) $(-> $ret)? { portable($($arg),*) }

                if $crate::simd::has_avx512() {
                    // SAFETY: `has_avx512` found every feature that the function is compiled for.
                    return unsafe { avx512($($arg),*) };
                }
                if $crate::simd::has_avx2() {
                    // SAFETY: `has_avx2` found every feature that the function is compiled for.
                    return unsafe { avx2($($arg),*) };
                }
            }
            portable($($arg),*)
        }
    )*};
}
pub use crate::vectorised;

/// Returns whether the processor has the AVX-512 instructions that
/// [`vectorised!`](crate::vectorised) compiles for.
#[cfg(target_arch = "x86_64")]
#[inline]
pub fn has_avx512() -> bool {
    std::is_x86_feature_detected!("avx512f")
        && std::is_x86_feature_detected!("avx512bw")
        && std::is_x86_feature_detected!("avx512dq")
        && std::is_x86_feature_detected!("avx512vl")
        && has_avx2()
}

/// Returns whether the processor has AVX2 and fused multiply-add.
#[cfg(target_arch = "x86_64")]
#[inline]
pub fn has_avx2() -> bool {
    std::is_x86_feature_detected!("avx2") && std::is_x86_feature_detected!("fma")
}
