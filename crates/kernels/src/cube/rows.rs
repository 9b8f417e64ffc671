//! A cube of units for each row of a matrix.

use burn::tensor::DType;
use burn_cubecl::kernel::into_contiguous;
use burn_cubecl::ops::numeric::empty_device_contiguous_dtype;
use burn_cubecl::tensor::CubeTensor;
use cubecl::calculate_cube_count_elemwise;
use cubecl::client::Client;
use cubecl::prelude::*;

/// Units that share a row, at most: what every device has. A power of two, so that halves can be added up.
const UNITS: u32 = 256;

/// The units that share a row on this device.
pub(super) fn units(client: &Client) -> u32 {
    let most = client.properties().hardware.max_units_per_cube.clamp(1, UNITS);
    1 << most.ilog2()
}

/// So many cubes of `units` that there is one for each of `rows`, and that no axis is longer than devices allow; some
/// may be left over.
pub(super) fn cubes(client: &Client, rows: usize, units: u32) -> (CubeCount, CubeDim) {
    let dim = CubeDim::new_1d(units);
    (calculate_cube_count_elemwise(client, rows * units as usize, dim), dim)
}

/// `x` with the elements of a row side by side; the rows may lie apart, as those of a padded matrix do.
pub(super) fn with_whole_rows(x: CubeTensor) -> CubeTensor {
    if x.meta.strides().last() == Some(&1) { x } else { into_contiguous(x) }
}

/// Room for a contiguous tensor of 32-bit floats beside `x`.
pub(super) fn room<const D: usize>(x: &CubeTensor, shape: [usize; D]) -> CubeTensor {
    empty_device_contiguous_dtype(x.client.clone(), x.device.clone(), shape.into(), DType::F32)
}

/// Room for a tensor like `x`, which is contiguous.
pub(super) fn like(x: &CubeTensor) -> CubeTensor {
    let mut like = room(x, [x.meta.num_elements()]);
    like.meta = x.meta.clone();
    like
}

/// Room for two tensors, like `first` and like `second` (both contiguous), in one buffer: the buffer, which a kernel
/// writes as a whole, the tensors, and the element of the buffer that the second begins with.
///
/// WebGPU lets a kernel bind eight buffers (`maxStorageBuffersPerShaderStage`), of which CubeCL takes one for sizes and
/// scalars.
pub(super) fn shared_room(
    first: &CubeTensor,
    second: &CubeTensor,
) -> (CubeTensor, [CubeTensor; 2], usize) {
    let counts = [first, second].map(|x| x.meta.num_elements());
    let alignment = first.client.properties().memory.alignment as usize;
    let start = counts[0].next_multiple_of(alignment.div_ceil(ELEMENT).max(1));
    let buffer = room(first, [start + counts[1]]);
    let part = |like: &CubeTensor, from: usize, count: usize| {
        let after = start + counts[1] - from - count;
        let handle = buffer.handle.clone().offset_start((from * ELEMENT) as u64);
        let handle = handle.offset_end((after * ELEMENT) as u64);
        let (client, device) = (first.client.clone(), first.device.clone());
        CubeTensor::new(client, handle, (*like.meta).clone(), device, DType::F32)
    };
    let parts = [part(first, 0, counts[0]), part(second, start, counts[1])];
    (buffer, parts, start)
}

/// Bytes of an element.
const ELEMENT: usize = size_of::<f32>();

/// The sums of every unit's `one` and `other`, known to all of them; added up in an order of its own.
#[cube]
pub(super) fn sums_of_units(one: f32, other: f32, #[comptime] units: usize) -> (f32, f32) {
    let mut ones = Shared::<[f32]>::new_slice(units);
    let mut others = Shared::<[f32]>::new_slice(units);
    let unit = UNIT_POS as usize;
    ones[unit] = one;
    others[unit] = other;
    sync_cube();
    let mut half = (CUBE_DIM / 2) as usize;
    while half > 0 {
        if unit < half {
            let (one, other) = (ones[unit + half], others[unit + half]);
            ones[unit] += one;
            others[unit] += other;
        }
        sync_cube();
        half /= 2;
    }
    let sums = (ones[0], others[0]);
    // Before a next call writes there.
    sync_cube();
    sums
}
