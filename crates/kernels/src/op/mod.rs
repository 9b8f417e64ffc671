//! Operations with custom forward and backward passes, in this crate or in another one.
//!
//! An operation is a value that holds its settings and implements `FusedOp` for Burn's backend
//! `flex`, the CPU. `apply` runs it on tensors, with or without gradients, and is the only function
//! that uses Burn's autodiff graph. [`Target`] says where tensors are, so that a public function
//! can choose between the operation and plain tensor arithmetic. The building blocks of operations
//! are in `cpu` and [`simd`](crate::simd).
//!
//! The trade-off: inputs and outputs of an operation have no rank in their type (`Operand`), so
//! that one trait serves tensors of all ranks; an operation checks the shapes in its public
//! function.
//!
//! # Example
//!
//! The square of every element. Its gradient is 2·x times the gradient of the output:
//!
//! ```
//! # #[cfg(feature = "cpu")] {
//! use burn::backend::flex::FlexTensor;
//! use burn::tensor::{Device, Tensor};
//! use burnformer_kernels::cpu::{contiguous, floats, tensor};
//! use burnformer_kernels::op::{FusedOp, Keep, Target, apply};
//!
//! #[derive(Debug)]
//! struct Square;
//!
//! impl FusedOp<1> for Square {
//!     type Saved = FlexTensor;
//!
//!     fn forward(self, [x]: [FlexTensor; 1], _keep: Keep<1>) -> (FlexTensor, FlexTensor) {
//!         let x = contiguous(x);
//!         let squares = floats(&x).iter().map(|x| x * x).collect();
//!         (tensor(squares, x.layout().shape().clone()), x)
//!     }
//!
//!     fn backward(x: FlexTensor, grad: FlexTensor, _: [bool; 1]) -> [Option<FlexTensor>; 1] {
//!         let grad = contiguous(grad);
//!         let grads = floats(&x).iter().zip(floats(&grad)).map(|(x, g)| 2.0 * x * g).collect();
//!         [Some(tensor(grads, x.layout().shape().clone()))]
//!     }
//! }
//!
//! fn square<const D: usize>(x: Tensor<D>) -> Tensor<D> {
//!     match Target::of(&[&x]) {
//!         Target::Cpu => apply(Square, [x.into()]),
//!         _ => x.square(),
//!     }
//! }
//!
//! let x = Tensor::<2>::full([2, 3], 4.0, &Device::default().autodiff()).require_grad();
//! let gradients = square(x.clone()).sum().backward();
//! let gradient = x.grad(&gradients).expect("x is a leaf");
//! assert_eq!(gradient.into_data().try_to_vec::<f32>().expect("float32"), [8.0; 6]);
//! # }
//! ```

#[cfg(feature = "cpu")]
mod apply;
#[cfg(feature = "cpu")]
mod operand;
mod target;

#[cfg(feature = "cpu")]
pub use apply::{FusedOp, Keep, apply};
#[cfg(feature = "cpu")]
pub use operand::Operand;
pub use target::{HasTarget, Target};
