use std::sync::Arc;

use burn::config::Config;
use burn::module::{Module, Param, ParamId};
use burn::tensor::{Device, Shape, Tensor};
use burnformer_kernels::{
    ComputeType, Epilogue, PackedWeight, Precision, Projection, QuantizedRows, RandomKey,
    linear_with,
};

use crate::cost::Cost;
use crate::init;
use crate::mask::token_ids;
use crate::parameters::{Parameter, QuantizedParameters};

/// The sizes of a [`Linear`] map.
#[derive(Config, Debug)]
pub struct LinearConfig {
    /// The number of features of the input.
    pub input: usize,
    /// The number of features of the output.
    pub output: usize,
    /// If true, the map has a bias.
    #[config(default = true)]
    pub bias: bool,
}

impl LinearConfig {
    /// Creates a map with initial weights from Burn's random numbers of `device`;
    /// `device.seed(…)` repeats them.
    pub fn init(&self, device: &Device) -> Linear {
        self.init_with_key(init::drawn_key(device), device)
    }

    /// Creates a map with initial weights that are a function of `key`.
    pub fn init_with_key(&self, key: RandomKey, device: &Device) -> Linear {
        if self.bias {
            Linear::new(self.input, self.output, key, device)
        } else {
            Linear::without_bias(self.input, self.output, key, device)
        }
    }

    /// Returns the cost of the map. Training keeps its input for the backward pass.
    pub fn cost(&self) -> Cost {
        let &Self {
            input,
            output,
            bias,
        } = self;
        Cost {
            parameters: input * output + usize::from(bias) * output,
            multiplications: input * output,
            activations: input,
        }
    }
}

/// An affine map `y = x·Wᵀ + b` with `W` in PyTorch's layout.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use burnformer_core::{Linear, RandomKey};
///
/// let device = Device::default();
/// let linear = Linear::new(4, 6, RandomKey::new(1), &device);
/// assert_eq!(linear.forward(Tensor::<3>::ones([2, 3, 4], &device)).dims(), [2, 3, 6]);
/// assert_eq!(linear.forward(Tensor::<2>::ones([3, 4], &device)).dims(), [3, 6]);
/// ```
#[derive(Module, Debug)]
pub struct Linear {
    /// The weight matrix, `[out, in]`.
    pub weight: Param<Tensor<2>>,
    /// The bias, `[out]`; `None` for a map without bias.
    pub bias: Option<Param<Tensor<1>>>,
    #[module(skip)]
    product: Product,
}

impl Linear {
    /// Creates a map from `input` to `output` features with Xavier-uniform weights, a function of
    /// `key`, and a bias of zeros.
    pub fn new(input: usize, output: usize, key: RandomKey, device: &Device) -> Self {
        let bias = Some(init::constant(0.0, output, device));
        Self {
            bias,
            ..Self::without_bias(input, output, key, device)
        }
    }

    /// Creates a map from `input` to `output` features with Xavier-uniform weights, a function of
    /// `key`, and without bias.
    pub fn without_bias(input: usize, output: usize, key: RandomKey, device: &Device) -> Self {
        Self {
            weight: init::xavier_uniform([output, input], key, device),
            bias: None,
            product: Product::default(),
        }
    }

    /// Returns the map to the outputs `rows` alone, in this order, for inference, with `bias`
    /// (`[out]`), or the bias of this map if that is `None`. It is packed if this map is packed,
    /// and then gives the same bits. Its shapes are `[.., in]` → `[.., rows]`.
    ///
    /// # Panics
    /// Panics if one of `rows` is not below the number of outputs.
    pub fn select(&self, rows: &[u32], bias: Option<Tensor<1>>) -> Self {
        let bias = bias.or_else(|| self.bias.as_ref().map(Param::val));
        self.product.select(&self.weight, bias, rows)
    }

    /// This map for the loss, with `bias` (`[out]`) added to its own.
    pub(crate) fn projection(&self, bias: Option<Tensor<1>>) -> Projection {
        let own = self.bias.as_ref().map(Param::val);
        let bias = match (own, bias) {
            (Some(own), Some(bias)) => Some(own + bias),
            (own, bias) => own.or(bias),
        };
        Projection {
            weight: self.weight.val(),
            bias,
            precision: self.product.precision,
        }
    }

