//! Float32 rounded to bfloat16, in pairs: the first number in the low half of 32 bits, the second
//! in the high half.

use super::portable::{self, PairedLhs};
#[cfg(target_arch = "x86_64")]
use super::x86;
use crate::linear::cpu::panels::Slot;

/// Writes `row` to `out` as pairs of neighbouring numbers. An odd last number is paired with 0, and
/// `out` becomes 0 beyond the row.
pub(super) fn neighbours(row: &[f32], out: &mut [u32]) {
    #[cfg(target_arch = "x86_64")]
    if x86::is_available() {
        // SAFETY: `is_available` found the instructions.
        return unsafe { x86::neighbours(row, out) };
    }
    portable::neighbours(row, out);
}

/// Writes `rows` to `out` in pairs.
pub(super) fn interleaved(rows: PairedLhs, out: &mut [Slot]) {
    #[cfg(target_arch = "x86_64")]
    if x86::is_available() {
        // SAFETY: `is_available` found the instructions.
        return unsafe { x86::interleaved(rows, out) };
    }
    portable::interleaved(rows, out);
}

#[cfg(test)]
mod tests {
    use super::super::portable::rounded;
    use super::*;
    use crate::linear::cpu::panels::{LINE, slots};

    /// Every exponent with fractions around the midpoint of two bfloat16.
    #[test]
    fn rounding_is_to_nearest_ties_to_even_and_flushes_subnormals() {
        let fractions = [
            0, 1, 0x7fff, 0x8000, 0x8001, 0x1_7fff, 0x1_8000, 0x1_8001, 0x7f_ffff,
        ];
        for high in 0..0x200u32 {
            for fraction in fractions {
                let x = f32::from_bits((high << 23) | fraction);
                let actual = f32::from_bits(rounded(x));
                if x.is_nan() {
                    assert!(actual.is_nan(), "{x}");
                } else if x.is_subnormal() {
                    assert_eq!(actual.to_bits(), 0f32.copysign(x).to_bits());
                } else if x.is_finite() {
                    let below = f32::from_bits(x.to_bits() & 0xffff_0000);
                    let step = 2f64.powi((high & 0xff) as i32 - 127 - 7);
                    let above = f64::from(below) + step.copysign(f64::from(x));
                    let distances = [f64::from(below), above].map(|y| (f64::from(x) - y).abs());
                    let even = (below.to_bits() >> 16) & 1 == 0;
                    let is_below =
                        distances[0] < distances[1] || distances[0] == distances[1] && even;
                    let expected = if is_below { below } else { above as f32 };
                    assert_eq!(actual.to_bits(), expected.to_bits(), "{x:e}");
                } else {
                    assert_eq!(actual, x);
                }
            }
        }
    }

    /// Number `i` of the row, rounded, or 0 beyond its end.
    fn at(row: &[f32], i: usize) -> u32 {
        row.get(i).map_or(0, |&x| rounded(x))
    }

    #[test]
    fn every_instruction_set_rounds_alike() {
        use rand::Rng;
        let mut random = crate::random::RandomKey::new(1).rng();
        for count in [0usize, 1, 2, 15, 16, 17, 31, 32, 33, 100] {
            let low: Vec<f32> = (0..count)
                .map(|_| f32::from_bits(random.next_u32()))
                .collect();
            let high: Vec<f32> = (0..count)
                .map(|_| f32::from_bits(random.next_u32()))
                .collect();
            let mut out = vec![7; count.div_ceil(2) + 1];
            for run in [neighbours, portable::neighbours] {
                run(&low, &mut out);
                for (i, &pair) in out.iter().enumerate() {
                    assert_eq!(pair, at(&low, 2 * i) >> 16 | at(&low, 2 * i + 1));
                }
            }
            // Two pairs of rows, the last one without its second row.
            let rows = [low.clone(), high.clone(), high.clone()].concat();
            let pair_words = 2 * LINE * count.div_ceil(LINE);
            for run in [interleaved, portable::interleaved] {
                let mut lines = vec![7; 2 * pair_words];
                let apart = [pair_words, 2 * LINE];
                let rows = PairedLhs {
                    rows: &rows,
                    width: count,
                    columns: 0..count,
                    apart,
                };
                run(rows, slots(&mut lines));
                for (i, line) in lines[..pair_words].chunks(LINE).step_by(2).enumerate() {
                    for (lane, &pair) in line.iter().enumerate() {
                        let i = i * LINE + lane;
                        assert_eq!(pair, at(&low, i) >> 16 | at(&high, i));
                    }
                }
                for (i, line) in lines[pair_words..].chunks(LINE).step_by(2).enumerate() {
                    for (lane, &pair) in line.iter().enumerate() {
                        assert_eq!(pair, at(&high, i * LINE + lane) >> 16);
                    }
                }
            }
        }
    }
}
