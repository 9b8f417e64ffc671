//! Texts that are scored.

use burnformer_metrics::{Bleu, BleuTokenizer, Chrf, Metric, References, Ter, WritingSystem};

use crate::{Door, within};

/// The largest amount of memory that a score of a text of a few kilobytes takes.
const MEMORY: usize = 64 << 20;

pub fn doors() -> Vec<Door> {
    let asian = Ter {
        normalized: true,
        no_punct: true,
        asian_support: true,
        case_sensitive: false,
    };
    let mut doors: Vec<Door> = BleuTokenizer::ALL
        .map(|tokenizer| {
            let name = format!("bleu_{}", tokenizer.name());
            let bleu = Bleu {
                tokenizer,
                ..Bleu::default()
            };
            door(&name, bleu)
        })
        .into();
    doors.extend([
        door("chrf", Chrf::plus_plus()),
        door("ter", Ter::default()),
        door("ter_asian", asian),
    ]);
    doors
}

fn door(name: &str, metric: impl Metric + 'static) -> Door {
    Door::of_text(name, move |text| score(&metric, text))
}

/// Scores the first half of the lines against the second.
fn score(metric: &dyn Metric, text: &str) {
    let lines: Vec<&str> = text.split('\n').collect();
    let (hypotheses, references) = lines.split_at(lines.len() / 2);
    WritingSystem::of(hypotheses);
    let streams = [references.to_vec()];
    let references = References::new(&streams);
    let Ok(score) = within(MEMORY, || metric.evaluate(hypotheses, &references)) else {
        return;
    };
    let most = if metric.name() == "TER" {
        f64::MAX
    } else {
        100.0 + 1e-9
    };
    assert!((0.0..=most).contains(&score.value), "{}", score.value);
    assert!(!score.text(2).is_empty());
}
