//! Weights that are rearranged once for the products of decoding.

#[cfg(feature = "cpu")]
mod cpu;

#[cfg(feature = "cpu")]
use burn::tensor::TensorData;
use burn::tensor::{Device, Int, Tensor};

use super::quantize::QuantizedRows;
use super::settings::{ComputeType, Epilogue};
#[cfg(feature = "cpu")]
use crate::cpu::integers;
#[cfg(feature = "cpu")]
use crate::op::Target;

/// A weight `[out, in]` that was rearranged once for the products with few rows in decoding. A
/// matrix product would otherwise rearrange it at every call.
///
/// It keeps the tensor that it was made from, so that [`is_of`](Self::is_of) never mistakes a
/// changed weight for the original. The weight therefore takes its memory twice, except
/// [`in_place`](Self::in_place) and [`quantized`](Self::quantized).
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
    /// contiguous or empty, or if another tensor shares its memory.
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

    /// Packs a weight of `shape` (`[out, in]`) that is quantised already, for products in 8-bit
    /// integers on `device`. It takes the memory of `rows`, if the inputs are a multiple of 4.
    ///
    /// # Errors
    /// Returns the rows unchanged if [`new`](Self::new) would return `None`, or if they are not
    /// [exact](QuantizedRows::is_exact).
    pub fn quantized(
        rows: QuantizedRows,
        shape: [usize; 2],
        device: &Device,
    ) -> Result<Self, QuantizedRows> {
        #[cfg(feature = "cpu")]
        if Target::of_device(device) == Target::Cpu
            && !device.is_autodiff()
            && rows.is_exact(shape[1])
        {
            let inner = cpu::Packed::quantized(rows, shape);
            return Ok(Self {
                inner: std::sync::Arc::new(inner),
            });
        }
        let _ = (shape, device);
        Err(rows)
    }

    /// Returns the [embedding](crate::embedding) of `ids` with this weight as the table, the same
    /// bits as of [`weight`](Self::weight), without the memory for it.
    ///
    /// # Shapes
    /// `ids`: `[batch, len]` → `[batch, len, in]`
    ///
    /// # Panics
    /// Panics if an id is not below the number of outputs.
    pub fn embedding(&self, ids: Tensor<2, Int>, scale: f64) -> Tensor<3> {
        #[cfg(feature = "cpu")]
        {
            let [batch, len] = ids.dims();
            let device = ids.device();
            let ids: Vec<u32> = integers(ids).into_iter().map(|id| id as u32).collect();
            let rows = TensorData::new(self.inner.rows(&ids), [batch, len, self.inner.input()]);
            Tensor::from_data(rows, &device) * scale
        }
        #[cfg(not(feature = "cpu"))]
        {
            let _ = (ids, scale);
            match self.never {}
        }
    }

    /// Returns the outputs `rows` of this weight, packed in the same way: they give the same bits.
    ///
    /// # Panics
    /// Panics if one of `rows` is not below the number of outputs.
    pub fn select(&self, rows: &[u32]) -> Self {
        #[cfg(feature = "cpu")]
        return Self {
            inner: std::sync::Arc::new(self.inner.select(rows)),
        };
        #[cfg(not(feature = "cpu"))]
        {
            let _ = rows;
            match self.never {}
        }
    }

    /// Returns the weight, `[out, in]`: the same bits as before it was rearranged, or the
    /// [quantised](Self::quantized) numbers. If it took the place of the weight, the first call
    /// takes memory for it.
    pub fn weight(&self) -> Tensor<2> {
        #[cfg(feature = "cpu")]
        return self.inner.weight();
        #[cfg(not(feature = "cpu"))]
        match self.never {}
    }

    /// Returns the number type of the matrix product.
    pub fn compute(&self) -> ComputeType {
        #[cfg(feature = "cpu")]
        return self.inner.compute();
        #[cfg(not(feature = "cpu"))]
        match self.never {}
    }

    /// Returns whether this was made from `weight`, `[output, input]`, and `weight` is unchanged
    /// since.
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
    /// Panics if the shapes do not fit together.
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
