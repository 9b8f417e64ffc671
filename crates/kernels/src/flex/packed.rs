use std::sync::Arc;

use burn::backend::Flex;
use burn::backend::flex::FlexTensor;
use burn::tensor::{Bytes, Tensor};

use super::primitive;
use super::storage::{contiguous, floats, tensor};
use crate::slices::linear::Activation;
use crate::slices::packed::Panels;

/// Panels, and the bytes that they were made from.
#[derive(Debug)]
pub(crate) struct Packed {
    panels: Panels,
    /// Held, so that nobody else can write to them or get the same address.
    source: Arc<Bytes>,
    start: usize,
}

impl Packed {
    /// Rearranges a weight for which [`plain`](super::plain) holds; `None` if the processor lacks the
    /// instructions or the weight is not in row-major order.
    pub(crate) fn new(weight: Tensor<2>) -> Option<Self> {
        let shape = weight.dims();
        let weight = primitive(weight);
        if !weight.is_contiguous() {
            return None;
        }
        let panels = Panels::new(floats(&weight), shape)?;
        Some(Self { panels, start: weight.layout().start_offset(), source: weight.data_arc() })
    }

    pub(crate) fn is_of(&self, weight: Tensor<2>) -> bool {
        let weight = primitive(weight);
        weight.is_contiguous()
            && weight.layout().start_offset() == self.start
            && Arc::ptr_eq(&weight.data_arc(), &self.source)
    }

    pub(crate) fn linear<const D: usize>(
        &self,
        x: Tensor<D>,
        bias: Option<Tensor<1>>,
        relu: bool,
    ) -> Tensor<D> {
        let mut shape = x.shape();
        shape[D - 1] = self.panels.output();
        let x = contiguous(primitive(x));
        let bias: Option<FlexTensor> = bias.map(|bias| contiguous(primitive(bias)));
        let bias = bias.as_ref().map_or(&[][..], floats);
        let activation = if relu { Activation::Relu } else { Activation::Identity };
        let out = self.panels.forward(floats(&x), bias, activation);
        Tensor::from_primitive::<Flex>(tensor(out, shape))
    }
}
