//! Affine maps as an operation on the CPU.

use burn::backend::flex::FlexTensor;
use burn::tensor::Shape;

use super::cpu::{ProductType, Sizes, through_relu};
use super::settings::Epilogue;
use crate::cpu::{column_sums, contiguous, dims, floats, overwrite, tensor};
use crate::op::{FusedOp, Keep};

/// The affine map. An empty bias means no bias, and has no gradient.
#[derive(Debug)]
pub(super) struct Linear {
    pub epilogue: Epilogue,
    pub product: ProductType,
}

/// The inputs and, if a ReLU follows, the output. All are shared with the graph, none is copied.
#[derive(Clone, Debug)]
pub(super) struct Saved {
    product: ProductType,
    x: FlexTensor,
    weight: FlexTensor,
    rectified: Option<FlexTensor>,
}

impl FusedOp<3> for Linear {
    type Saved = Saved;

    fn forward(self, inputs: [FlexTensor; 3], _keep: Keep<3>) -> (FlexTensor, Saved) {
        let [x, weight, bias] = inputs.map(contiguous);
        let mut saved = Saved {
            product: self.product,
            x,
            weight,
            rectified: None,
        };
        let sizes = saved.sizes();
        let out = self.product.forward(
            sizes,
            floats(&saved.x),
            floats(&saved.weight),
            floats(&bias),
            self.epilogue,
        );
        let output = tensor(out, saved.output_shape());
        saved.rectified = (self.epilogue == Epilogue::Relu).then(|| output.clone());
        (output, saved)
    }

    fn backward(saved: Saved, grad: FlexTensor, wanted: [bool; 3]) -> [Option<FlexTensor>; 3] {
        let [wants_x, wants_weight, wants_bias] = wanted;
        let Saved {
            product,
            x,
            weight,
            rectified,
        } = &saved;
        let sizes = saved.sizes();
        let (grad, sums) = match rectified {
            None => {
                let grad = contiguous(grad);
                let sums = wants_bias.then(|| column_sums(floats(&grad), sizes.output));
                (grad, sums)
            }
            Some(out) => {
                let mut sums = None;
                let grad = overwrite(grad, |grad, source| {
                    sums = through_relu(sizes, grad, source, floats(out), wants_bias);
                });
                (grad, sums)
            }
        };
        let grad = floats(&grad);
        let dx = wants_x.then(|| product.grad_of_input(sizes, grad, floats(weight)));
        let dweight = wants_weight.then(|| product.grad_of_weight(sizes, grad, floats(x)));
        [
            dx.map(|dx| tensor(dx, x.layout().shape().clone())),
            dweight.map(|dweight| tensor(dweight, [sizes.output, sizes.input])),
            sums.map(|sums| tensor(sums, [sizes.output])),
        ]
    }
}

impl Saved {
    fn sizes(&self) -> Sizes {
        let [output, input] = dims(&self.weight);
        Sizes {
            rows: self.x.layout().num_elements() / input.max(1),
            input,
            output,
        }
    }

    fn output_shape(&self) -> Shape {
        let mut shape = self.x.layout().shape().clone();
        let last = shape.num_dims() - 1;
        shape[last] = self.sizes().output;
        shape
    }
}
