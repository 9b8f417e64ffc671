//! Sentences longer than in training (paper §3.5: sinusoids "may allow the model to extrapolate").

use std::fmt::Write as _;

use burnformer_core::Positions;
use burnformer_train::TrainConfig;

use super::row::plain;
use super::{Row, RowResult};

/// Two runs on the pairs of `config` with at most `longest` tokens per side: one with sinusoidal
/// positions, one with learned positions. Both are measured on the validation text by length: up to
/// `longest` tokens, up to 1.5 · `longest`, up to 2 · `longest`, and longer. Both are trained with
/// `seeds` seeds (at least one).
pub fn extrapolation(config: &TrainConfig, longest: usize, seeds: u64) -> Vec<Row> {
    (0..seeds.max(1))
        .flat_map(|more| of_seed(config, longest, more))
        .collect()
}

/// Both runs with the seed of `config` plus `more`.
fn of_seed(config: &TrainConfig, longest: usize, more: u64) -> [Row; 2] {
    let kinds = [
        ("sinusoidal", Positions::Sinusoidal),
        ("learned", Positions::Learned),
    ];
    let seed = config.training.seed.wrapping_add(more);
    kinds.map(|(name, positions)| {
        let mut config = plain(config);
        config.training.seed = seed;
        config.data.max_source_len = longest;
        config.data.max_target_len = longest;
        config.model.positions = positions;
        let (name, change) = match more {
            0 => (name.to_owned(), format!("{name} positions")),
            more => (
                format!("{name}-{}", more + 1),
                format!("{name} positions, seed {seed}"),
            ),
        };
        Row {
            name,
            change,
            config,
            lengths: vec![longest, longest + longest / 2, 2 * longest],
            paper: None,
        }
    })
}

/// The `results` of [`extrapolation`] as a Markdown table.
pub fn extrapolation_table(results: &[RowResult]) -> String {
    let mut table = String::from(
        "| positions | source pieces | sentences | perplexity | BLEU |\n|---|---|---|---|---|\n",
    );
    for result in results {
        for measure in &result.measures {
            let part = measure
                .longest
                .map_or("more".into(), |longest| format!("to {longest}"));
            writeln!(
                table,
                "| {} | {part} | {} | {:.2} | {:.1} ± {:.1} |",
                result.name, measure.sentences, measure.perplexity, measure.bleu, measure.interval
            )
            .expect("a string takes all");
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn untrainable_rows_are_refused_before_training() {
        let row = |longest| {
            let base = TrainConfig::resolve(Some("tiny"), None, &[]).unwrap();
            extrapolation(&base, longest, 1).remove(1)
        };
        assert!(row(1000).check().is_ok());
        // The preset learns 1,024 positions.
        let refused = row(1200).check().unwrap_err().to_string();
        let said = "row learned (learned positions): model.max_positions is 1024; it must be at least 1201";
        assert!(refused.contains(said), "{refused}");
        let rnn = TrainConfig::resolve(Some("rnn"), None, &[]).unwrap();
        let refused = extrapolation(&rnn, 10, 1)
            .remove(1)
            .check()
            .unwrap_err()
            .to_string();
        assert!(refused.contains("model.positions is"), "{refused}");
    }

    #[test]
    fn both_runs_differ_only_in_positions() {
        let base = TrainConfig::resolve(Some("tiny"), None, &[]).unwrap();
        let rows = extrapolation(&base, 10, 2);
        let names: Vec<&str> = rows.iter().map(|row| row.name.as_str()).collect();
        assert_eq!(
            names,
            ["sinusoidal", "learned", "sinusoidal-2", "learned-2"]
        );
        assert_eq!(
            rows[2].config.training.seed,
            rows[0].config.training.seed + 1
        );
        assert_eq!(rows[0].lengths, [10, 15, 20]);
        let mut learned = rows[1].config.clone();
        assert_eq!(learned.data.max_source_len, 10);
        assert_ne!(learned, rows[0].config);
        learned.model.positions = Positions::Sinusoidal;
        assert_eq!(learned, rows[0].config);
    }
}
