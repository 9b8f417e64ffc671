//! NumPy's default random number generator, which sacreBLEU uses for resampling.
//!
//! `numpy.random.default_rng(seed)` is PCG64 (O'Neill, 2014; XSL-RR on 128 bits) seeded through
//! `SeedSequence`. `choice` and `integers` use the halves of its 64-bit outputs. NumPy keeps these
//! streams stable across releases.

const MULTIPLIER: u128 = 0x2360_ed05_1fc6_5da4_4385_df64_9fcc_f645;

/// `numpy.random.default_rng(seed)`.
#[derive(Debug, Clone)]
pub(crate) struct NumpyRng {
    state: u128,
    increment: u128,
    /// The high half of the last 64 bits, if only the low half has been used.
    half: Option<u32>,
}

impl NumpyRng {
    pub(crate) fn new(seed: u64) -> Self {
        let words = seed_sequence(seed).map(u128::from);
        let mut rng = Self {
            state: 0,
            increment: (words[2] << 64 | words[3]) << 1 | 1,
            half: None,
        };
        rng.step();
        rng.state = rng.state.wrapping_add(words[0] << 64 | words[1]);
        rng.step();
        rng
    }

    fn step(&mut self) {
        self.state = self
            .state
            .wrapping_mul(MULTIPLIER)
            .wrapping_add(self.increment);
    }

    fn next_u64(&mut self) -> u64 {
        self.step();
        let folded = (self.state >> 64) as u64 ^ self.state as u64;
        folded.rotate_right((self.state >> 122) as u32)
    }

    pub(crate) fn next_u32(&mut self) -> u32 {
        if let Some(half) = self.half.take() {
            return half;
        }
        let word = self.next_u64();
        self.half = Some((word >> 32) as u32);
        word as u32
    }

    /// Random bits as from `Generator.integers(2, dtype=bool)`: the bits of 32-bit words, lowest
    /// first.
    pub(crate) fn bits(mut self) -> impl Iterator<Item = bool> {
        std::iter::repeat_with(move || self.next_u32())
            .flat_map(|word| (0..32).map(move |bit| word >> bit & 1 == 1))
    }

    /// Returns a random whole number below `bound` (Lemire, 2019), as `Generator.choice` and
    /// `integers` compute it for bounds up to 2^32.
    pub(crate) fn below(&mut self, bound: u32) -> u32 {
        assert!(bound > 0, "nothing is below {bound}");
        if bound == 1 {
            return 0;
        }
        let threshold = bound.wrapping_neg() % bound;
        loop {
            let product = u64::from(self.next_u32()) * u64::from(bound);
            if product as u32 >= threshold {
                return (product >> 32) as u32;
            }
        }
    }
}

/// `SeedSequence(seed).generate_state(4, uint64)`.
fn seed_sequence(seed: u64) -> [u64; 4] {
    let mut pool = mixed_pool([seed as u32, (seed >> 32) as u32, 0, 0]);
    let mut factor = 0x8b51_f9dd_u32;
    let mut state = [0; 4];
    for word in &mut state {
        let low = hash(pool[0], &mut factor, 0x58f3_8ded);
        let high = hash(pool[1], &mut factor, 0x58f3_8ded);
        *word = u64::from(low) | u64::from(high) << 32;
        pool.rotate_left(2);
    }
    state
}

fn mixed_pool(entropy: [u32; 4]) -> [u32; 4] {
    let mut factor = 0x43b0_d7e5_u32;
    let mut pool = entropy.map(|value| hash(value, &mut factor, 0x931e_8875));
    for from in 0..4 {
        for to in (0..4).filter(|&to| to != from) {
            let hashed = hash(pool[from], &mut factor, 0x931e_8875);
            let mixed = pool[to]
                .wrapping_mul(0xca01_f9dd)
                .wrapping_sub(hashed.wrapping_mul(0x4973_f715));
            pool[to] = mixed ^ mixed >> 16;
        }
    }
    pool
}

/// Hashes `value` and multiplies `factor` by `multiplier`.
fn hash(value: u32, factor: &mut u32, multiplier: u32) -> u32 {
    let value = value ^ *factor;
    *factor = factor.wrapping_mul(multiplier);
    let value = value.wrapping_mul(*factor);
    value ^ value >> 16
}

#[cfg(test)]
mod tests {
    use super::*;

    // Expected numbers: numpy 2.4.6, np.random.default_rng(12345).choice(…) and .integers(…).
    #[test]
    fn choices_match_numpy() {
        let mut rng = NumpyRng::new(12345);
        assert_eq!(
            (0..12).map(|_| rng.below(10)).collect::<Vec<_>>(),
            CHOICE_10
        );
        let mut rng = NumpyRng::new(u64::MAX - 1);
        assert_eq!(
            (0..4).map(|_| rng.below(3_000_000_000)).collect::<Vec<_>>(),
            CHOICE_BIG
        );
    }

    #[test]
    fn bits_match_numpy() {
        let bits = NumpyRng::new(12345).bits();
        let drawn: String = bits
            .take(70)
            .map(|bit| if bit { '1' } else { '0' })
            .collect();
        assert_eq!(drawn, BITS);
    }

    const CHOICE_10: [u32; 12] = [6, 2, 7, 3, 2, 7, 6, 6, 9, 3, 8, 3];
    const CHOICE_BIG: [u32; 4] = [2886623553, 2132017180, 2975490557, 23839252];
    const BITS: &str = "1011100110000011111111110100110110110001100011010100110001011100011110";
}
