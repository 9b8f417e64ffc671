use burn::tensor::DType;
use burn_cubecl::kernel::into_contiguous;
use burn_cubecl::ops::numeric::empty_device_contiguous_dtype;
use burn_cubecl::tensor::CubeTensor;

/// The number of bytes of an element.
const ELEMENT: usize = size_of::<f32>();

/// `x` itself if the elements of each row are adjacent in memory, else a contiguous copy. There may
/// be gaps between rows, as in a padded matrix.
pub fn with_contiguous_rows(x: CubeTensor) -> CubeTensor {
    if x.meta.strides().last() == Some(&1) { x } else { into_contiguous(x) }
}

/// A contiguous float32 tensor of `shape` on the device of `x`, not initialised.
pub fn empty<const D: usize>(x: &CubeTensor, shape: [usize; D]) -> CubeTensor {
    empty_device_contiguous_dtype(x.client.clone(), x.device.clone(), shape.into(), DType::F32)
}

/// A float32 tensor of the shape of `x`, which is contiguous; not initialised.
pub fn empty_like(x: &CubeTensor) -> CubeTensor {
    let mut like = empty(x, [x.meta.num_elements()]);
    like.meta = x.meta.clone();
    like
}

/// Two tensors in one buffer, so that a kernel that writes both binds one storage buffer.
#[derive(Clone, Debug)]
pub struct SharedBuffer {
    /// The whole buffer, which the kernel writes.
    pub whole: CubeTensor,
    /// The two tensors.
    pub parts: [CubeTensor; 2],
    /// The element of the buffer with which the second tensor begins.
    pub second: usize,
}

/// A buffer for two float32 tensors of the shapes of `first` and `second`, both contiguous; not
/// initialised.
pub fn shared_buffer(first: &CubeTensor, second: &CubeTensor) -> SharedBuffer {
    let counts = [first, second].map(|x| x.meta.num_elements());
    let alignment = first.client.properties().memory.alignment as usize;
    let start = counts[0].next_multiple_of(alignment.div_ceil(ELEMENT).max(1));
    let whole = empty(first, [start + counts[1]]);
    let part = |like: &CubeTensor, from: usize, count: usize| {
        let after = start + counts[1] - from - count;
        let handle = whole.handle.clone().offset_start((from * ELEMENT) as u64);
        let handle = handle.offset_end((after * ELEMENT) as u64);
        let (client, device) = (first.client.clone(), first.device.clone());
        CubeTensor::new(client, handle, (*like.meta).clone(), device, DType::F32)
    };
    let parts = [part(first, 0, counts[0]), part(second, start, counts[1])];
    SharedBuffer { whole, parts, second: start }
}
