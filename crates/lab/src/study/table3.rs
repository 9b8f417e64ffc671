//! Table 3 of the paper at any scale: its variations, as ratios of a given base.

use std::fmt::Write as _;

use burnformer_core::Positions;
use burnformer_train::TrainConfig;

use super::row::plain;
use super::{Paper, Row, RowResult};

/// The name of the base, and the prefix of its other seeds.
const BASE: &str = "base";
/// The paper's perplexity and BLEU of its base.
const OF_BASE: (f64, f64) = (4.92, 25.8);
/// Half the width of the 95 % interval of a normal distribution, in standard deviations.
const DEVIATIONS: f64 = 1.96;

/// Changes the configuration and returns the description of the change.
type Variation = fn(&mut TrainConfig) -> String;

/// The rows of the paper besides its base: a name, the change, and the paper's perplexity and BLEU.
/// Each change returns its description.
const CHANGES: [(&str, Variation, (f64, f64)); 18] = [
    // The paper's 1, 4, 16 and 32 heads, as ratios of its 8.
    ("A1", |config| heads(config, 1, 8), (5.29, 24.9)),
    ("A2", |config| heads(config, 1, 2), (5.00, 25.5)),
    ("A3", |config| heads(config, 2, 1), (4.91, 25.8)),
    ("A4", |config| heads(config, 4, 1), (5.01, 25.4)),
    ("B1", |config| key_width(config, 4), (5.16, 25.1)),
    ("B2", |config| key_width(config, 2), (5.01, 25.4)),
    ("C1", |config| depth(config, 1), (6.11, 23.7)),
    ("C2", |config| depth(config, 2), (5.19, 25.3)),
    ("C3", |config| depth(config, 4), (4.88, 25.5)),
    ("C4", |config| width(config, 1), (5.75, 24.5)),
    ("C5", |config| width(config, 4), (4.66, 26.0)),
    ("C6", |config| feed_forward(config, 1), (5.12, 25.4)),
    ("C7", |config| feed_forward(config, 4), (4.75, 26.2)),
    ("D1", |config| dropout(config, 0.0), (5.77, 24.6)),
    ("D2", |config| dropout(config, 0.2), (4.95, 25.5)),
    ("D3", |config| label_smoothing(config, 0.0), (4.67, 25.3)),
    ("D4", |config| label_smoothing(config, 0.2), (5.47, 25.7)),
    ("E1", learned_positions, (4.92, 25.7)),
];

/// The rows of Table 3 around the model of `config`, with sizes in the paper's ratios: (A) heads at
/// constant cost, (B) width of the keys, (C) depth and widths, (D) dropout and label smoothing, (E)
/// learned positions. The last model is measured on the validation text.
///
/// The base is trained with `seeds` seeds (at least one). Their spread estimates the variance of
/// the other rows.
pub fn table3(config: &TrainConfig, seeds: u64) -> Vec<Row> {
    let config = &plain(config);
    let mut rows = bases(config, seeds);
    rows.extend(CHANGES.map(|(name, change, paper)| {
        let mut changed = config.clone();
        let description = change(&mut changed);
        row(name, description, changed, paper)
    }));
    // At a small scale, variations may equal each other or the base.
    let mut seen: Vec<String> = Vec::new();
    rows.retain(|row| {
        let config = row.config.to_toml();
        let new = !seen.contains(&config);
        seen.push(config);
        new
    });
    rows
}

/// The base, and the base from the following seeds.
fn bases(config: &TrainConfig, seeds: u64) -> Vec<Row> {
    let base = row(BASE, String::new(), config.clone(), OF_BASE);
    let again = (1..seeds).map(|more| {
        let mut changed = config.clone();
        let seed = config.training.seed.wrapping_add(more);
        changed.training.seed = seed;
        row(
            &format!("{BASE}-{}", more + 1),
            format!("seed {seed}"),
            changed,
            OF_BASE,
        )
    });
    std::iter::once(base).chain(again).collect()
}

/// Returns whether the row of this name in [`table3`] is the base, with any seed.
pub fn table3_is_base(row: &str) -> bool {
    row.starts_with(BASE)
}

fn heads(config: &mut TrainConfig, times: usize, parts: usize) -> String {
    let heads = (config.model.heads * times / parts).max(1);
    config.model.heads = heads;
    if heads == 1 {
        "1 head".to_owned()
    } else {
        format!("{heads} heads")
    }
}

fn key_width(config: &mut TrainConfig, parts: usize) -> String {
    let model = &mut config.model;
    let width = if model.d_k == 0 {
        model.d_model / model.heads.max(1)
    } else {
        model.d_k
    };
    model.d_k = (width / parts).max(1);
    format!("d_k {}", model.d_k)
}

