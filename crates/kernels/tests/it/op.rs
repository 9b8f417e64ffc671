//! Guarantees for an operation of another crate.

use burn::backend::flex::FlexTensor;
use burn::tensor::{Device, Tensor};
use burnformer_kernels::cpu::{contiguous, floats, tensor};
use burnformer_kernels::op::{FusedOp, Keep, Target, apply};

/// x·y, element by element, which checks what it is told.
#[derive(Debug)]
struct Product {
    keep: Keep<2>,
    wanted: [bool; 2],
}

type Saved = ([FlexTensor; 2], [bool; 2]);

fn product(x: &FlexTensor, y: &FlexTensor) -> FlexTensor {
    let products = floats(x)
        .iter()
        .zip(floats(y))
        .map(|(x, y)| x * y)
        .collect();
    tensor(products, x.layout().shape().clone())
}

impl FusedOp<2> for Product {
    type Saved = Saved;

    fn forward(self, inputs: [FlexTensor; 2], keep: Keep<2>) -> (FlexTensor, Saved) {
        assert_eq!(keep, self.keep);
        let inputs = inputs.map(contiguous);
        (product(&inputs[0], &inputs[1]), (inputs, self.wanted))
    }

    fn backward(
        ([x, y], expected): Saved,
        grad: FlexTensor,
        wanted: [bool; 2],
    ) -> [Option<FlexTensor>; 2] {
        assert_eq!(wanted, expected);
        let grad = contiguous(grad);
        [
            wanted[0].then(|| product(&y, &grad)),
            wanted[1].then(|| product(&x, &grad)),
        ]
    }
}

fn device() -> Device {
    Device::flex().autodiff()
}

fn full(value: f32, device: &Device) -> Tensor<2> {
    Tensor::full([2, 3], value, device)
}

fn values(x: Tensor<2>) -> Vec<f32> {
    x.into_data().try_to_vec().expect("float32")
}

#[test]
fn gradients_reach_the_inputs_that_want_them() {
    for device in [device(), device().gradient_checkpointing()] {
        let (x, y) = (
            full(3.0, &device).require_grad(),
            full(4.0, &device).require_grad(),
        );
        let op = Product {
            keep: Keep::ForBackward([true, true]),
            wanted: [true, true],
        };
        let output: Tensor<2> = apply(op, [x.clone().into(), y.clone().into()]);
        let gradients = (output * 2.0).sum().backward();
        assert_eq!(values(x.grad(&gradients).expect("wanted")), [8.0; 6]);
        assert_eq!(values(y.grad(&gradients).expect("wanted")), [6.0; 6]);
    }
}

#[test]
fn a_constant_needs_no_gradient_on_either_device() {
    for constant in [device(), Device::flex()] {
        let (x, y) = (full(3.0, &device()).require_grad(), full(4.0, &constant));
        let op = Product {
            keep: Keep::ForBackward([true, false]),
            wanted: [true, false],
        };
        let output: Tensor<2> = apply(op, [x.clone().into(), y.into()]);
        let gradients = output.sum().backward();
        assert_eq!(values(x.grad(&gradients).expect("wanted")), [4.0; 6]);
    }
}

#[test]
fn nothing_is_kept_without_gradients() {
    for device in [device(), Device::flex()] {
        let op = Product {
            keep: Keep::Nothing,
            wanted: [false, false],
        };
        let output: Tensor<2> = apply(op, [full(3.0, &device).into(), full(4.0, &device).into()]);
        assert_eq!(
            (values(output.clone()), output.device()),
            (vec![12.0; 6], device)
        );
    }
}

#[test]
fn the_target_is_the_cpu_only_if_all_operands_are() {
    let (plain, tracked) = (full(1.0, &Device::flex()), full(1.0, &device()));
    let narrow = plain.clone().cast(burn::tensor::DType::F16);
    assert_eq!(Target::of(&[&plain, &tracked]), Target::Cpu);
    assert_eq!(Target::of(&[&plain, &narrow]), Target::Other);
    assert_eq!(
        Target::without_gradients(&[&plain, &tracked]),
        Target::Other
    );
    assert_eq!(Target::without_gradients(&[&plain]), Target::Cpu);
}
