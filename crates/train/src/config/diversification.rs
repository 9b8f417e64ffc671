//! The section `[diversification]`: text that a run's own models write before it begins.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ConfigFileError, DataSettings, TrainConfig, layers};

/// Data diversification (Nguyen et al., 2020): before the run begins, models that learn from the same training text
/// translate it, in both directions, and their translations become more training text.
#[derive(Clone, Debug, Default, PartialEq, JsonSchema, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DiversificationSettings {
    /// The number of models in each direction; 0 for none. Each learns from `data.train` and translates it: those of the
    /// run's direction its source, the others its target. Each translation is paired with the text that it was made from.
    /// The run learns from all of them beside `data.train`, and they are listed in `data.mix` once it has begun. It is meant
    /// for little text; the paper has 3. The folder `diversification/` of the run holds models and texts.
    pub models: usize,
    /// Settings in which these models differ from the run's own, such as
    /// `["model.d_model=128", "training.max_updates=4000"]`. Beside the seed they are otherwise the same.
    pub settings: Vec<String>,
}

/// The direction in which a model of [`DiversificationSettings`] translates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// The direction of the run.
    Forward,
    /// From the target to the source.
    Backward,
}

impl Direction {
    /// Both, in the order in which their models are trained.
    pub const BOTH: [Self; 2] = [Self::Forward, Self::Backward];

    /// The name in files and messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Forward => "forward",
            Self::Backward => "backward",
        }
    }

    /// `sides` (source, target) in the order of this direction.
    pub fn order<T>(self, sides: [T; 2]) -> [T; 2] {
        let [source, target] = sides;
        match self {
            Self::Forward => [source, target],
            Self::Backward => [target, source],
        }
    }
}

impl TrainConfig {
    /// The configuration of the model `number` (from 0) in `direction`, which learns from the training text `train`
    /// (source, target) and is validated on `valid`.
    ///
    /// # Errors
    /// A [`ConfigFileError`] if `diversification.settings` cannot be applied.
    pub fn of_diversifier(
        &self,
        direction: Direction,
        number: usize,
        train: [PathBuf; 2],
        valid: Option<[PathBuf; 2]>,
    ) -> Result<Self, ConfigFileError> {
        let mut config = layers::with(self, &self.diversification.settings)?;
        config.diversification = DiversificationSettings::default();
        let files = |sides: [PathBuf; 2]| direction.order(sides).to_vec();
        config.data = DataSettings {
            train: files(train),
            valid: valid.map(files).unwrap_or_default(),
            test: vec![],
            mix: vec![],
            ..config.data
        };
        if direction == Direction::Backward {
            config.tokenizer.files.reverse();
            let data = &mut config.data;
            std::mem::swap(&mut data.max_source_len, &mut data.max_target_len);
        }
        // Other seeds than the run's and each other's.
        let place = 2 * number + usize::from(direction == Direction::Backward);
        config.training.seed = config.training.seed.wrapping_add(1 + place as u64);
        config.validate()?;
        Ok(config)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(settings: &[&str]) -> Result<TrainConfig, ConfigFileError> {
        let settings: Vec<String> = settings.iter().map(ToString::to_string).collect();
        TrainConfig::resolve(Some("tiny"), None, &settings)
    }

    #[test]
    fn a_model_that_translates_backwards_learns_the_sides_swapped_from_a_seed_of_its_own() {
        let run = config(&[
            "diversification.models=2",
            "diversification.settings=[\"model.d_ff=99\", \"training.max_updates=7\"]",
            "data.max_source_len=50",
            "data.test=[\"c\", \"d\"]",
        ])
        .unwrap();
        let paths = |names: [&str; 2]| names.map(PathBuf::from);
        let of = |direction, number| {
            let (train, valid) = (paths(["a", "b"]), paths(["v", "w"]));
            run.of_diversifier(direction, number, train, Some(valid)).unwrap()
        };
        let (forward, backward) = (of(Direction::Forward, 0), of(Direction::Backward, 0));
        assert_eq!(
            (&forward.data.train[..], &backward.data.train[..]),
            (&paths(["a", "b"])[..], &paths(["b", "a"])[..])
        );
        assert_eq!(backward.data.valid, paths(["w", "v"]));
        assert_eq!((forward.data.max_source_len, backward.data.max_target_len), (50, 50));
        assert_eq!((forward.model.transformer.d_ff, forward.training.max_updates), (99, 7));
        assert_eq!(forward.diversification.models, 0);
        assert!(forward.data.test.is_empty());
        let models =
            Direction::BOTH.into_iter().flat_map(|way| [0, 1].map(|number| of(way, number)));
        let mut seeds: Vec<u64> = models.map(|model| model.training.seed).collect();
        seeds.push(run.training.seed);
        seeds.sort_unstable();
        seeds.dedup();
        assert_eq!(seeds.len(), 5);
    }

    #[test]
    fn what_cannot_be_is_refused_with_its_key() {
        let message = |settings: &[&str]| config(settings).unwrap_err().to_string();
        let other = message(&["diversification.settings=[\"data.bpe_dropout=0.1\"]"]);
        assert!(other.contains("diversification.settings"), "{other}");
        let start = message(&["diversification.settings=[\"training.from=runs/a/best\"]"]);
        assert!(start.contains("diversification.settings"), "{start}");
        let unknown = message(&["diversification.settings=[\"model.d_fff=3\"]"]);
        assert!(unknown.contains("d_ff"), "{unknown}");
        let many = message(&["diversification.models=101"]);
        assert!(many.contains("diversification.models is 101"), "{many}");
    }
}
