use burn::tensor::DType;
use burn_cubecl::kernel::into_contiguous;
use burn_cubecl::ops::numeric::empty_device_contiguous_dtype;
use burn_cubecl::tensor::CubeTensor;

/// `x` itself if the elements of each row are adjacent in memory, else a contiguous copy. There may
/// be gaps between rows, as in a padded matrix.
pub fn with_contiguous_rows(x: CubeTensor) -> CubeTensor {
    if x.meta.strides().last() == Some(&1) { x } else { into_contiguous(x) }
}

/// A contiguous float32 tensor of `shape` on the device of `x`, not initialised.
pub fn empty<const D: usize>(x: &CubeTensor, shape: [usize; D]) -> CubeTensor {
    empty_device_contiguous_dtype(x.client.clone(), x.device.clone(), shape.into(), DType::F32)
}
