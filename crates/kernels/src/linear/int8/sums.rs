//! Sums of products of 8-bit integers, a vector of them at a time; here without naming vector instructions.

/// Inputs that are multiplied and added in one step.
pub(super) const GROUP: usize = 4;

/// A vector register of 32-bit sums, one for each of [`LANES`](Self::LANES) outputs.
///
/// # Safety
/// The type consists of [`LANES`](Self::LANES) `i32` and nothing else. Each method is only to be called on processors with
/// the type's instructions; each method says to how many numbers its pointers lead.
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