fn depth(config: &mut TrainConfig, thirds: usize) -> String {
    let model = &mut config.model;
    for layers in [&mut model.encoder_layers, &mut model.decoder_layers] {
        *layers = ((*layers * thirds + 1) / 3).max(1);
    }
    format!("{}+{} layers", model.encoder_layers, model.decoder_layers)
}

fn width(config: &mut TrainConfig, halves: usize) -> String {
    config.model.d_model = (config.model.d_model * halves / 2).max(2);
    format!("d_model {}", config.model.d_model)
}

fn feed_forward(config: &mut TrainConfig, halves: usize) -> String {
    config.model.d_ff = (config.model.d_ff * halves / 2).max(1);
    format!("d_ff {}", config.model.d_ff)
}

fn dropout(config: &mut TrainConfig, rate: f64) -> String {
    config.model.dropout = rate;
    format!("dropout {rate}")
}

fn label_smoothing(config: &mut TrainConfig, share: f64) -> String {
    config.training.label_smoothing = share;
    format!("label smoothing {share}")
}

fn learned_positions(config: &mut TrainConfig) -> String {
    config.model.positions = Positions::Learned;
    "learned positions".into()
}

fn row(name: &str, change: String, config: TrainConfig, (perplexity, bleu): (f64, f64)) -> Row {
    let paper = Some(Paper { perplexity, bleu });
    Row {
        name: name.into(),
        change,
        config,
        lengths: Vec::new(),
        paper,
    }
}

/// The difference between the BLEU of row `name` and the mean of the bases, and half the width of
/// its 95 % interval. The interval comes from the bootstrap intervals of both and the spread of the
/// base's seeds. Returns `None` if the row or the base is unfinished, or if the row is the base.
fn difference(results: &[RowResult], name: &str) -> Option<(f64, f64)> {
    let (bleu, interval) = measure(results.iter().find(|result| result.name == name)?)?;
    let bases: Vec<(f64, f64)> = results
        .iter()
        .filter(|result| table3_is_base(&result.name))
        .filter_map(measure)
        .collect();
    if bases.is_empty() || table3_is_base(name) {
        return None;
    }
    let count = bases.len() as f64;
    let mean = bases.iter().map(|(bleu, _)| bleu).sum::<f64>() / count;
    let mean_interval = bases.iter().map(|(_, interval)| interval).sum::<f64>() / count;
    let squares: f64 = bases.iter().map(|(bleu, _)| (bleu - mean).powi(2)).sum();
    // The row has one seed, the mean has `count`.
    let seeds = (squares / (count - 1.0).max(1.0) * (1.0 + 1.0 / count)).sqrt() * DEVIATIONS;
    Some((bleu - mean, interval.hypot(mean_interval).hypot(seeds)))
}

/// The BLEU of the first part of `result`, and its interval.
fn measure(result: &RowResult) -> Option<(f64, f64)> {
    result.measures.first().map(|it| (it.bleu, it.interval))
}

/// The `results` of the finished `rows` as a Markdown table beside the paper's results.
pub fn table3_table(rows: &[Row], results: &[RowResult]) -> String {
    let mut table = String::from(
        "| row | change | parameters | updates | perplexity | BLEU | the paper's | the paper's change | here |\n\
         |---|---|---|---|---|---|---|---|---|\n",
    );
    for row in rows {
        let result = results.iter().find(|result| result.name == row.name);
        let (Some(result), Some(paper)) = (result, row.paper) else {
            continue;
        };
        let Some(measure) = result.measures.first() else {
            continue;
        };
        let paper_change = paper.bleu - OF_BASE.1;
        let here = difference(results, &row.name);
        let here = here.map_or(String::new(), |(bleu, interval)| {
            verdict(paper_change, bleu, interval)
        });
        let Row { name, change, .. } = row;
        let updates = result.updates;
        let millions = result.parameters as f64 / 1e6;
        let ppl = measure.perplexity;
        let bleu = measure.bleu;
        let interval = measure.interval;
        let Paper {
            perplexity,
            bleu: paper,
            ..
        } = paper;
        writeln!(
            table,
            "| {name} | {change} | {millions:.2}M | {updates} | {ppl:.2} | {bleu:.1} ± {interval:.1} \
             | {perplexity:.2}, {paper:.1} | {paper_change:+.1} | {here} |"
        )
        .expect("a string takes all");
    }
    table
}

/// Our change of BLEU and, if it exceeds the interval, whether it agrees with the paper.
fn verdict(paper: f64, ours: f64, interval: f64) -> String {
    let word = match (ours.abs() > interval, ours * paper) {
        _ if ours == 0.0 && paper == 0.0 => return String::new(),
        (false, _) => "within the interval",
        (true, product) if product > 0.0 => "the paper's way",
        (true, product) if product < 0.0 => "the other way",
        (true, _) => "the paper's unchanged",
    };
    format!("{ours:+.1}, {word}")
}

