//! Burn's tensors on the CPU as slices, and back.

use burn::backend::Flex;
use burn::backend::flex::{FlexTensor, Layout};
use burn::tensor::{Bool, BoolStore, Bytes, DType, Int, Shape, Tensor};

/// Returns the `flex` tensor that `x` wraps: a tensor on the CPU without gradients.
///
/// # Panics
/// Panics if the tensor is not on the CPU, or has gradients.
pub fn primitive<const D: usize>(x: Tensor<D>) -> FlexTensor {
    x.try_into_primitive::<Flex>()
        .expect("a tensor on flex without gradients")
}

/// Returns `x` with its elements in row-major order without gaps. Copies only if necessary.
pub fn contiguous(x: FlexTensor) -> FlexTensor {
    if x.is_contiguous() {
        x
    } else {
        x.to_contiguous()
    }
}

/// Returns the elements of a [`contiguous`] float32 tensor.
pub fn floats(x: &FlexTensor) -> &[f32] {
    x.as_slice().expect("a contiguous f32 tensor")
}

/// Returns the sizes of `x` along its axes.
///
/// # Panics
/// Panics if its rank is not `D`.
pub fn dims<const D: usize>(x: &FlexTensor) -> [usize; D] {
    x.layout().shape().dims()
}

/// Returns a tensor of `shape` with the elements `values`, in row-major order.
pub fn tensor(values: Vec<f32>, shape: impl Into<Shape>) -> FlexTensor {
    FlexTensor::new(
        Bytes::from_elems(values),
        Layout::contiguous(shape.into()),
        DType::F32,
    )
}

/// Fills a tensor of the shape of `x` with `write(out, source)`. If no other tensor shares the
/// memory of `x`, it is overwritten: then `source` is `None` and `out` holds the elements of `x`.
/// Otherwise the result is a new tensor.
pub fn overwrite(x: FlexTensor, write: impl FnOnce(&mut [f32], Option<&[f32]>)) -> FlexTensor {
    let mut x = contiguous(x);
    let count = x.layout().num_elements();
    let whole = x.layout().start_offset() == 0 && x.bytes().len() == count * size_of::<f32>();
    if whole && let Some(out) = x.try_storage_mut::<f32>() {
        write(out, None);
        return x;
    }
    let mut out = vec![0.0; count];
    write(&mut out, Some(floats(&x)));
    tensor(out, x.layout().shape().clone())
}

/// Returns the integers of `x`, a tensor on the CPU, in row-major order, widened to 64 bits.
///
/// # Panics
/// Panics if `x` is not on the CPU.
pub fn integers<const D: usize>(x: Tensor<D, Int>) -> Vec<i64> {
    let x = x
        .inner()
        .try_into_primitive::<Flex>()
        .expect("an integer tensor on flex");
    x.into_data().iter::<i64>().collect()
}

/// Returns the booleans of `x`, a tensor on the CPU, in row-major order; true is any nonzero byte.
///
/// # Panics
/// Panics if `x` is not on the CPU.
pub fn bools<const D: usize>(x: Tensor<D, Bool>) -> Vec<u8> {
    let x = x
        .inner()
        .try_into_primitive::<Flex>()
        .expect("a boolean tensor on flex");
    if let (DType::Bool(BoolStore::Native | BoolStore::U8), Some((start, end))) =
        (x.dtype(), x.layout().contiguous_offsets())
    {
        return x.bytes()[start..end].to_vec();
    }
    x.into_data().iter::<bool>().map(u8::from).collect()
}
