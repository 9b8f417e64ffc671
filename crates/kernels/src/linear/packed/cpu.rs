use std::sync::{Arc, OnceLock};

use burn::backend::Flex;
use burn::backend::flex::{FlexTensor, Layout};
use burn::tensor::{Bytes, DType, Tensor};

use crate::cpu::{contiguous, dims, floats, primitive, tensor};
use crate::linear::quantize::QuantizedRows;
use crate::linear::settings::Epilogue;
use crate::linear::{ComputeType, cpu};

/// A rearranged weight.
#[derive(Debug)]
enum PackedPanels {
    Float32(cpu::Panels),
    BFloat16(cpu::Panels),
    Int8(cpu::Weight),
}

/// A weight and its panels.
#[derive(Debug)]
pub(super) struct Packed {
    rearranged: PackedPanels,
    shape: [usize; 2],
    /// The weight is held, so that no other tensor can write to its memory or get the same address.
    /// If the panels replaced the weight, it is restored only when it is requested.
    source: OnceLock<FlexTensor>,
}

impl Packed {
    /// Rearranges a weight that is on the CPU and has no gradients. Returns `None` if it is not in
    /// row-major order.
    pub(super) fn new(weight: Tensor<2>, compute: ComputeType) -> Option<Self> {
        let shape = weight.dims();
        let weight = primitive(weight);
        if !weight.is_contiguous() {
            return None;
        }
        let rearranged = match compute {
            ComputeType::Float32 => PackedPanels::Float32(cpu::panels(floats(&weight), shape)),
            ComputeType::BFloat16 => {
                PackedPanels::BFloat16(cpu::panels_bfloat16(floats(&weight), shape))
            }
            ComputeType::Int8 => PackedPanels::Int8(cpu::Weight::new(floats(&weight), shape)),
        };
        Some(Self {
            rearranged,
            shape,
            source: OnceLock::from(weight),
        })
    }

    /// Packs a float32 weight in place; it must be on the CPU and have no gradients. Returns the
    /// weight unchanged if another tensor shares its memory, if it is not contiguous, or if its
    /// panels would be larger.
    pub(super) fn in_place(weight: Tensor<2>) -> Result<Self, Box<Tensor<2>>> {
        let shape = weight.dims();
        let weight = primitive(weight);
        let size = shape[0] * shape[1] * size_of::<f32>();
        let is_whole = weight.is_contiguous() && weight.bytes().len() == size;
        if !is_whole || !weight.is_unique() {
            return Err(Box::new(Tensor::from_primitive::<Flex>(weight)));
        }
        match cpu::panels_in_place(weight.into_data().into_parts().0, shape) {
            Ok(panels) => {
                let rearranged = PackedPanels::Float32(panels);
                Ok(Self {
                    rearranged,
                    shape,
                    source: OnceLock::new(),
                })
            }
            Err(bytes) => Err(Box::new(Tensor::from_primitive::<Flex>(of_bytes(
                bytes, shape,
            )))),
        }
    }

    /// Packs a weight of `shape` that is quantised, which it replaces.
    pub(super) fn quantized(rows: QuantizedRows, shape: [usize; 2]) -> Self {
        Self {
            rearranged: PackedPanels::Int8(cpu::Weight::of_rows(rows, shape)),
            shape,
            source: OnceLock::new(),
        }
    }

    /// Returns the weight.
    pub(super) fn weight(&self) -> Tensor<2> {
        // No other thread helps here: it could take up work that waits for this very weight.
        let weight = self.source.get_or_init(|| {
            let rows = match &self.rearranged {
                PackedPanels::Float32(panels) => bytemuck::cast_vec(panels.rows()),
                PackedPanels::BFloat16(_) => unreachable!("a weight is rounded beside its source"),
                PackedPanels::Int8(weight) => {
                    weight.rows(0..self.shape[0]).dequantized(self.shape[1])
                }
            };
            tensor(rows, self.shape)
        });
        Tensor::from_primitive::<Flex>(weight.clone())
    }

    /// Returns the number of inputs.
    pub(super) fn input(&self) -> usize {
        self.shape[1]
    }

    /// Returns the rows `rows` of the weight, `[rows, in]`.
    pub(super) fn rows(&self, rows: &[u32]) -> Vec<f32> {
        let [output, input] = self.shape;
        let rows = rows.iter().map(|&row| row as usize).inspect(|&row| {
            assert!(row < output, "row {row} of a weight [{output}, {input}]");
        });
        match (self.source.get(), &self.rearranged) {
            (None, PackedPanels::Int8(weight)) => weight.rows(rows).dequantized(input),
            (None, PackedPanels::Float32(panels)) => rows
                .flat_map(|row| panels.row(row))
                .map(f32::from_bits)
                .collect(),
            (source, _) => {
                let source = floats(source.expect("a weight is rounded beside its source"));
                rows.flat_map(|row| &source[row * input..][..input])
                    .copied()
                    .collect()
            }
        }
    }

    /// Returns the rows `rows` of the weight, packed alike.
    pub(super) fn select(&self, rows: &[u32]) -> Self {
        let shape = [rows.len(), self.shape[1]];
        if let PackedPanels::Int8(weight) = &self.rearranged {
            return Self::quantized(weight.rows(rows.iter().map(|&row| row as usize)), shape);
        }
        let weight = Tensor::from_primitive::<Flex>(tensor(self.rows(rows), shape));
        Self::new(weight, self.compute()).expect("the rows are in row-major order")
    }

    pub(super) fn compute(&self) -> ComputeType {
        match self.rearranged {
            PackedPanels::Float32(_) => ComputeType::Float32,
            PackedPanels::BFloat16(_) => ComputeType::BFloat16,
            PackedPanels::Int8(_) => ComputeType::Int8,
        }
    }

    pub(super) fn is_of(&self, weight: Tensor<2>) -> bool {
        let weight = primitive(weight);
        self.source.get().is_some_and(|source| {
            weight.is_contiguous()
                && dims::<2>(&weight) == self.shape
                && weight.layout().start_offset() == source.layout().start_offset()
                && Arc::ptr_eq(&weight.data_arc(), &source.data_arc())
        })
    }

    pub(super) fn linear<const D: usize>(
        &self,
        x: Tensor<D>,
        bias: Option<Tensor<1>>,
        epilogue: Epilogue,
    ) -> Tensor<D> {
        let [output, input] = self.shape;
        let mut shape = x.shape();
        assert_eq!(
            shape[D - 1],
            input,
            "the last axis of x does not fit a weight [{output}, {input}]"
        );
        shape[D - 1] = output;
        let x = contiguous(primitive(x));
        let bias: Option<FlexTensor> = bias.map(|bias| contiguous(primitive(bias)));
        let bias = bias.as_ref().map_or(&[][..], floats);
        let out = match &self.rearranged {
            PackedPanels::Float32(panels) => cpu::forward(panels, floats(&x), bias, epilogue),
            PackedPanels::BFloat16(panels) => {
                cpu::decode_bfloat16(panels, floats(&x), input, bias, epilogue)
            }
            PackedPanels::Int8(weight) => weight.forward(floats(&x), bias, epilogue),
        };
        Tensor::from_primitive::<Flex>(tensor(out, shape))
    }
}

fn of_bytes(bytes: Bytes, shape: [usize; 2]) -> FlexTensor {
    FlexTensor::new(bytes, Layout::contiguous(shape.into()), DType::F32)
}
