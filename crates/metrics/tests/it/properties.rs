//! Properties of the metrics on generated text.

use burnformer_metrics::{
    Bleu, BleuTokenizer, Bootstrap, Chrf, Metric, References, Smoothing, Ter, as_strs,
};
use proptest::prelude::*;

fn metrics() -> Vec<Box<dyn Metric>> {
    let bleus = BleuTokenizer::ALL.map(|tokenizer| -> Box<dyn Metric> {
        Box::new(Bleu {
            tokenizer,
            ..Bleu::default()
        })
    });
    let asian = Ter {
        normalized: true,
        no_punct: true,
        asian_support: true,
        case_sensitive: false,
    };
    let others: [Box<dyn Metric>; 7] = [
        Box::new(Bleu {
            smoothing: Smoothing::FLOOR,
            lowercase: true,
            ..Bleu::default()
        }),
        Box::new(Bleu {
            smoothing: Smoothing::ADD_K,
            effective_order: true,
            ..Bleu::default()
        }),
        Box::new(Chrf::default()),
        Box::new(Chrf::plus_plus()),
        Box::new(Chrf {
            eps_smoothing: true,
            whitespace: true,
            ..Chrf::plus_plus()
        }),
        Box::new(Ter::default()),
        Box::new(asian),
    ];
    bleus.into_iter().chain(others).collect()
}

/// Lines of common words, so that texts overlap.
fn lines() -> impl Strategy<Value = Vec<String>> {
    let word = prop::sample::select(vec![
        "the",
        "cat",
        "sat",
        "on",
        "3.5",
        "mat.",
        "well-known",
        "it's",
        "z.B.",
        "Öl",
        "我",
    ]);
    let line = prop::collection::vec(word, 4..12).prop_map(|words| words.join(" "));
    prop::collection::vec(line, 1..6)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn identical_text_scores_best(lines in lines()) {
        let references = [lines.clone()];
        for metric in metrics() {
            let score = metric.evaluate(&as_strs(&lines), &References::new(&references)).unwrap();
            let best = if metric.name() != "TER" { 100.0 } else { 0.0 };
            prop_assert!((score.value - best).abs() < 1e-9, "{score}");
        }
    }

    #[test]
    fn scores_lie_between_their_bounds(hypotheses in lines(), references in lines()) {
        let lines = hypotheses.len().min(references.len());
        let streams = [references[..lines].to_vec()];
        for metric in metrics() {
            let score = metric.evaluate(&as_strs(&hypotheses[..lines]), &References::new(&streams)).unwrap();
            let upper = if metric.name() != "TER" { 100.0 + 1e-9 } else { f64::MAX };
            prop_assert!((0.0..=upper).contains(&score.value), "{score}");
        }
    }

    #[test]
    fn the_order_of_sentences_does_not_matter(hypotheses in lines(), references in lines()) {
        let lines = hypotheses.len().min(references.len());
        let (forth, streams) = (hypotheses[..lines].to_vec(), [references[..lines].to_vec()]);
        let back: Vec<_> = forth.iter().rev().cloned().collect();
        let back_streams = [streams[0].iter().rev().cloned().collect::<Vec<_>>()];
        for metric in metrics() {
            let score = metric.evaluate(&as_strs(&forth), &References::new(&streams)).unwrap();
            let reversed = metric.evaluate(&as_strs(&back), &References::new(&back_streams)).unwrap();
            prop_assert!((score.value - reversed.value).abs() < 1e-9, "{score} {reversed}");
        }
    }

    #[test]
    fn any_text_is_scored(hypothesis in any::<String>(), reference in any::<String>(), other in "[ .,'\\-\n0-9a-c\u{a0}]{0,40}") {
        let few = Bootstrap { samples: 3, seed: 1 };
        let hypotheses = [hypothesis.as_str(), &other, ""];
        let references = [vec![reference.as_str(), "", &other], vec![&other, &hypothesis, ""]];
        for metric in metrics() {
            let score = metric.evaluate_with_confidence(&hypotheses, &References::new(&references), few).unwrap();
            prop_assert!(score.value.is_finite() && score.value >= 0.0, "{score}");
        }
    }
}

#[test]
fn empty_lines_are_scored() {
    let references = [vec!["", ""]];
    for metric in metrics() {
        let score = metric
            .evaluate(&["", ""], &References::new(&references))
            .unwrap();
        // chrF with eps smoothing gives 1e-14, in sacreBLEU too.
        assert!(score.value.abs() < 1e-9, "{score}");
    }
}

#[test]
fn a_better_reference_never_lowers_bleu_matches() {
    let (hypotheses, poor, good) = (["a b c d e"], vec!["x y z"], vec!["a b c d e f"]);
    let one = Bleu::default()
        .corpus_score(&hypotheses, std::slice::from_ref(&poor))
        .unwrap();
    let two = Bleu::default()
        .corpus_score(&hypotheses, &[poor, good])
        .unwrap();
    assert!(
        two.counts
            .iter()
            .zip(&one.counts)
            .all(|(two, one)| two >= one)
    );
}
