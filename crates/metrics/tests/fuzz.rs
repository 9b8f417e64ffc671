//! Hostile text through every metric: a score or a typed error, never a panic or memory without
//! bound.

#[path = "../../../tests/fuzz/mod.rs"]
mod fuzz;

use burnformer_metrics::{Bleu, BleuTokenizer, Chrf, Metric, References, Ter};
use fuzz::{damaged, within};
use proptest::prelude::*;

#[global_allocator]
static ALLOCATOR: fuzz::Counting = fuzz::Counting;

const TEXT: &str = "The cat sat on the mat.\nthe cat, the dog &amp; it's 3.5 %\n中文 かな ﷽ 😀\n\n\
                    A-B c'd e...f <skipped> 1,000.00$\nDonaudampfschifffahrt z.B. usw.\n";

/// The first half of the lines is scored against the second.
fn score_text(bytes: &[u8]) {
    score_within(64 << 20, bytes);
}

fn score_within(limit: usize, bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let lines: Vec<&str> = text.split('\n').collect();
    let (hypotheses, references) = lines.split_at(lines.len() / 2);
    let asian = Ter {
        normalized: true,
        no_punct: true,
        asian_support: true,
        case_sensitive: false,
    };
    let bleus = BleuTokenizer::ALL.map(|tokenizer| -> Box<dyn Metric> {
        Box::new(Bleu {
            tokenizer,
            ..Bleu::default()
        })
    });
    let others: [Box<dyn Metric>; 3] = [
        Box::new(Chrf::plus_plus()),
        Box::new(Ter::default()),
        Box::new(asian),
    ];
    let streams = [references.to_vec()];
    let references = References::new(&streams);
    for metric in bleus.into_iter().chain(others) {
        let score = within(limit, || metric.evaluate(hypotheses, &references));
        let Ok(score) = score else { continue };
        let most = if metric.name() != "TER" {
            100.0 + 1e-9
        } else {
            f64::MAX
        };
        assert!(
            (0.0..=most).contains(&score.value),
            "{} {}",
            metric.name(),
            score.value
        );
        assert!(!score.text(2).is_empty());
    }
}

fn text() -> impl Strategy<Value = Vec<u8>> {
    let mark = prop::sample::select(vec![
        " ", ".", "&lt;", "\u{2028}", "\0", "«", "ﷺ", "が", "9,9", "a-", "'s",
    ]);
    prop_oneof![
        damaged(TEXT.into()),
        prop::collection::vec(any::<char>(), 0..80).prop_map(|c| String::from_iter(c).into_bytes()),
        prop::collection::vec(mark, 0..60)
            .prop_map(|m| (m.concat() + "\n" + &m.concat()).into_bytes()),
    ]
}

crate::fuzz_test!(metric_text, text(), score_text);

/// One line of some thousand words.
fn score_long(bytes: &[u8]) {
    let line = String::from_utf8_lossy(bytes).replace('\n', " ").repeat(20);
    score_within(300 << 20, format!("{line}\n{line} x").as_bytes());
}

#[test]
fn long_lines_are_scored() {
    fuzz::fuzz("metric_long", 20, text(), score_long);
}