    /// Computes x·Wᵀ + b.
    ///
    /// # Shapes
    /// `x`: `[.., in]` → `[.., out]`
    pub fn forward<const D: usize>(&self, x: Tensor<D>) -> Tensor<D> {
        let bias = self.bias.as_ref().map(Param::val);
        self.product.with(&self.weight, x, bias, Epilogue::None)
    }

    /// Computes max(0, x·Wᵀ + b) in one pass over the data.
    ///
    /// # Shapes
    /// `x`: `[.., in]` → `[.., out]`
    pub fn forward_relu<const D: usize>(&self, x: Tensor<D>) -> Tensor<D> {
        let bias = self.bias.as_ref().map(Param::val);
        self.product.with(&self.weight, x, bias, Epilogue::Relu)
    }

    /// Computes SiLU(x·Wᵀ + b), in one pass over the data if the weight is packed.
    ///
    /// # Shapes
    /// `x`: `[.., in]` → `[.., out]`
    pub fn forward_silu<const D: usize>(&self, x: Tensor<D>) -> Tensor<D> {
        let bias = self.bias.as_ref().map(Param::val);
        self.product.with(&self.weight, x, bias, Epilogue::Silu)
    }

    /// Packs the weight for fast inference, see [`Seq2Seq::pack`](crate::Seq2Seq::pack). In
    /// float32, the packed weight replaces the weight in memory if that is possible
    /// ([`PackedWeight::in_place`]); a frozen weight is trainable after that.
    pub fn pack(&mut self, compute: ComputeType) {
        self.pack_stored(compute, &mut QuantizedParameters::default());
    }

    /// Packs the weight as [`pack`](Self::pack) does. In 8-bit integers, the packed weight replaces
    /// the one in `quantized`, if it is there.
    pub fn pack_stored(&mut self, compute: ComputeType, quantized: &mut QuantizedParameters) {
        if compute == ComputeType::Int8 {
            quantized.quantize(&self.weight);
        }
        self.product.pack(&mut self.weight, compute, quantized);
    }

    /// Returns the type of the matrix product.
    pub(crate) fn precision(&self) -> Precision {
        self.product.precision
    }

    /// Sets the type of the matrix product, see
    /// [`Seq2Seq::set_precision`](crate::Seq2Seq::set_precision).
    pub fn set_precision(&mut self, precision: Precision) {
        self.product.precision = precision;
    }
}

/// Returns a parameter of `shape` with the values of `packed`, which are unpacked when it is read.
fn unpacked_later(
    id: ParamId,
    packed: PackedWeight,
    device: Device,
    shape: Shape,
) -> Param<Tensor<2>> {
    let values = move |device: &Device, is_trained: bool| unpack(&packed, device, is_trained);
    Param::uninitialized(id, values, device, true, shape)
}

/// Returns the unpacked weight on `device`, `[out, in]`.
fn unpack(packed: &PackedWeight, device: &Device, is_trained: bool) -> Tensor<2> {
    let weight = packed.weight().to_device(device);
    if is_trained {
        weight.require_grad()
    } else {
        weight
    }
}

/// The settings of products with a weight: their type, and its packed copy, if there is one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Product {
    pub precision: Precision,
    /// The packed weight and the id of its parameter.
    packed: Option<(ParamId, PackedWeight)>,
}

impl Product {
    /// Computes `epilogue(x·Wᵀ + b)`.
    ///
    /// # Shapes
    /// `weight`: `[out, in]`, `x`: `[.., in]`, `bias`: `[out]` → `[.., out]`
    pub fn with<const D: usize>(
        &self,
        weight: &Param<Tensor<2>>,
        x: Tensor<D>,
        bias: Option<Tensor<1>>,
        epilogue: Epilogue,
    ) -> Tensor<D> {
        let features = x.dims()[D - 1];
        let [_, input] = weight.lazy_shape().dims();
        assert!(
            features == input,
            "x has {features} features, the map takes {input}"
        );
        self.fast(weight)
            .and_then(|packed| packed.linear(&x, bias.clone(), epilogue))
            .unwrap_or_else(|| linear_with(x, weight.val(), bias, epilogue, self.precision))
    }

