//! Loops over array elements that stay in registers.

/// Repeats a statement for 0 up to a constant minus 1 (at most 7) without a loop, so that the array
/// elements that it uses stay in registers. (A closure would be compiled without the instructions
/// of the function around it.)
macro_rules! unrolled {
    ($i:ident < $count:ident: $body:expr) => {
        unrolled!($i < $count: $body; 0 1 2 3 4 5 6 7)
    };
    ($i:ident < $count:ident: $body:expr; $($number:literal)*) => {
        const { assert!($count <= 8) };
        $(if $number < $count {
            let $i = $number;
            $body
        })*
    };
}

pub(super) use unrolled;
