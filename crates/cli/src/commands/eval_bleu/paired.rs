//! Paired significance tests, printed as by sacreBLEU: the p-value of the difference between the
//! baseline (the first system) and each other system on the same lines.

use anyhow::{Context, Result};
use burnformer_metrics::{
    Bootstrap, Confidence, Metric, PairedResult, RANDOMIZATION, References, Signature,
    approximate_randomization, paired_bootstrap,
};
use serde_json::{Map, Value, json};

use crate::output::print as put;

/// A paired significance test.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Test {
    /// Bootstrap resampling (Koehn, 2004), with intervals
    Bs,
    /// Approximate randomisation (Riezler and Maxwell, 2005)
    Ar,
}

/// Compares each of the other `systems` with the first one, the baseline, by `metric`, with
/// `samples` resamples, or with sacreBLEU's default number if `samples` is `None`.
///
/// # Errors
/// Returns the errors of the metric.
pub fn compare(
    test: Test,
    samples: Option<usize>,
    metric: &dyn Metric,
    systems: &[Vec<&str>],
    references: &References,
) -> Result<Comparison> {
    let counted = systems
        .iter()
        .map(|system| metric.statistics(system, references));
    let counted = counted.collect::<Result<Vec<_>, _>>()?;
    let (baseline, others) = counted.split_first().context("there is no baseline")?;
    let usual = match test {
        Test::Bs => Bootstrap::default(),
        Test::Ar => RANDOMIZATION,
    };
    let trials = Bootstrap {
        samples: samples.unwrap_or(usual.samples),
        ..usual
    };
    let plain = metric.signature(references.count());
    let signature = match test {
        Test::Bs => plain.with_bootstrap(trials.samples, trials.seed),
        Test::Ar => plain.with_randomization(trials.samples, trials.seed),
    };
    let results = others.iter().map(|other| match test {
        Test::Bs => paired_bootstrap(metric, baseline, other, trials),
        Test::Ar => approximate_randomization(metric, baseline, other, trials),
    });
    Ok(Comparison {
        name: metric.name(),
        signature,
        results: results.collect::<Result<_, _>>()?,
    })
}

/// The scores and p-values of all systems by one metric.
pub struct Comparison {
    name: String,
    signature: Signature,
    results: Vec<PairedResult>,
}

impl Comparison {
    /// The score of each system, the baseline first. All but the baseline have a p-value.
    fn sides(&self) -> Vec<(f64, Option<Confidence>, Option<f64>)> {
        self.results
            .first()
            .map(|it: &PairedResult| (it.baseline, it.baseline_confidence, None))
            .into_iter()
            .chain(
                self.results
                    .iter()
                    .map(|it: &PairedResult| (it.system, it.system_confidence, Some(it.p_value))),
            )
            .collect()
    }
}

/// Prints for each metric its signature, the score of the baseline, and the score and p-value of
/// each other system. A `*` marks p-values below 0.05.
///
/// # Errors
/// Returns an error if the output cannot be written.
pub fn print_text(names: &[String], all: &[Comparison], width: usize) -> Result<()> {
    let longest = names
        .iter()
        .map(|name| name.chars().count())
        .max()
        .unwrap_or(0);
    for comparison in all {
        put(format!("{}|{}", comparison.name, comparison.signature))?;
        for (name, (score, confidence, p_value)) in names.iter().zip(comparison.sides()) {
            let interval = confidence
                .map(|c| format!(" ({:.width$} ± {:.width$})", c.mean, c.interval))
                .unwrap_or_default();
            let p_value = p_value
                .map(|p| {
                    let star = if p < 0.05 { "*" } else { "" };
                    format!(" (p = {p:.4}){star}")
                })
                .unwrap_or_default();
            put(format!(
                "  {name:<longest$}  {score:.width$}{interval}{p_value}"
            ))?;
        }
    }
    Ok(())
}

/// Prints a JSON object for each system, as sacreBLEU does with `--format json`.
///
/// # Errors
/// Returns an error if the output cannot be written.
pub fn print_json(names: &[String], all: &[Comparison]) -> Result<()> {
    let systems: Vec<Value> = names
        .iter()
        .enumerate()
        .map(|(index, name): (usize, &String)| {
            let mut object = Map::from_iter([("system".to_owned(), Value::from(name.as_str()))]);
            for comparison in all {
                let (score, confidence, p_value) = comparison.sides()[index];
                let [mean, ci] = [confidence.map(|c| c.mean), confidence.map(|c| c.interval)];
                let value = json!({"score": score, "p_value": p_value, "mean": mean, "ci": ci});
                object.insert(comparison.name.clone(), value);
            }
            Value::Object(object)
        })
        .collect();
    put(serde_json::to_string_pretty(&systems)?)
}
