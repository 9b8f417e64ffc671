//! The data and the settings of a checkpoint, and the changes that a resumed run may make.

use serde::{Deserialize, Serialize};
use toml::Table;

use crate::config::{EarlyStoppingMetric, TrainConfig, entries, is_fixed, within};
use crate::run::{Corpora, ValidationText};

/// SHA-256 hashes of a run's data, in hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// The hash of the tokenised training text.
    pub train: String,
    /// The hash of the tokenised validation text, if there is one.
    pub valid: Option<String>,
    /// The hashes of the tokenisers: source, target.
    pub tokenizers: [String; 2],
}

impl Origin {
    /// The hashes of `corpora`.
    pub fn of(corpora: &Corpora) -> Self {
        let tokenizers = &corpora.tokenizers;
        Self {
            train: corpora.train.hash(),
            valid: hash_of(&corpora.valid),
            tokenizers: [tokenizers.source.hash(), tokenizers.target.hash()],
        }
    }
}

/// The hashes of the validation texts.
fn hash_of(texts: &[ValidationText]) -> Option<String> {
    let hashes: Vec<String> = texts.iter().map(|text| text.corpus.hash()).collect();
    (!hashes.is_empty()).then(|| hashes.join(" "))
}

/// The setting that must stay if the loss chooses the best model.
const LABEL_SMOOTHING: &str = "training.label_smoothing";
/// Sections that are compared by the hashes of their files, as a corpus may be moved.
const HASHED: [&str; 2] = ["data.", "tokenizer."];

/// A changed setting.
#[derive(derive_more::Display)]
#[display("{key} was {was} and is {now}")]
struct Change {
    key: String,
    was: String,
    now: String,
}

/// Compares the origin and the configuration of a run, `now`, with its checkpoint, `was`. Returns
/// the allowed changes in words.
///
/// # Errors
/// Returns the changes that prevent the run from resuming, in words.
pub(crate) fn compare(
    was: (&Origin, &Table),
    now: (&Origin, &TrainConfig),
) -> Result<Vec<String>, String> {
    let changes = changes(was.1, now.1);
    let measured = now.1.validation.metric == EarlyStoppingMetric::Loss;
    let fixed: Vec<_> = changes
        .iter()
        .filter(|change| is_fixed(&change.key) || (measured && change.key == LABEL_SMOOTHING))
        .collect();
    if !fixed.is_empty() {
        return Err(join(&fixed));
    }
    let tokenizer_is_set = !now.1.tokenizer.files.is_empty()
        || changes
            .iter()
            .any(|change| change.key.starts_with("tokenizer."));
    let different = different(was.0, now.0, tokenizer_is_set);
    if !different.is_empty() {
        let causes: Vec<_> = changes
            .iter()
            .filter(|change| within(&change.key, &HASHED))
            .collect();
        let cause = if causes.is_empty() {
            "the files changed, not the settings".to_string()
        } else {
            join(&causes)
        };
        return Err(format!("{} changed ({cause})", different.join(" and ")));
    }
    let free = changes
        .iter()
        .filter(|change| !within(&change.key, &HASHED));
    Ok(free.map(ToString::to_string).collect())
}

fn join(changes: &[&Change]) -> String {
    changes
        .iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(", ")
}

/// The parts of the data that differ. The hashes of the texts are hashes of their tokens, so that
/// another tokeniser changes them all and says nothing of the texts. If `tokenizer_is_set` is
/// false, the same settings trained another tokeniser, and only another text does that.
fn different(was: &Origin, now: &Origin, tokenizer_is_set: bool) -> Vec<&'static str> {
    const TRAIN: &str = "the training text (data.train)";
    if was.tokenizers != now.tokenizers {
        return vec![if tokenizer_is_set {
            "the tokeniser"
        } else {
            TRAIN
        }];
    }
    let parts = [
        (was.train != now.train, TRAIN),
        (was.valid != now.valid, "the validation text (data.valid)"),
    ];
    parts
        .into_iter()
        .filter(|(different, _)| *different)
        .map(|(_, name)| name)
        .collect()
}

/// Settings with different values. A setting that the checkpoint lacks is new in this version.
fn changes(was: &Table, now: &TrainConfig) -> Vec<Change> {
    let now = Table::try_from(now).expect("a configuration is plain data");
    let old = entries("", was);
    let new = entries("", &now);
    let changed = new
        .into_iter()
        .filter(|(_, now)| !now.is_table())
        .filter_map(|(key, now)| {
            let (_, was) = old.iter().find(|(known, _)| *known == key)?;
            (*was != now).then(|| Change {
                key,
                was: was.to_string(),
                now: now.to_string(),
            })
        });
    changed.collect()
}

#[cfg(test)]
mod tests {
    use toml::Value;

    use super::*;
    use crate::config::FIXED;

