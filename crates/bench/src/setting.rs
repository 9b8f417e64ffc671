//! The settings in which a side of a comparison runs, and which of them are worth running again.

use crate::peer::{Run, TYPE};

/// A way to run this binary: a number of threads, a batch size.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The name of the setting in reports.
    pub name: String,
    /// The command-line options that choose it.
    pub options: Vec<String>,
}

impl Setting {
    /// All threads: the only setting of benchmarks in which more threads are never slower.
    pub fn all_threads(threads: usize) -> Self {
        let threads = thread_count(threads);
        let options = flat([("--threads", threads.to_string())]);
        Self { name: plural(threads, "thread"), options }
    }
}

/// The number of threads for `--threads`, where 0 means one per core.
pub fn thread_count(threads: usize) -> usize {
    let cores = || std::thread::available_parallelism().map_or(1, usize::from);
    if threads == 0 { cores() } else { threads }
}

/// The divisors of `n`, from 1 up.
pub fn divisors(n: usize) -> Vec<usize> {
    (1..=n).filter(|divisor| n.is_multiple_of(*divisor)).collect()
}

/// The command-line options of `options`, each with one value.
pub fn flat<const N: usize>(options: [(&str, String); N]) -> Vec<String> {
    options.into_iter().flat_map(|(name, value)| [name.to_string(), value]).collect()
}

/// The number of threads in words: `1 thread`, `2 threads`.
pub fn plural(count: usize, what: &str) -> String {
    let end = if count == 1 { "" } else { "s" };
    format!("{count} {what}{end}")
}

/// The runs whose speed is within a quarter of the fastest of their compute type.
pub fn contenders(runs: &[Run]) -> Vec<&Run> {
    let fastest = |kind: &str| {
        let of_type = runs.iter().filter(|run| run.text(TYPE) == kind);
        of_type.map(|run| run.figure).fold(0.0, f64::max)
    };
    runs.iter().filter(|run| run.figure >= 0.75 * fastest(run.text(TYPE))).collect()
}

/// `values` from the smallest to the largest.
pub fn sorted(mut values: Vec<f64>) -> Vec<f64> {
    values.sort_by(f64::total_cmp);
    values
}

/// The median of `sorted` values: the middle one, or the mean of the middle two; NaN if there are none.
pub fn median(sorted: &[f64]) -> f64 {
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => f64::NAN,
        n if n % 2 == 0 => (sorted[middle - 1] + sorted[middle]) / 2.0,
        _ => sorted[middle],
    }
}

#[cfg(test)]
pub mod tests {
    use serde_json::json;

    use super::*;

    /// A run as a peer prints it.
    pub fn run(figure: f64, compute_type: &str, setting: &str) -> Run {
        let fields = json!({ "type": compute_type, "setting": setting, "setting_name": setting });
        Run { figure, peak_bytes: 1, fields }
    }

    #[test]
    fn the_median_is_the_middle() {
        assert_eq!(median(&sorted(vec![3.0, 1.0, 2.0])), 2.0);
        assert_eq!(median(&sorted(vec![4.0, 1.0, 2.0, 3.0])), 2.5);
    }

    #[test]
    fn settings_that_are_far_behind_in_their_type_are_left_out() {
        let runs =
            [run(10.0, "a", "1"), run(7.5, "a", "2"), run(7.4, "a", "3"), run(2.0, "b", "4")];
        let left: Vec<_> = contenders(&runs).into_iter().map(|run| run.text("setting")).collect();
        assert_eq!(left, ["1", "2", "4"]);
    }
}