    /// Packs `weight`, `[out, in]`, if the device has products for packed weights and it is not
    /// packed already. The packed weight replaces it, if that is possible.
    pub fn pack(
        &mut self,
        weight: &mut Param<Tensor<2>>,
        compute: ComputeType,
        quantized: &mut QuantizedParameters,
    ) {
        if self
            .packed_of(weight)
            .is_some_and(|packed| packed.compute() == compute)
        {
            return;
        }
        let stored = quantized.remove(weight.id);
        let replaced = match (compute, stored) {
            (ComputeType::Int8, Some(rows)) => Self::quantized(weight, rows),
            (ComputeType::Float32, _) => Self::in_place(weight),
            _ => None,
        };
        let packed = replaced.or_else(|| PackedWeight::new(&weight.val(), compute));
        self.packed = packed.map(|packed| (weight.id, packed));
    }

    /// Packs `rows`, the numbers of `weight`. Reading the parameter later unpacks it.
    fn quantized(weight: &mut Param<Tensor<2>>, rows: Arc<QuantizedRows>) -> Option<PackedWeight> {
        let shape = weight.lazy_shape();
        let device = weight.lazy_device();
        let id = weight.id;
        // The parameter holds the rows, whose memory is needed.
        *weight = Param::initialized(id, Tensor::zeros([0, 0], &device));
        let rows = Arc::unwrap_or_clone(rows);
        match PackedWeight::quantized(rows, shape.dims(), &device) {
            Ok(packed) => {
                *weight = unpacked_later(id, packed.clone(), device, shape);
                Some(packed)
            }
            Err(rows) => {
                weight.set_quantized(Arc::new(rows), shape);
                None
            }
        }
    }

    /// Rearranges the weight in its own memory, if that is possible. Reading the parameter later
    /// unpacks it.
    fn in_place(weight: &mut Param<Tensor<2>>) -> Option<PackedWeight> {
        if weight.adapter().is_some() {
            return None;
        }
        // The parameter is taken out of its place: its memory can only be used if nothing else
        // holds it.
        let nothing = init::xavier_uniform([0, 0], RandomKey::new(0), &weight.lazy_device());
        let (id, values, mapper) = std::mem::replace(weight, nothing).consume();
        let shape = values.shape();
        let device = values.device();
        match PackedWeight::in_place(values) {
            Err(values) => {
                *weight = Param::from_mapped_value(id, *values, mapper);
                None
            }
            Ok(packed) => {
                *weight = unpacked_later(id, packed.clone(), device, shape);
                Some(packed)
            }
        }
    }

    /// Returns the map `[.., in]` → `[.., rows]` with the rows `rows` of `weight`, `[out, in]`, and
    /// of `bias`, `[out]`. It is packed if this product is packed for `weight`.
    pub fn select(
        &self,
        weight: &Param<Tensor<2>>,
        bias: Option<Tensor<1>>,
        rows: &[u32],
    ) -> Linear {
        let [output, input] = weight.lazy_shape().dims();
        let device = weight.lazy_device();
        let ids = token_ids(rows, [rows.len()], output, &device);
        let bias = bias.map(|bias| Param::from_tensor(bias.select(0, ids.clone())));
        let packed = self.fast(weight).map(|packed| packed.select(rows));
        let id = ParamId::new();
        let weight = match &packed {
            None => Param::initialized(id, weight.val().select(0, ids)),
            Some(packed) => unpacked_later(id, packed.clone(), device, [rows.len(), input].into()),
        };
        Linear {
            weight,
            bias,
            product: Self {
                packed: packed.map(|packed| (id, packed)),
                precision: self.precision,
            },
        }
    }

    /// Returns the packed weight, if it still belongs to `weight`. A parameter that is not
    /// initialised gets its values from the packed weight.
    fn packed_of(&self, weight: &Param<Tensor<2>>) -> Option<&PackedWeight> {
        let (id, packed) = self.packed.as_ref()?;
        let belongs = if weight.is_initialized() {
            packed.is_of(&weight.val())
        } else {
            weight.id == *id
        };
        belongs.then_some(packed)
    }

    /// Returns the packed weight if it took the place of `weight`, `[out, in]`, for a device
    /// without gradients.
    pub fn in_its_place(&self, weight: &Param<Tensor<2>>) -> Option<&PackedWeight> {
        if weight.is_initialized() || weight.lazy_device().is_autodiff() {
            return None;
        }
        self.packed_of(weight)
    }

    /// Returns the packed form of `weight`, `[out, in]`, if it can be used for products of this
    /// precision.
    pub fn fast(&self, weight: &Param<Tensor<2>>) -> Option<&PackedWeight> {
        (self.precision == Precision::Float32).then(|| self.packed_of(weight))?
    }
}
