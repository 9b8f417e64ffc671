//! The products of an affine map x·Wᵀ and of its backward pass.

use super::panels::Panels;
use super::product::Lhs;
use super::{bfloat16, float32};
use crate::linear::settings::Epilogue;

/// The sizes of an affine map.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sizes {
    /// The number of rows of the input and of the output.
    pub rows: usize,
    /// The number of features in an input row.
    pub input: usize,
    /// The number of features in an output row.
    pub output: usize,
}

/// The type of the factors of a product.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ProductType {
    /// Float32, the type of the tensors.
    Float32,
    /// Bfloat16. The factors are rounded to it.
    BFloat16,
}

impl ProductType {
    /// `epilogue(x·weightᵀ + bias)`, `[rows, output]`: `x` `[rows, input]`, `weight`
    /// `[output, input]`, `bias` `[output]` or empty.
    pub(crate) fn forward(
        self,
        sizes: Sizes,
        x: &[f32],
        weight: &[f32],
        bias: &[f32],
        epilogue: Epilogue,
    ) -> Vec<f32> {
        let Sizes {
            rows,
            input,
            output,
        } = sizes;
        let panels = match self {
            Self::Float32 => float32::panels(weight, [output, input]),
            Self::BFloat16 => bfloat16::panels_of_rows(bfloat16::best(), weight, [output, input]),
        };
        self.product(Lhs::rows(x, [rows, input]), &panels, bias, epilogue)
    }

    /// Returns the gradient of the input, `grad·weight`, `[rows, input]`, given the gradient of the
    /// output, `[rows, output]`.
    pub(crate) fn grad_of_input(self, sizes: Sizes, grad: &[f32], weight: &[f32]) -> Vec<f32> {
        let Sizes {
            rows,
            input,
            output,
        } = sizes;
        let panels = self.panels_of_columns(weight, [output, input]);
        self.product(
            Lhs::rows(grad, [rows, output]),
            &panels,
            &[],
            Epilogue::None,
        )
    }

    /// Returns the gradient of the weight, `gradᵀ·x`, `[output, input]`, given the gradient of the
    /// output, `[rows, output]`.
    pub(crate) fn grad_of_weight(self, sizes: Sizes, grad: &[f32], x: &[f32]) -> Vec<f32> {
        let Sizes {
            rows,
            input,
            output,
        } = sizes;
        let panels = self.panels_of_columns(x, [rows, input]);
        self.product(
            Lhs::columns(grad, [rows, output]),
            &panels,
            &[],
            Epilogue::None,
        )
    }

    /// Adds the gradient of the weight, [`grad_of_weight`](Self::grad_of_weight), to `sums`,
    /// `[output, input]`. Of parts of the rows in multiples of 256 the sums have the same bits as
    /// of all rows.
    pub(crate) fn add_grad_of_weight(
        self,
        sizes: Sizes,
        grad: &[f32],
        x: &[f32],
        sums: &mut [f32],
    ) {
        let Sizes {
            rows,
            input,
            output,
        } = sizes;
        let panels = self.panels_of_columns(x, [rows, input]);
        let left = Lhs::columns(grad, [rows, output]);
        match self {
            Self::Float32 => float32::add_product(left, &panels, sums),
            Self::BFloat16 => bfloat16::add_product(left, &panels, sums),
        }
    }

    fn panels_of_columns(self, matrix: &[f32], shape: [usize; 2]) -> Panels {
        match self {
            Self::Float32 => float32::panels_of_columns(float32::best(), matrix, shape),
            Self::BFloat16 => bfloat16::panels_of_columns(bfloat16::best(), matrix, shape),
        }
    }

    fn product(self, left: Lhs, right: &Panels, bias: &[f32], epilogue: Epilogue) -> Vec<f32> {
        match self {
            Self::Float32 => float32::product(left, right, bias, epilogue),
            Self::BFloat16 => bfloat16::product(left, right, bias, epilogue),
        }
    }
}
