use cubecl::calculate_cube_count_elemwise;
use cubecl::client::Client;
use cubecl::prelude::*;

/// The largest number of units of a cube that every device offers. It is a power of two, so that
/// sums can be taken by halving.
const UNITS: u32 = 256;

/// The number of units of a cube that sums over its units, on this device: a power of two.
pub fn units_per_cube(client: &Client) -> u32 {
    let most = client.properties().hardware.max_units_per_cube.clamp(1, UNITS);
    1 << most.ilog2()
}

/// At least `count` cubes of `units` units each, spread over the axes of the grid as the device's
/// limits require. A kernel has to end at once in the cubes beyond `count`.
pub fn cubes(client: &Client, count: usize, units: u32) -> (CubeCount, CubeDim) {
    let dim = CubeDim::new_1d(units);
    (calculate_cube_count_elemwise(client, count * units as usize, dim), dim)
}
