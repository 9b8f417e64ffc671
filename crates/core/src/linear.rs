use burn::module::{Module, Param, ParamId};
use burn::tensor::{Device, Tensor};
use burnformer_kernels::{ComputeType, Epilogue, PackedWeight, RandomKey};

use crate::cost::Cost;
use crate::ids::token_ids;
use crate::init;
use crate::precision::Precision;

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
    packed: Option<Packed>,
    #[module(skip)]
    precision: Precision,
}

impl Linear {
    /// A map from `input` to `output` features with Xavier-uniform weights, a function of `key`, and a bias of zeros.
    pub fn new(input: usize, output: usize, key: RandomKey, device: &Device) -> Self {
        let bias = Some(init::constant(0.0, output, device));
        Self { bias, ..Self::without_bias(input, output, key, device) }
    }

    /// A map from `input` to `output` features with Xavier-uniform weights, a function of `key`, and without bias.
    pub fn without_bias(input: usize, output: usize, key: RandomKey, device: &Device) -> Self {
        Self {
            weight: init::xavier_uniform([output, input], key, device),
            bias: None,
            packed: None,
            precision: Precision::Float32,
        }
    }

    /// The cost of a map from `input` to `output` features. It keeps its input.
    pub fn cost(input: usize, output: usize, bias: bool) -> Cost {
        Cost {
            parameters: input * output + usize::from(bias) * output,
            multiplications: input * output,
            kept_values: input,
        }
    }

    /// The map to the outputs `rows` alone, in this order, for inference, with `bias` (`[out]`) or else the map's own. It is
    /// packed if this map is, and then has the same bits.
    ///
    /// # Panics
    /// If one of `rows` is not below the number of outputs.
    pub fn select(&self, rows: &[u32], bias: Option<Tensor<1>>) -> Self {
        let bias = bias.or_else(|| self.bias.as_ref().map(Param::val));
        selected(&self.weight, bias, rows, &self.packed, self.precision)
    }

    /// Computes x·Wᵀ + b.
    ///
    /// # Shapes
    /// `x`: `[.., in]` → `[.., out]`
    pub fn forward<const D: usize>(&self, x: Tensor<D>) -> Tensor<D> {
        let bias = self.bias.as_ref().map(Param::val);
        let fast = packed_for(&self.packed, &self.weight, self.precision);
        fast.and_then(|packed| packed.linear(&x, bias.clone(), Epilogue::None))
            .unwrap_or_else(|| self.precision.linear(x, self.weight.val(), bias))
    }

    /// Computes max(0, x·Wᵀ + b) in one pass over the data.
    ///
    /// # Shapes
    /// `x`: `[.., in]` → `[.., out]`
    pub fn forward_relu<const D: usize>(&self, x: Tensor<D>) -> Tensor<D> {
        let bias = self.bias.as_ref().map(Param::val);
        let fast = packed_for(&self.packed, &self.weight, self.precision);
        fast.and_then(|packed| packed.linear(&x, bias.clone(), Epilogue::Relu))
            .unwrap_or_else(|| self.precision.linear_relu(x, self.weight.val(), bias))
    }

    /// Packs the weight for fast inference, see [`Transformer::pack`](crate::Transformer::pack). In float32 it takes no further
    /// memory if the weight's own can be used ([`PackedWeight::in_place`]); a weight that was frozen is trainable after that.
    pub fn pack(&mut self, compute: ComputeType) {
        let present = packed_for(&self.packed, &self.weight, Precision::Float32);
        if present.is_some_and(|packed| packed.compute() == compute) {
            return;
        }
        let is_in_place = compute == ComputeType::Float32 && self.pack_in_place();
        if !is_in_place {
            self.pack_beside(compute);
        }
    }

    /// Does what [`pack`](Self::pack) does and keeps the rows of the weight as they are, for [`select`](Self::select).
    pub fn pack_beside(&mut self, compute: ComputeType) {
        self.packed = Packed::new(&self.weight, compute);
    }

    /// Rearranges the weight in its own memory, if that is possible. Who asks for it afterwards gets it from there.
    fn pack_in_place(&mut self) -> bool {
        if self.weight.adapter().is_some() {
            return false;
        }
        // The parameter is taken out, since its memory can only be used if nothing else holds it.
        let nothing = init::xavier_uniform([0, 0], RandomKey::new(0), &self.weight.lazy_device());
        let (id, weight, mapper) = std::mem::replace(&mut self.weight, nothing).consume();
        let (shape, device) = (weight.shape(), weight.device());
        match PackedWeight::in_place(weight) {
            Err(weight) => {
                self.weight = Param::from_mapped_value(id, *weight, mapper);
                false
            }
            Ok(weight) => {
                let source = weight.clone();
                let unpack = move |device: &Device, is_trained: bool| {
                    let weight = source.weight().to_device(device);
                    if is_trained { weight.require_grad() } else { weight }
                };
                self.weight = Param::uninitialized(id, unpack, device, true, shape);
                self.packed = Some(Packed { id, weight });
                true
            }
        }
    }

    /// The type of the matrix product.
    pub(crate) fn precision(&self) -> Precision {
        self.precision
    }

    /// Sets the type of the matrix product, see [`Transformer::set_precision`](crate::Transformer::set_precision).
    pub fn set_precision(&mut self, precision: Precision) {
        self.precision = precision;
    }
}

/// The map by the rows `rows` of `weight` and `bias`, packed as `packed` is.
pub(crate) fn selected(
    weight: &Param<Tensor<2>>,
    bias: Option<Tensor<1>>,
    rows: &[u32],
    packed: &Option<Packed>,
    precision: Precision,
) -> Linear {
    let compute = packed_for(packed, weight, precision).map(PackedWeight::compute);
    let weight = weight.val();
    let rows = token_ids(rows, [rows.len()], weight.dims()[0], &weight.device());
    let mut linear = Linear {
        weight: Param::from_tensor(weight.select(0, rows.clone())),
        bias: bias.map(|bias| Param::from_tensor(bias.select(0, rows))),
        packed: None,
        precision,
    };
    if let Some(compute) = compute {
        linear.pack(compute);
    }
    linear
}

/// A packed weight, and the parameter to which it belongs.
#[derive(Clone, Debug)]
pub(crate) struct Packed {
    id: ParamId,
    weight: PackedWeight,
}

impl Packed {
    /// Packs `weight`, which stays as it is; `None` where there are no such products.
    pub fn new(weight: &Param<Tensor<2>>, compute: ComputeType) -> Option<Self> {
        Some(Self { id: weight.id, weight: PackedWeight::new(&weight.val(), compute)? })
    }

    /// Whether this still belongs to `weight`: a parameter that has no values yet gets those that are packed here.
    fn is_of(&self, weight: &Param<Tensor<2>>) -> bool {
        match weight.is_initialized() {
            true => self.weight.is_of(&weight.val()),
            false => weight.id == self.id,
        }
    }
}

/// The packed weight, if it still belongs to `weight` and can be used for products in `precision`.
pub(crate) fn packed_for<'a>(
    packed: &'a Option<Packed>,
    weight: &Param<Tensor<2>>,
    precision: Precision,
) -> Option<&'a PackedWeight> {
    let serves = precision == Precision::Float32;
    packed.as_ref().filter(|packed| serves && packed.is_of(weight)).map(|packed| &packed.weight)
}
