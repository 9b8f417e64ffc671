use burn::backend::flex::{FlexTensor, Layout};
use burn::tensor::{BoolStore, Bytes, DType, Shape};

/// `x` with its elements in row-major order without gaps; copies only where they are not.
pub fn contiguous(x: FlexTensor) -> FlexTensor {
    if x.is_contiguous() { x } else { x.to_contiguous() }
}

/// The elements of a [`contiguous`] tensor.
pub fn floats(x: &FlexTensor) -> &[f32] {
    x.as_slice().expect("a contiguous f32 tensor")
}

/// `values` as a tensor of `shape`.
pub fn tensor(values: Vec<f32>, shape: impl Into<Shape>) -> FlexTensor {
    FlexTensor::new(Bytes::from_elems(values), Layout::contiguous(shape.into()), DType::F32)
}

/// The whole numbers of `x`, whatever their width.
pub(crate) fn integers(x: &FlexTensor) -> Vec<i64> {
    let data = x.clone().into_data();
    data.iter::<i64>().collect()
}

/// Fills a tensor like `x` with `write(out, source)`: over `x` itself where nothing else holds it
/// (`source` is then `None` and `out` holds `x`), into a new one otherwise.
pub(crate) fn overwrite(
    x: FlexTensor,
    write: impl FnOnce(&mut [f32], Option<&[f32]>),
) -> FlexTensor {
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

/// The truth values of `x`, row-major, not 0 where true.
pub fn bools(x: &FlexTensor) -> Vec<u8> {
    if let (DType::Bool(BoolStore::Native | BoolStore::U8), Some((start, end))) =
        (x.dtype(), x.layout().contiguous_offsets())
    {
        return x.bytes()[start..end].to_vec();
    }
    x.clone().into_data().iter::<bool>().map(u8::from).collect()
}
