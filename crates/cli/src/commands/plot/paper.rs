use anyhow::{Result, ensure};
use burnformer_core::sinusoid;
use burnformer_train::noam;
use burnformer_view::{Axis, Chart, Figure, Series};

use super::output::Output;

/// Arguments of `plot positions`.
#[derive(clap::Args)]
pub struct Positions {
    /// Number of features of an encoding
    #[arg(long, default_value_t = 128)]
    d_model: usize,
    /// Number of positions
    #[arg(long, default_value_t = 100)]
    length: usize,
    /// Features to draw, one curve for each; the even ones are sines, the odd ones cosines
    #[arg(long, value_delimiter = ',', default_values_t = [4, 5, 40, 41])]
    features: Vec<usize>,
    #[command(flatten)]
    output: Output,
}

/// Arguments of `plot schedule`.
#[derive(clap::Args)]
pub struct Schedule {
    /// Widths of the model (d_model), one curve for each
    #[arg(long, value_delimiter = ',', default_values_t = [512, 256, 1024])]
    d_model: Vec<usize>,
    /// Numbers of warm-up updates, one curve for each
    #[arg(long, value_delimiter = ',', default_values_t = [4000, 8000])]
    warmup: Vec<u64>,
    /// Number of updates to draw
    #[arg(long, default_value_t = 20_000)]
    updates: u64,
    #[command(flatten)]
    output: Output,
}

/// Arguments of `plot smoothing`.
#[derive(clap::Args)]
pub struct Smoothing {
    /// Label smoothing ε
    #[arg(long, value_delimiter = ',', default_values_t = [0.1, 0.2, 0.4])]
    epsilon: Vec<f64>,
    /// Number of tokens in the vocabulary
    #[arg(long, default_value_t = 8000)]
    vocab: usize,
    #[command(flatten)]
    output: Output,
}

/// One curve for each feature of the encodings.
pub fn positions(args: Positions) -> Result<()> {
    let Positions { d_model, length, features, output } = args;
    ensure!(d_model > 0 && d_model.is_multiple_of(2), "--d-model {d_model}: it must be even");
    let beyond = features.iter().find(|&&feature| feature >= d_model);
    ensure!(beyond.is_none(), "--features {}: they are below --d-model", beyond.unwrap_or(&0));
    let curve = |&feature: &usize| {
        let value = |position| (position as f64, sinusoid(position, feature, d_model));
        Series::new(format!("feature {feature}"), (0..length).map(value).collect())
    };
    output.save(&Figure::of(Chart {
        title: format!("Sinusoidal positions, d_model {d_model}"),
        x: Axis::linear("position"),
        y: Axis::linear("value"),
        series: features.iter().map(curve).collect(),
    }))
}

/// One curve for each width and each number of warm-up updates.
pub fn schedule(args: Schedule) -> Result<()> {
    const POINTS: u64 = 400;
    let step = (args.updates / POINTS).max(1);
    let mut series = Vec::new();
    for &d_model in &args.d_model {
        for &warmup in &args.warmup {
            let rate = |update| (update as f64, noam(update, d_model, warmup));
            let points = (1..=args.updates).step_by(step as usize).map(rate).collect();
            series.push(Series::new(format!("d_model {d_model}, warm-up {warmup}"), points));
        }
    }
    let title = "Learning rate: linear warm-up, then the inverse root".to_string();
    let (x, y) = (Axis::linear("update t"), Axis::linear("learning rate"));
    args.output.save(&Figure::of(Chart { title, x, y, series }))
}

/// The target probabilities of the right token and of each other token, and the cost of confidence.
pub fn smoothing(args: Smoothing) -> Result<()> {
    for &epsilon in &args.epsilon {
        ensure!((0.0..1.0).contains(&epsilon), "--epsilon {epsilon}: it must be in [0, 1)");
    }
    ensure!(args.vocab >= 2, "--vocab {}: it must be at least 2", args.vocab);
    let name = |epsilon: f64| format!("ε = {epsilon}");
    let target = |&epsilon: &f64| {
        let [right, other] = smoothed_target(epsilon, args.vocab);
        let points =
            (0..10).map(|place| (f64::from(place), if place == 0 { right } else { other }));
        Series::new(name(epsilon), points.collect())
    };
    let loss = |&epsilon: &f64| {
        let odds = (-40..=92).map(|place| 1.0 / (1.0 + (-f64::from(place) / 10.0).exp()));
        let points = odds.map(|p| (1.0 - p, smoothed_loss(epsilon, args.vocab, p)));
        Series::new(name(epsilon), points.collect())
    };
    let targets = Chart {
        title: format!("Target distribution over {} tokens, the right one first", args.vocab),
        x: Axis::linear("piece"),
        y: Axis::log("target probability"),
        series: args.epsilon.iter().map(target).collect(),
    };
    let losses = Chart {
        title: "Loss above its minimum: certainty has a cost".into(),
        x: Axis::log("predicted probability of all other tokens"),
        y: Axis::linear("nats above the minimum"),
        series: args.epsilon.iter().map(loss).collect(),
    };
    args.output.save(&Figure { charts: vec![targets, losses], columns: 2 })
}

/// The probability of the right token, and of each other token, in the smoothed target.
fn smoothed_target(epsilon: f64, vocab: usize) -> [f64; 2] {
    let share = epsilon / vocab as f64;
    [1.0 - epsilon + share, share]
}

/// The cross-entropy of a prediction with the smoothed target, minus the lowest that any prediction
/// has. The prediction gives the right token probability `p` and divides the rest equally among the
/// others.
fn smoothed_loss(epsilon: f64, vocab: usize, p: f64) -> f64 {
    let others = (vocab - 1) as f64;
    let [right, other] = smoothed_target(epsilon, vocab);
    let cross = |p: f64, q: f64| -right * p.ln() - others * other * q.ln();
    cross(p, (1.0 - p) / others) - cross(right, other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smoothed_target_is_a_distribution() {
        for epsilon in [0.0, 0.1, 0.4] {
            let [right, other] = smoothed_target(epsilon, 50);
            let sum = right + 49.0 * other;
            assert!((sum - 1.0).abs() < 1e-12, "{epsilon} {sum}");
        }
    }

    #[test]
    fn the_least_loss_is_at_the_target_and_certainty_costs() {
        let loss = |p| smoothed_loss(0.1, 50, p);
        let [least, _] = smoothed_target(0.1, 50);
        assert!(loss(least).abs() < 1e-12);
        assert!(loss(least - 0.05) > 0.0 && loss(0.999) > loss(0.95));
    }
}
