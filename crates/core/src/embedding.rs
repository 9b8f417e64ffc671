use burn::module::{Module, Param};
use burn::tensor::{Device, Int, Tensor, TensorData};
use burnformer_kernels::{ComputeType, Epilogue, RandomKey, embedding};

use crate::conventions::EmbeddingScale;
use crate::init;
use crate::linear::{Linear, Packed, packed_for, selected};
use crate::precision::Precision;

/// Token embedding, multiplied by √d_model. Its matrix can also serve as the output projection (paper §3.4).
#[derive(Module, Debug)]
pub struct TokenEmbedding {
    /// `[vocab, d_model]`; the initial values are normally distributed with standard deviation d_model^−½.
    pub weight: Param<Tensor<2>>,
    #[module(skip)]
    packed: Option<Packed>,
    #[module(skip)]
    precision: Precision,
    #[module(skip)]
    scale: EmbeddingScale,
}

impl TokenEmbedding {
    /// An embedding of `vocab` tokens with `d_model` features; its initial weights are a function of `key`.
    pub fn new(vocab: usize, d_model: usize, key: RandomKey, device: &Device) -> Self {
        let std = (d_model as f64).powf(-0.5);
        let weight = init::normal([vocab, d_model], std, key, device);
        Self {
            weight,
            packed: None,
            precision: Precision::Float32,
            scale: EmbeddingScale::SqrtWidth,
        }
    }

    /// Multiplies rows by `scale` instead of √d_model.
    pub fn with_scale(self, scale: EmbeddingScale) -> Self {
        Self { scale, ..self }
    }

    /// The number of tokens in the vocabulary.
    pub fn vocab(&self) -> usize {
        self.weight.lazy_shape()[0]
    }

    /// Looks up the row of each id (`[batch, len]` → `[batch, len, d_model]`) and multiplies it by √d_model, or by what
    /// [`with_scale`](Self::with_scale) says.
    pub fn forward(&self, ids: Tensor<2, Int>) -> Tensor<3> {
        let weight = self.weight.val();
        let scale = match self.scale {
            EmbeddingScale::SqrtWidth => (weight.dims()[1] as f64).sqrt(),
            EmbeddingScale::One => 1.0,
        };
        embedding(weight, ids, scale)
    }

    /// The tied output projection, x·Eᵀ + `bias`.
    ///
    /// # Shapes
    /// `x`: `[.., d_model]` → `[.., vocab]`, `bias`: `[vocab]`
    pub fn logits<const D: usize>(&self, x: Tensor<D>, bias: Option<Tensor<1>>) -> Tensor<D> {
        let fast = packed_for(&self.packed, &self.weight, self.precision);
        fast.and_then(|packed| packed.linear(&x, bias.clone(), Epilogue::None))
            .unwrap_or_else(|| self.precision.linear(x, self.weight.val(), bias))
    }

    /// The tied output projection to the tokens `ids` alone, in this order, with `bias` (`[vocab]`), for inference.
    ///
    /// # Panics
    /// If one of `ids` is not below the number of tokens.
    pub fn select(&self, ids: &[u32], bias: Option<Tensor<1>>) -> Linear {
        selected(&self.weight, bias, ids, &self.packed, self.precision)
    }

    /// Packs the matrix for fast [`logits`](Self::logits), see
    /// [`Transformer::pack`](crate::Transformer::pack).
    pub fn pack(&mut self, compute: ComputeType) {
        self.packed = Packed::new(&self.weight, compute);
    }

    /// Sets the type of the matrix product in [`logits`](Self::logits), see
    /// [`Transformer::set_precision`](crate::Transformer::set_precision). Looking up rows stays in float32.
    pub fn set_precision(&mut self, precision: Precision) {
        self.precision = precision;
    }
}

/// Makes a tensor of token ids on `device`; `ids` holds it row by row.
///
/// The ids are checked here, on the host, because a GPU does not report an id outside the vocabulary: it reads
/// whatever is in memory at that place.
///
/// # Panics
/// If an id is not below `vocab`, or if the number of ids is not that of `shape`.
pub fn token_ids<const D: usize>(
    ids: &[u32],
    shape: [usize; D],
    vocab: usize,
    device: &Device,
) -> Tensor<D, Int> {
    if let Some(place) = ids.iter().position(|&id| id as usize >= vocab) {
        panic!("id {} at place {place} of {shape:?} is not below vocab {vocab}", ids[place]);
    }
    let ids: Vec<i32> = ids.iter().map(|&id| id as i32).collect();
    Tensor::from_data(TensorData::new(ids, shape), device)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn token_ids_are_those_given_row_after_row() {
        let ids = token_ids(&[4, 0, 6, 1, 2, 6], [2, 3], 7, &Device::default());
        assert_eq!(ids.into_data().iter::<i64>().collect::<Vec<_>>(), [4, 0, 6, 1, 2, 6]);
    }

    #[test]
    #[should_panic(expected = "id 7 at place 2 of [1, 3] is not below vocab 7")]
    fn a_token_outside_of_the_vocabulary_never_reaches_the_device() {
        token_ids(&[4, 0, 7], [1, 3], 7, &Device::default());
    }
}
