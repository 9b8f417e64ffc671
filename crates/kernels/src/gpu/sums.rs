// `#[cube]` gives each function a module of its name, which has no documentation.
#![allow(missing_docs)]

use cubecl::prelude::*;

/// Returns to every unit of a cube the sums of `one` and of `other` over all its units. The numbers
/// are added in a fixed order; `units` is the number of units of the cube, a power of two.
#[cube]
pub fn sums_of_units(one: f32, other: f32, #[comptime] units: usize) -> (f32, f32) {
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
    // The next call must not write before every unit has read.
    sync_cube();
    sums
}
