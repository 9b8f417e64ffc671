//! Two systems on the same lines: how probable their difference is if it is due to chance, as
//! sacreBLEU prints it.

use anyhow::Result;
use burnformer_metrics::{
    Bootstrap, Confidence, Metric, PairedResult, RANDOMIZATION, References, Signature,
    approximate_randomization, paired_bootstrap,
};
use serde_json::{Map, Value, json};

use crate::output::print as put;

/// A test of significance over pairs of lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Test {
    /// Bootstrap resampling (Koehn, 2004), with intervals
    Bs,
    /// Approximate randomisation (Riezler and Maxwell, 2005)
    Ar,
}

/// How two systems are compared.
pub struct Paired {
    test: Test,
    trials: Bootstrap,
}

impl Paired {
    /// `test` with `trials`, or as many as sacreBLEU makes.
    pub fn new(test: Test, trials: Option<usize>) -> Self {
        let usual = match test {
            Test::Bs => Bootstrap::default(),
            Test::Ar => RANDOMIZATION,
        };
        Self { test, trials: Bootstrap { samples: trials.unwrap_or(usual.samples), ..usual } }
    }

    /// The comparison of two systems by `metric`.
    ///
    /// # Errors
    /// Those of the metric.
    pub fn compare(
        &self,
        metric: &dyn Metric,
        [baseline, system]: [&[&str]; 2],
        references: &References,
    ) -> Result<Comparison> {
        let [baseline, system] =
            [metric.statistics(baseline, references)?, metric.statistics(system, references)?];
        let (name, plain) = (metric.name(), metric.signature(references.count()));
        let Bootstrap { samples, seed } = self.trials;
        let (result, signature) = match self.test {
            Test::Bs => (
                paired_bootstrap(metric, &baseline, &system, self.trials)?,
                plain.with_bootstrap(samples, seed),
            ),
            Test::Ar => (
                approximate_randomization(metric, &baseline, &system, self.trials)?,
                plain.with_randomization(samples, seed),
            ),
        };
        Ok(Comparison { name, signature, result })
    }
}

/// Two systems by one metric.
pub struct Comparison {
    name: String,
    signature: Signature,
    result: PairedResult,
}

impl Comparison {
    /// The scores of the baseline and of the system, the second with its probability.
    fn sides(&self) -> [(f64, Option<Confidence>, Option<f64>); 2] {
        let PairedResult { baseline, system, p_value, baseline_confidence, system_confidence } =
            self.result;
        [(baseline, baseline_confidence, None), (system, system_confidence, Some(p_value))]
    }
}

/// Prints the metrics' lines: signature, baseline, and system with its p-value, which has a `*`
/// below 0.05.
pub fn print_text(names: &[String; 2], all: &[Comparison], width: usize) -> Result<()> {
    let longest = names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
    for comparison in all {
        put(format!("{}|{}", comparison.name, comparison.signature))?;
        for (name, (score, confidence, p_value)) in names.iter().zip(comparison.sides()) {
            let interval = confidence
                .map(|c| format!(" ({:.width$} ± {:.width$})", c.mean, c.interval))
                .unwrap_or_default();
            let star = |p| if p < 0.05 { "*" } else { "" };
            let p_value = p_value.map(|p| format!(" (p = {p:.4}){}", star(p))).unwrap_or_default();
            put(format!("  {name:<longest$}  {score:.width$}{interval}{p_value}"))?;
        }
    }
    Ok(())
}

/// Prints what sacreBLEU prints for `--format json`: an object for each system.
pub fn print_json(names: &[String; 2], all: &[Comparison]) -> Result<()> {
    let object = |(place, name): (usize, &String)| {
        let mut object = Map::from_iter([("system".to_owned(), Value::from(name.as_str()))]);
        for comparison in all {
            let (score, confidence, p_value) = comparison.sides()[place];
            let [mean, ci] = [confidence.map(|c| c.mean), confidence.map(|c| c.interval)];
            let value = json!({"score": score, "p_value": p_value, "mean": mean, "ci": ci});
            object.insert(comparison.name.clone(), value);
        }
        Value::Object(object)
    };
    let systems: Vec<Value> = names.iter().enumerate().map(object).collect();
    put(serde_json::to_string_pretty(&systems)?)
}
