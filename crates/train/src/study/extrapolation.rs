//! Sentences longer than those in training (paper §3.5: sinusoids "may allow the model to extrapolate").

use std::fmt::Write as _;

use burnformer_core::Positions;

use super::{Row, RowResult};
use crate::config::TrainConfig;

/// Two runs on those pairs of `config` whose sides have at most `longest` tokens, one with sinusoidal and one with
/// learned positions. Each is measured on the validation text by length: up to `longest` tokens, up to 1.5 times as
/// many, up to twice as many, and longer.
pub fn extrapolation(config: &TrainConfig, longest: usize) -> Vec<Row> {
    let row = |name: &str, positions| {
        let mut config = config.clone();
        config.data.max_source_len = longest;
        config.data.max_target_len = longest;
        config.model.transformer.positions = positions;
        config.validation.every = 0;
        config.validation.bleu = false;
        config.checkpoints.average = 0;
        config.checkpoints.keep = 1;
        let change = format!("{name} positions");
        let lengths = vec![longest, longest + longest / 2, 2 * longest];
        Row { name: name.into(), change, config, lengths, paper: None }
    };
    vec![row("sinusoidal", Positions::Sinusoidal), row("learned", Positions::Learned)]
}

/// The `results` of [`extrapolation`] as a Markdown table.
pub fn extrapolation_table(results: &[RowResult]) -> String {
    let mut table = String::from(
        "| positions | source pieces | sentences | perplexity | BLEU |\n|---|---|---|---|---|\n",
    );
    for result in results {
        for own in &result.measures {
            let part = own.longest.map_or("more".into(), |longest| format!("to {longest}"));
            writeln!(
                table,
                "| {} | {part} | {} | {:.2} | {:.1} ± {:.1} |",
                result.name, own.sentences, own.perplexity, own.bleu, own.interval
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
    fn both_runs_see_short_sentences_and_differ_in_positions_alone() {
        let base = TrainConfig::resolve(Some("tiny"), None, &[]).unwrap();
        let rows = extrapolation(&base, 10);
        assert_eq!(rows[0].lengths, [10, 15, 20]);
        let mut learned = rows[1].config.clone();
        assert_eq!(learned.data.max_source_len, 10);
        assert_ne!(learned, rows[0].config);
        learned.model.transformer.positions = Positions::Sinusoidal;
        assert_eq!(learned, rows[0].config);
    }
}