    fn config(settings: &[&str]) -> TrainConfig {
        let settings: Vec<String> = settings.iter().map(|s| s.to_string()).collect();
        TrainConfig::resolve(Some("tiny"), None, &settings).unwrap()
    }

    fn origin(train: &str) -> Origin {
        let hashes = ["s".to_string(), "t".to_string()];
        Origin {
            train: train.into(),
            valid: None,
            tokenizers: hashes,
        }
    }

    fn resumed(settings: &[&str], train: &str) -> Result<Vec<String>, String> {
        let was: Table = config(&[]).to_toml().parse().unwrap();
        compare((&origin("a"), &was), (&origin(train), &config(settings)))
    }

    #[test]
    fn a_resumed_run_may_be_longer_and_have_another_rate() {
        assert_eq!(resumed(&[], "a"), Ok(vec![]));
        let notes = resumed(&["training.max_updates=9", "schedule.factor=0.5"], "a").unwrap();
        assert_eq!(notes.len(), 2);
        assert!(
            notes.contains(&"schedule.factor was 1.4 and is 0.5".to_string()),
            "{notes:?}"
        );
    }

    #[test]
    fn a_corpus_may_move_but_not_change() {
        assert_eq!(resumed(&["data.train=[\"x\", \"y\"]"], "a"), Ok(vec![]));
        let moved = resumed(&["data.max_source_len=9"], "b").unwrap_err();
        assert!(
            moved.contains("data.max_source_len was 256 and is 9"),
            "{moved}"
        );
        let edited = resumed(&[], "b").unwrap_err();
        assert!(
            edited.contains("(data.train)") && edited.contains("the files"),
            "{edited}"
        );
    }

    /// Another tokeniser changes the tokens of every text.
    #[test]
    fn a_changed_tokeniser_does_not_blame_the_texts() {
        let was: Table = config(&[]).to_toml().parse().unwrap();
        let other = Origin {
            tokenizers: ["u".to_string(), "u".to_string()],
            valid: Some("v".into()),
            ..origin("b")
        };
        let refused = |settings: &[&str]| {
            compare((&origin("a"), &was), (&other, &config(settings))).unwrap_err()
        };
        let trained = refused(&["tokenizer.train.vocab_size=300"]);
        let loaded = refused(&["tokenizer.files=[\"t.json\"]"]);
        for message in [trained, loaded] {
            let is_blamed = message.starts_with("the tokeniser changed (tokenizer.");
            assert!(is_blamed && !message.contains("text"), "{message}");
        }
        let text = refused(&[]);
        assert!(
            text.starts_with("the training text (data.train) changed (the files changed"),
            "{text}"
        );
    }

    #[test]
    fn keys_of_the_state_are_fixed_and_named() {
        let was: Table = config(&[]).to_toml().parse().unwrap();
        let others: [(&str, Value); 13] = [
            ("model.d_model", 64.into()),
            ("training.from", "runs/a/best".into()),
            ("training.freeze", vec!["encoder"].into()),
            ("training.seed", 2.into()),
            ("training.budget", 512.into()),
            ("training.multiple", 8.into()),
            ("training.accumulate", 3.into()),
            ("optimizer.algorithm", "muon".into()),
            ("validation.metric", "ppl".into()),
            ("validation.bleu", false.into()),
            ("validation.max_sentences", 7.into()),
            ("validation.beam", 3.into()),
            ("validation.alpha", 0.3.into()),
        ];
        assert_eq!(others.len(), FIXED.len());
        for ((key, value), fixed) in others.into_iter().zip(FIXED) {
            assert!(
                key.starts_with(fixed),
                "{key} is tried in the place of {fixed}"
            );
            let mut now = was.clone();
            let (section, name) = key.split_once('.').unwrap();
            let old = now[section]
                .as_table_mut()
                .unwrap()
                .insert(name.into(), value.clone());
            assert!(
                old.is_some_and(|old| old != value),
                "{key} is not another value"
            );
            let now: TrainConfig = now.try_into().unwrap();
            let message = compare((&origin("a"), &was), (&origin("a"), &now)).unwrap_err();
            assert!(message.starts_with(&format!("{key} was ")), "{message}");
        }
    }

    #[test]
    fn label_smoothing_is_fixed_if_the_loss_is_the_metric() {
        assert_eq!(
            resumed(&["training.label_smoothing=0.2"], "a")
                .unwrap()
                .len(),
            1
        );
        let by_loss = ["validation.metric=loss"];
        let was: Table = config(&by_loss).to_toml().parse().unwrap();
        let now = config(&[by_loss[0], "training.label_smoothing=0.2"]);
        let refused = compare((&origin("a"), &was), (&origin("a"), &now)).unwrap_err();
        assert!(
            refused.contains("training.label_smoothing was 0.1 and is 0.2"),
            "{refused}"
        );
    }
}
