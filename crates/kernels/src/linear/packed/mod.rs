//! Weights that are rearranged once for the products of decoding.

#[cfg(feature = "cpu")]
mod cpu;

use burn::tensor::Tensor;

use super::settings::{ComputeType, Epilogue};
#[cfg(feature = "cpu")]
use crate::op::Target;

/// A weight `[out, in]` that was rearranged once for the products with few rows in decoding. A
/// matrix product would otherwise rearrange it at every call.
///
/// It keeps the tensor that it was made from, so that [`is_of`](Self::is_of) never mistakes a
/// changed weight for the original. The weight therefore takes its memory twice, except
/// [`in_place`](Self::in_place).
#[derive(Clone, Debug)]
pub struct PackedWeight {
    #[cfg(feature = "cpu")]
    inner: std::sync::Arc<cpu::Packed>,
    #[cfg(not(feature = "cpu"))]
    never: std::convert::Infallible,
}

impl PackedWeight {
    /// Rearranges `weight` (`[out, in]`) for products in `compute`. Returns `None` on another
    /// backend than `flex`, and with gradients.
    pub fn new(weight: &Tensor<2>, compute: ComputeType) -> Option<Self> {
        #[cfg(feature = "cpu")]
        if Target::without_gradients(&[weight]) == Target::Cpu {
            let inner = cpu::Packed::new(weight.clone(), compute)?;
            return Some(Self {
                inner: std::sync::Arc::new(inner),
            });
        }
        let _ = (weight, compute);
        None
    }

    /// Packs `weight` (`[out, in]`) in place for products in float32, without further memory.
    ///
    /// # Errors
    /// Returns the weight unchanged if [`new`](Self::new) would return `None`, if it is not
    /// contiguous, if another tensor shares its memory, or if the outputs do not fill whole vector
    /// registers (16 numbers with AVX-512, 8 with AVX2, 4 with NEON).
    pub fn in_place(weight: Tensor<2>) -> Result<Self, Box<Tensor<2>>> {
        #[cfg(feature = "cpu")]
        if Target::without_gradients(&[&weight]) == Target::Cpu {
            let inner = cpu::Packed::in_place(weight)?;
            return Ok(Self {
                inner: std::sync::Arc::new(inner),
            });
        }
        Err(Box::new(weight))
    }

    /// The weight, `[out, in]`, the same bits as before it was rearranged. After
    /// [`in_place`](Self::in_place) the first call takes memory for it.
    pub fn weight(&self) -> Tensor<2> {
        #[cfg(feature = "cpu")]
        return self.inner.weight();
        #[cfg(not(feature = "cpu"))]
        match self.never {}
    }

    /// The number type of the matrix product.
    pub fn compute(&self) -> ComputeType {
        #[cfg(feature = "cpu")]
        return self.inner.compute();
        #[cfg(not(feature = "cpu"))]
        match self.never {}
    }

    /// Returns whether this was made from `weight`, and `weight` is unchanged since.
    pub fn is_of(&self, weight: &Tensor<2>) -> bool {
        #[cfg(feature = "cpu")]
        return Target::without_gradients(&[weight]) == Target::Cpu
            && self.inner.is_of(weight.clone());
        #[cfg(not(feature = "cpu"))]
        {
            let _ = weight;
            match self.never {}
        }
    }

    /// `epilogue(x·Wᵀ + b)`. Returns `None` if `x` has gradients, another element type or another
    /// device.
    ///
    /// A row of the result depends only on the same row of `x`, not on the number of rows or
    /// threads.
    ///
    /// # Shapes
    /// - `x`: `[.., in]` → `[.., out]`
    /// - `bias`: `[out]`
    ///
    /// # Panics
    /// If the shapes do not fit together.
    pub fn linear<const D: usize>(
        &self,
        x: &Tensor<D>,
        bias: Option<Tensor<1>>,
        epilogue: Epilogue,
    ) -> Option<Tensor<D>> {
        #[cfg(feature = "cpu")]
        {
            let target = match &bias {
                Some(bias) => Target::without_gradients(&[x, bias]),
                None => Target::without_gradients(&[x]),
            };
            (target == Target::Cpu).then(|| self.inner.linear(x.clone(), bias, epilogue))
        }
        #[cfg(not(feature = "cpu"))]
        {
            let _ = (x, bias, epilogue);
            match self.never {}
        }
    }
}
