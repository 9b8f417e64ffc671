//! Warnings about pairs of languages with too little text for the others.

use burnformer_data::{MixedPart, TokenizedCorpus};
use burnformer_text::counted;

use crate::config::DataSettings;

/// The smallest number of sentence pairs that is not warned about.
const MIN_PAIRS: usize = 100;
/// The text of a pair is small if another pair has this many times as many sentence pairs.
const MAX_SIZE_RATIO: usize = 100;
/// The number of times that an epoch may draw a sentence pair.
const MAX_REPEATS: f64 = 100.0;

/// Warnings about directions of `data` with little text beside the others, or with sentence pairs
/// that each epoch draws again and again.
pub(crate) fn warnings(train: &TokenizedCorpus, data: &DataSettings) -> Vec<String> {
    let directions = data.directions();
    let parts = train.parts();
    let largest = parts.iter().map(size).max().unwrap_or(0);
    let shares: f64 = parts.iter().map(share).sum();
    let mut warnings = Vec::new();
    for (direction, part) in directions.iter().zip(parts) {
        let [source, target] = &direction.languages;
        let files: Vec<String> = data.pairs[direction.pair]
            .train
            .iter()
            .map(|path| path.display().to_string())
            .collect();
        let files = files.join(", ");
        let size = size(part);
        let pairs = counted(size, "sentence pair");
        let repeats = train.len() as f64 * share(part) / shares / size.max(1) as f64;
        if repeats > MAX_REPEATS {
            warnings.push(format!(
                "warning: {source} → {target} ({files}) has {pairs}, and an epoch draws each of them {repeats:.0} times: \
                 the model memorises them. Add text, or set a lower data.temperature or a lower weight of the pair"
            ));
        } else if size < MIN_PAIRS && size * MAX_SIZE_RATIO < largest {
            warnings.push(format!(
                "warning: {source} → {target} ({files}) has {pairs}, and the largest pair has {largest}: the model learns \
                 nothing from so few. Add text, or leave the pair out"
            ));
        }
    }
    warnings
}

/// Number of sentence pairs.
fn size(part: &MixedPart) -> usize {
    part.pairs.len()
}

/// The part's share of an epoch, relative to the other parts.
fn share(part: &MixedPart) -> f64 {
    part.share(size(part))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::LanguagePair;

    /// The warnings for texts of `sizes` in languages of private use.
    fn found(sizes: &[usize], temperature: f64) -> Vec<String> {
        let corpora = sizes.iter().map(|&size| {
            let pairs = vec![([5_u32], [6_u32]); size];
            (TokenizedCorpus::from_pairs(&pairs), 1.0)
        });
        let train = TokenizedCorpus::by_size(corpora.collect(), temperature);
        let pairs = (b'a'..).zip(sizes).map(|(letter, _)| LanguagePair {
            source: format!("qa{}", char::from(letter)),
            target: "en".into(),
            train: vec![format!("{}.tsv", char::from(letter)).into()],
            valid: vec![],
            test: vec![],
            weight: 1.0,
            both_ways: false,
        });
        let data = DataSettings {
            pairs: pairs.collect(),
            ..DataSettings::default()
        };
        warnings(&train, &data)
    }

    #[test]
    fn texts_of_like_sizes_have_no_warning() {
        assert_eq!(found(&[900, 900, 900], 5.0), [""; 0]);
        assert_eq!(found(&[3, 5, 40], 1.0), [""; 0]);
        assert_eq!(found(&[20_000, 200_000], 5.0), [""; 0]);
    }

    #[test]
    fn a_small_text_is_named_with_its_file() {
        let found = found(&[20_000, 3], 1.0);
        assert_eq!(found.len(), 1, "{found:?}");
        for needle in ["qab → en (b.tsv)", "3 sentence pairs", "has 20000"] {
            assert!(found[0].contains(needle), "{found:?}");
        }
    }

    #[test]
    fn pairs_that_are_drawn_too_often_are_named_with_their_number() {
        let found = found(&[20_000, 3], 5.0);
        assert_eq!(found.len(), 1, "{found:?}");
        // 20,003 × 3^(1/5) / (3^(1/5) + 20,000^(1/5)) / 3
        for needle in ["qab → en", "978 times", "data.temperature"] {
            assert!(found[0].contains(needle), "{found:?}");
        }
    }
}
