//! The work of a metric grows with the length of its texts: `cargo xtask growth`.

#![cfg(unix)]

#[path = "../../../tests/growth/mod.rs"]
mod growth;

use burnformer_metrics::{Bleu, BleuTokenizer, Chrf, Metric, References, Ter, WritingSystem};
use growth::{PIECES, grows_in_proportion};

/// Scores `text` as one line against its parts in another order, and as many lines.
fn score(metric: &dyn Metric, text: &str) {
    let line = text.replace('\n', " ");
    let middle = line.floor_char_boundary(line.len() / 3);
    let other = format!("x {} {}", &line[middle..], &line[..middle]);
    let references = [vec![other.as_str()], vec!["a b . c"]];
    let _ = metric.evaluate(&[&line], &References::new(&references));
    let lines: Vec<&str> = text.split('\n').collect();
    let references = [lines.clone()];
    let _ = metric.evaluate(&lines, &References::new(&references));
}

#[test]
#[ignore = "counts steps: cargo xtask growth"]
fn bleu() {
    for tokenizer in BleuTokenizer::ALL {
        let bleu = Bleu {
            tokenizer,
            ..Bleu::default()
        };
        grows_in_proportion(&format!("BLEU, {}", tokenizer.name()), PIECES, |text| {
            score(&bleu, text)
        });
    }
}

#[test]
#[ignore = "counts steps: cargo xtask growth"]
fn chrf() {
    let chrf = Chrf::plus_plus();
    grows_in_proportion("chrF++", PIECES, |text| score(&chrf, text));
}

#[test]
#[ignore = "counts steps: cargo xtask growth"]
fn ter() {
    let asian = Ter {
        normalized: true,
        no_punct: true,
        asian_support: true,
        case_sensitive: false,
    };
    grows_in_proportion("TER, tokenisers", PIECES, |text| {
        // A reference without words takes no edits.
        for ter in [&asian, &Ter::default()] {
            let _ = ter.evaluate(&[text], &References::new(&[vec![""]]));
        }
    });
    grows_in_proportion("TER", PIECES, |text| score(&Ter::default(), text));
}

#[test]
#[ignore = "counts steps: cargo xtask growth"]
fn writing_systems() {
    grows_in_proportion("the writing system", PIECES, |text| {
        WritingSystem::of(&[text]);
    });
}
