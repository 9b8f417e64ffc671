//! What runs on other texts have reached, to compare with the run that begins.

use std::sync::LazyLock;

use burnformer_data::{DataError, TokenizedCorpus};
use serde::Deserialize;

/// A run that was measured; `presets/measured.toml` says what each field is.
#[derive(Deserialize)]
struct MeasuredRun {
    text: String,
    pairs: usize,
    tokens: f64,
    preset: String,
    updates: u64,
    on_the_way: Vec<(u64, f64)>,
    test: f64,
}

#[derive(Deserialize)]
struct Measured {
    run: Vec<MeasuredRun>,
}

static MEASURED: LazyLock<Vec<MeasuredRun>> = LazyLock::new(|| {
    let measured = toml::from_str::<Measured>(include_str!("../../presets/measured.toml"));
    measured.expect("a file of measured runs").run
});

/// Above this factor a text counts as much smaller than another, or its sentences as much longer.
const MUCH: f64 = 3.0;

/// One line about the measured run whose text is most like `corpus`, by the number of its pairs and the length of its
/// target sentences.
///
/// # Errors
/// If the corpus can no longer be read.
pub(crate) fn comparison(corpus: &TokenizedCorpus) -> Result<String, DataError> {
    let (pairs, mut tokens) = (corpus.len().max(1), 0);
    for block in corpus.blocks() {
        tokens += corpus.lengths(block)?.iter().map(|pair| u64::from(pair[1])).sum::<u64>();
    }
    Ok(line(pairs, tokens as f64 / pairs as f64))
}

fn line(pairs: usize, tokens: f64) -> String {
    let run = nearest(pairs, tokens);
    let points: Vec<_> =
        run.on_the_way.iter().map(|(updates, bleu)| format!("{bleu:.0} after {updates}")).collect();
    let on_the_way = match points.is_empty() {
        true => String::new(),
        false => format!(" (on the validation text {})", points.join(", ")),
    };
    let (smaller, longer) = (run.pairs as f64 / pairs as f64, tokens / run.tokens);
    let mut less = String::new();
    if smaller > MUCH {
        less += &format!("; they have {smaller:.0} times as many pairs as this text");
    }
    if longer > MUCH {
        less += &format!("; the sentences of this text are {longer:.0} times as long");
    }
    less += if less.is_empty() { "" } else { ", so expect less" };
    format!(
        "to compare with: {}, {} pairs of {:.0} tokens, reached {:.0} BLEU on their test text after {} updates of the preset \
         {}{on_the_way}{less}",
        run.text, run.pairs, run.tokens, run.test, run.updates, run.preset,
    )
}

fn nearest(pairs: usize, tokens: f64) -> &'static MeasuredRun {
    let distance = |run: &&MeasuredRun| {
        (run.pairs as f64 / pairs as f64).ln().abs() + (run.tokens / tokens.max(1.0)).ln().abs()
    };
    let by_distance = |a: &&MeasuredRun, b: &&MeasuredRun| distance(a).total_cmp(&distance(b));
    MEASURED.iter().min_by(by_distance).expect("there are measured runs")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_compared_with_the_one_most_like_it() {
        for (pairs, tokens, kind) in [
            (160_000, 10.0, "everyday"),
            (29_000, 14.0, "captions"),
            (5_000_000, 30.0, "debates"),
            (1_000_000, 8.0, "everyday"),
            (3_000, 12.0, "captions"),
        ] {
            let line = line(pairs, tokens);
            assert!(line.starts_with(&format!("to compare with: {kind}")), "{line}");
        }
    }

    #[test]
    fn a_smaller_text_or_longer_sentences_let_expect_less() {
        assert!(!line(20_000, 15.0).contains("expect less"));
        let small = line(2_900, 15.0);
        let end = "; they have 10 times as many pairs as this text, so expect less";
        assert!(small.ends_with(end), "{small}");
        let long = line(200_000, 160.0);
        let end = "; the sentences of this text are 4 times as long, so expect less";
        assert!(long.ends_with(end), "{long}");
        let both = line(300, 157.0);
        assert!(
            both.contains("97 times as many pairs") && both.contains("10 times as long"),
            "{both}"
        );
    }

    #[test]
    fn a_text_without_pairs_is_no_division_by_zero() {
        let none = TokenizedCorpus::from_pairs::<Vec<u32>, Vec<u32>>(&[]);
        assert!(comparison(&none).unwrap().starts_with("to compare with: "));
    }
}
