//! Sampling of the next token of a hypothesis.

use burnformer_core::RandomKey;
use burnformer_kernels::{Top, top_k};
use rand::RngExt;

use crate::settings::Sampling;

/// The number of most probable tokens tried for top-p before the whole vocabulary is sorted.
const NUCLEUS_GUESS: usize = 64;

/// Draws a token from `logits`; −∞ excludes a token. `None` if all tokens are excluded.
///
/// The draw is a function of `key` and the logits alone. `best` is a scratch buffer.
pub(crate) fn draw(
    logits: &[f32],
    sampling: &Sampling,
    key: RandomKey,
    best: &mut Vec<Top>,
) -> Option<u32> {
    let top = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let weight = |logit: f32| (f64::from(logit - top) / sampling.temperature).exp();
    let point = key.rng().random::<f64>();
    if sampling.top_k == 0 && sampling.top_p == 1.0 {
        let all = || (0..).zip(logits).filter(|&(_, &x)| x > f32::NEG_INFINITY);
        return pick(all().map(|(id, &logit)| (id, weight(logit))), point);
    }
    let count = candidates(logits, sampling, &weight, best);
    pick(
        best[..count].iter().map(|&(logit, id)| (id, weight(logit))),
        point,
    )
}

/// Moves the candidates to the front of `best` and returns their number.
fn candidates(
    logits: &[f32],
    sampling: &Sampling,
    weight: &impl Fn(f32) -> f64,
    best: &mut Vec<Top>,
) -> usize {
    if sampling.top_k > 0 {
        top_k(logits, sampling.top_k, best);
        let mass = best.iter().map(|&(logit, _)| weight(logit)).sum();
        return nucleus(best, weight, mass, sampling.top_p).unwrap_or(best.len());
    }
    let mass = logits.iter().map(|&logit| weight(logit)).sum();
    top_k(logits, NUCLEUS_GUESS, best);
    nucleus(best, weight, mass, sampling.top_p).unwrap_or_else(|| {
        top_k(logits, logits.len(), best);
        nucleus(best, weight, mass, sampling.top_p).unwrap_or(best.len())
    })
}

/// The number of entries of `best` with the share `top_p` of `mass`, if there are enough.
fn nucleus(best: &[Top], weight: &impl Fn(f32) -> f64, mass: f64, top_p: f64) -> Option<usize> {
    let mut sum = 0.0;
    let reached = best.iter().position(|&(logit, _)| {
        sum += weight(logit);
        sum >= top_p * mass
    });
    reached.map(|index| index + 1)
}

/// The token at `point`, in `[0, 1)` of the sum of all weights.
fn pick(weights: impl Iterator<Item = (u32, f64)> + Clone, point: f64) -> Option<u32> {
    let target = point * weights.clone().map(|(_, weight)| weight).sum::<f64>();
    let mut sum = 0.0;
    let mut last = None;
    for (id, weight) in weights {
        sum += weight;
        last = Some(id);
        if sum > target {
            break;
        }
    }
    last
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The shares of the tokens among 20,000 draws.
    fn shares(logits: &[f32], sampling: &Sampling) -> Vec<f64> {
        let mut counts = vec![0.0; logits.len()];
        for i in 0..20_000 {
            let id = draw(logits, sampling, RandomKey::new(5).fold(i), &mut Vec::new());
            counts[id.expect("a token") as usize] += 1.0 / 20_000.0;
        }
        counts
    }

    fn near(shares: &[f64], expected: &[f64]) -> bool {
        shares
            .iter()
            .zip(expected)
            .all(|(a, b)| (a - b).abs() < 0.015)
    }

    fn logs(probabilities: &[f32]) -> Vec<f32> {
        probabilities.iter().map(|p| p.ln() + 3.0).collect()
    }

    #[test]
    fn shares_follow_the_probabilities() {
        let logits = logs(&[0.1, 0.2, 0.3, 0.4, 0.0]);
        let shares = shares(&logits, &Sampling::default());
        assert!(near(&shares, &[0.1, 0.2, 0.3, 0.4]), "{shares:?}");
        assert_eq!(shares[4], 0.0);
    }

    #[test]
    fn temperature_is_a_power_of_the_probabilities() {
        let sampling = Sampling {
            temperature: 0.5,
            ..Sampling::default()
        };
        let shares = shares(&logs(&[0.1, 0.2, 0.3, 0.4]), &sampling);
        assert!(
            near(&shares, &[1.0 / 30.0, 4.0 / 30.0, 9.0 / 30.0, 16.0 / 30.0]),
            "{shares:?}"
        );
    }

    #[test]
    fn only_the_top_k_are_drawn() {
        let sampling = Sampling {
            top_k: 2,
            ..Sampling::default()
        };
        let shares = shares(&logs(&[0.1, 0.2, 0.3, 0.4]), &sampling);
        assert!(
            near(&shares, &[0.0, 0.0, 3.0 / 7.0, 4.0 / 7.0]),
            "{shares:?}"
        );
        assert_eq!(shares[..2], [0.0, 0.0]);
    }

    #[test]
    fn only_the_nucleus_is_drawn() {
        let sampling = Sampling {
            top_p: 0.65,
            ..Sampling::default()
        };
        let shares = shares(&logs(&[0.1, 0.2, 0.3, 0.4]), &sampling);
        assert!(
            near(&shares, &[0.0, 0.0, 3.0 / 7.0, 4.0 / 7.0]),
            "{shares:?}"
        );
        assert_eq!(shares[..2], [0.0, 0.0]);
    }

    #[test]
    fn a_nucleus_wider_than_the_guess_is_found() {
        let logits = vec![0.0; 1000];
        let sampling = Sampling {
            top_p: 0.5,
            ..Sampling::default()
        };
        let draws = (0..2000).map(|i| draw(&logits, &sampling, RandomKey::new(i), &mut Vec::new()));
        let highest = draws.map(|id| id.expect("a token")).max().expect("draws");
        assert!((480..500).contains(&highest), "{highest}");
    }

    #[test]
    fn a_draw_uses_the_first_53_bits_of_its_key() {
        for key in (0..100).map(RandomKey::new) {
            let [a, b, ..] = key.block(0);
            let bits = (u64::from(a) << 21) | u64::from(b >> 11);
            assert_eq!(key.rng().random::<f64>(), bits as f64 / (1u64 << 53) as f64);
        }
    }

    #[test]
    fn nothing_allowed_draws_nothing() {
        let logits = [f32::NEG_INFINITY; 3];
        let draw = |sampling| draw(&logits, &sampling, RandomKey::new(0), &mut Vec::new());
        assert_eq!(draw(Sampling::default()), None);
        assert_eq!(
            draw(Sampling {
                top_k: 2,
                ..Sampling::default()
            }),
            None
        );
    }
}
