//! Sums of products of bfloat16 numbers, a vector of them at a time; here without naming vector instructions.

use super::line::{LANES, Line};

/// A vector register of [`LANES`] sums in float32.
///
/// # Safety
/// The type consists of [`LANES`] `f32` and nothing else. Each method is only to be called on processors with the type's
/// instructions; each method says to how many numbers its pointers lead.
pub(super) unsafe trait Sums: Copy {
    /// A [`Line`] in registers.
    type Line: Copy;
    unsafe fn zero() -> Self;
    /// The sums at `from`.
    unsafe fn load(from: *const f32) -> Self;
    unsafe fn store(self, to: *mut f32);
    unsafe fn add(self, other: Self) -> Self;
    /// 0 instead of each number below it; −0 and NaN stay.
    unsafe fn or_zero(self) -> Self;
    unsafe fn load_line(from: *const Line) -> Self::Line;
    /// Adds, for each sum, the product of the second numbers of `pair` and of its pair in `line`, then the
    /// product of the first ones.
    unsafe fn add_products(self, pair: u32, line: Self::Line) -> Self;
}

// SAFETY: 16 numbers of 32 bits.
unsafe impl Sums for [f32; LANES] {
    type Line = Line;
    #[inline(always)]
    unsafe fn zero() -> Self {
        [0.0; LANES]
    }
    #[inline(always)]
    unsafe fn load(from: *const f32) -> Self {
        unsafe { from.cast::<Self>().read() }
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut f32) {
        unsafe { to.cast::<Self>().write(self) }
    }
    #[inline(always)]
    unsafe fn add(self, other: Self) -> Self {
        std::array::from_fn(|i| self[i] + other[i])
    }
    #[inline(always)]
    unsafe fn or_zero(self) -> Self {
        self.map(|x| if x < 0.0 { 0.0 } else { x })
    }
    #[inline(always)]
    unsafe fn load_line(from: *const Line) -> Line {
        unsafe { from.read() }
    }
    #[inline(always)]
    unsafe fn add_products(self, pair: u32, line: Line) -> Self {
        std::array::from_fn(|i| {
            let sum = normal(second(pair).mul_add(second(line.0[i]), self[i]));
            normal(first(pair).mul_add(first(line.0[i]), sum))
        })
    }
}

/// The first number of a pair.
#[inline(always)]
fn first(pair: u32) -> f32 {
    f32::from_bits(pair << 16)
}

/// The second number of a pair.
#[inline(always)]
fn second(pair: u32) -> f32 {
    f32::from_bits(pair & 0xffff_0000)
}

/// `x`, or a 0 of its sign where it is subnormal.
#[inline(always)]
fn normal(x: f32) -> f32 {
    let sign = f32::from_bits(x.to_bits() & 0x8000_0000);
    if x.abs() < f32::MIN_POSITIVE { sign } else { x }
}
