use std::sync::Arc;

use burn::backend::Flex;
use burn::backend::flex::FlexTensor;
use burn::tensor::{Bytes, Tensor};

use crate::cpu::{contiguous, floats, primitive, tensor};
use crate::linear::epilogue::Epilogue;
use crate::linear::{ComputeType, float32, int8};

/// A rearranged weight.
#[derive(Debug)]
enum Panels {
    Float32(float32::Panels),
    Int8(int8::Panels),
}

impl Panels {
    fn new(weight: &[f32], shape: [usize; 2], compute: ComputeType) -> Option<Self> {
        match compute {
            ComputeType::Float32 => float32::Panels::of_rows(weight, shape).map(Self::Float32),
            ComputeType::Int8 => Some(Self::Int8(int8::Panels::new(weight, shape))),
        }
    }

    fn compute(&self) -> ComputeType {
        match self {
            Self::Float32(_) => ComputeType::Float32,
            Self::Int8(_) => ComputeType::Int8,
        }
    }

    fn output(&self) -> usize {
        match self {
            Self::Float32(panels) => panels.output(),
            Self::Int8(panels) => panels.output(),
        }
    }

    fn forward(&self, x: &[f32], bias: &[f32], epilogue: Epilogue) -> Vec<f32> {
        match self {
            Self::Float32(panels) => panels.forward(x, bias, epilogue),
            Self::Int8(panels) => panels.forward(x, bias, epilogue),
        }
    }
}

/// Panels, and the bytes of the weight that they were made from.
#[derive(Debug)]
pub(super) struct Packed {
    panels: Panels,
    /// The weight is held, so that no other tensor can write to its memory or get the same address.
    source: Arc<Bytes>,
    start: usize,
}

impl Packed {
    /// Rearranges a weight that is on the CPU and has no gradients. Returns `None` if the processor lacks the
    /// instructions or the weight is not in row-major order.
    pub(super) fn new(weight: Tensor<2>, compute: ComputeType) -> Option<Self> {
        let shape = weight.dims();
        let weight = primitive(weight);
        if !weight.is_contiguous() {
            return None;
        }
        let panels = Panels::new(floats(&weight), shape, compute)?;
        Some(Self { panels, start: weight.layout().start_offset(), source: weight.data_arc() })
    }

    pub(super) fn compute(&self) -> ComputeType {
        self.panels.compute()
    }

    pub(super) fn is_of(&self, weight: Tensor<2>) -> bool {
        let weight = primitive(weight);
        weight.is_contiguous()
            && weight.layout().start_offset() == self.start
            && Arc::ptr_eq(&weight.data_arc(), &self.source)
    }

    pub(super) fn linear<const D: usize>(
        &self,
        x: Tensor<D>,
        bias: Option<Tensor<1>>,
        epilogue: Epilogue,
    ) -> Tensor<D> {
        let mut shape = x.shape();
        shape[D - 1] = self.panels.output();
        let x = contiguous(primitive(x));
        let bias: Option<FlexTensor> = bias.map(|bias| contiguous(primitive(bias)));
        let bias = bias.as_ref().map_or(&[][..], floats);
        let out = self.panels.forward(floats(&x), bias, epilogue);
        Tensor::from_primitive::<Flex>(tensor(out, shape))
    }
}