#[cfg(test)]
mod tests {
    use super::super::Measure;
    use burnformer_core::TransformerConfig;
    use burnformer_data::SpecialIds;

    use super::*;

    fn base(preset: &str) -> TrainConfig {
        TrainConfig::resolve(Some(preset), None, &[]).unwrap()
    }

    #[test]
    fn varied_rows_match_table_3() {
        let rows = table3(&base("base"), 1);
        let changes: Vec<&str> = rows.iter().map(|row| row.change.as_str()).collect();
        assert_eq!(
            changes,
            [
                "",
                "1 head",
                "4 heads",
                "16 heads",
                "32 heads",
                "d_k 16",
                "d_k 32",
                "2+2 layers",
                "4+4 layers",
                "8+8 layers",
                "d_model 256",
                "d_model 1024",
                "d_ff 1024",
                "d_ff 4096",
                "dropout 0",
                "dropout 0.2",
                "label smoothing 0",
                "label smoothing 0.2",
                "learned positions",
            ]
        );
        let vocab = 37_000;
        let base = TransformerConfig::base(vocab);
        let narrow = TransformerConfig {
            d_k: 16,
            ..base.clone()
        };
        assert_eq!(count(&rows[5]), narrow.parameter_count());
        let deep = TransformerConfig {
            encoder_layers: 8,
            decoder_layers: 8,
            ..base.clone()
        };
        assert_eq!(count(&rows[9]), deep.parameter_count());
        let wide = base.with_width(1024, 8);
        assert_eq!(count(&rows[11]), wide.parameter_count());
    }

    fn count(row: &Row) -> usize {
        let model = row.config.model.over([37_000; 2], SpecialIds::OURS);
        model.parameter_count()
    }

    #[test]
    fn every_row_of_every_scale_is_a_model_and_no_two_are_the_same() {
        for preset in ["tiny", "small", "base"] {
            let rows = table3(&base(preset), 3);
            for row in &rows {
                row.config
                    .model
                    .over([900; 2], SpecialIds::OURS)
                    .validate()
                    .unwrap();
                row.check().unwrap();
                let same = rows.iter().filter(|other| other.config == row.config);
                assert_eq!(same.count(), 1, "{preset} {}", row.name);
            }
        }
    }

    fn result(row: &Row, bleu: f64) -> RowResult {
        RowResult {
            name: row.name.clone(),
            change: row.change.clone(),
            parameters: 1_500_000,
            updates: 10,
            seconds: 1.0,
            measures: vec![Measure {
                longest: None,
                sentences: 100,
                perplexity: 9.5,
                bleu,
                interval: 1.0,
                signature: String::new(),
            }],
            config: String::new(),
        }
    }

    #[test]
    fn the_table_has_the_direction_of_each_row() {
        let rows = table3(&base("tiny"), 1);
        let results = [
            result(&rows[0], 20.0),
            result(&rows[1], 17.0),
            result(&rows[2], 20.4),
        ];
        let table = table3_table(&rows, &results);
        assert_eq!(table.lines().count(), 5, "{table}");
        assert!(table.contains("17.0 ± 1.0"), "{table}");
        assert!(table.contains("-3.0, the paper's way"), "{table}");
        assert!(table.contains("+0.4, within the interval"), "{table}");
    }

    /// The bases 19, 20 and 21 have the mean 20 and the standard deviation 1.
    #[test]
    fn the_interval_of_a_change_includes_the_seed() {
        let rows = table3(&base("tiny"), 3);
        assert_eq!(
            rows[1].config.training.seed,
            rows[0].config.training.seed + 1
        );
        let results = [(0, 19.0), (1, 20.0), (2, 21.0), (3, 17.0)];
        let results = results.map(|(row, bleu)| result(&rows[row], bleu));
        let (bleu, interval) = difference(&results, &rows[3].name).unwrap();
        let expected = (2.0 + 1.96f64.powi(2) * (4.0 / 3.0)).sqrt();
        assert_eq!(bleu, -3.0);
        assert!((interval - expected).abs() < 1e-9, "{interval} {expected}");
        assert_eq!(difference(&results, "base-2"), None);
        let one_seed = [&results[1], &results[3]].map(Clone::clone);
        let (_, interval) = difference(&one_seed, &rows[3].name).unwrap();
        assert!((interval - 2f64.sqrt()).abs() < 1e-9, "{interval}");
        assert!(table3_table(&rows, &results).contains("-3.0, the paper's way"));
    }
}
