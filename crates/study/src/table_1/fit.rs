/// The exponent p of the power law y = c·xᵖ that fits the points best (least squares of the
/// logarithms). Returns `None` if there are not two points with different x, or if a value is not
/// positive.
pub fn exponent(points: &[(f64, f64)]) -> Option<f64> {
    let logs = points.iter().map(|&(x, y)| (x.ln(), y.ln()));
    let logs: Vec<(f64, f64)> = logs.collect();
    if logs.iter().any(|(x, y)| !x.is_finite() || !y.is_finite()) {
        return None;
    }
    let count = logs.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| logs.iter().map(of).sum::<f64>() / count;
    let (x, y) = (mean(|p| p.0), mean(|p| p.1));
    let spread: f64 = logs.iter().map(|p| (p.0 - x).powi(2)).sum();
    let shared: f64 = logs.iter().map(|p| (p.0 - x) * (p.1 - y)).sum();
    (spread > 1e-12).then(|| shared / spread)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_power_law_gives_its_exponent() {
        let law = |power: f64| [16.0, 64.0, 2048.0f64].map(|x| (x, 3.0 * x.powf(power)));
        for power in [0.0, 1.0, 1.15, 2.0] {
            assert!((exponent(&law(power)).unwrap() - power).abs() < 1e-9);
        }
    }

    #[test]
    fn no_line_goes_through_one_point_or_through_zero() {
        assert_eq!(exponent(&[(2.0, 1.0)]), None);
        assert_eq!(exponent(&[(2.0, 1.0), (2.0, 3.0)]), None);
        assert_eq!(exponent(&[(2.0, 0.0), (4.0, 3.0)]), None);
    }
}
