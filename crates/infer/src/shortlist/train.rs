use super::alignment::{Bags, MAX_LINE_TOKENS, align};
use super::error::{Result, ShortlistError};
use super::list::{Shortlist, Vocabularies};

/// The largest number of training pairs. Of a larger text, every second, fourth, … pair is used. It
/// bounds memory: pairs of 25 tokens take about 1 GB.
pub const MAX_PAIRS: usize = 1_000_000;
/// The largest length of a list.
const MAX_TOKENS: usize = 100_000;

/// The lengths of the lists.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// The number of most frequent target tokens, allowed in every sentence.
    pub first: usize,
    /// The largest number of translations of a source token; at least 1.
    pub best: usize,
    /// The smallest probability of a translation, from 0 to 1.
    pub threshold: f64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            first: 100,
            best: 100,
            threshold: 0.0,
        }
    }
}

impl Settings {
    /// Checks that the settings are in their ranges.
    ///
    /// # Errors
    /// Returns [`ShortlistError::Setting`] for the first setting that is out of its range.
    pub fn validate(&self) -> Result<()> {
        if self.first > MAX_TOKENS {
            return Err(ShortlistError::Setting {
                name: "first",
                value: self.first.to_string(),
                remedy: "at most 100000 is possible",
            });
        }
        if !(1..=MAX_TOKENS).contains(&self.best) {
            return Err(ShortlistError::Setting {
                name: "best",
                value: self.best.to_string(),
                remedy: "between 1 and 100000 are possible",
            });
        }
        if !(0.0..=1.0).contains(&self.threshold) {
            return Err(ShortlistError::Setting {
                name: "threshold",
                value: self.threshold.to_string(),
                remedy: "it must be between 0 and 1",
            });
        }
        Ok(())
    }
}

/// Learns a shortlist from pairs of sentences.
pub struct Trainer {
    vocabularies: Vocabularies,
    source: Bags,
    target: Bags,
    /// One in `stride` pairs is used.
    stride: usize,
    most: usize,
    offered: usize,
    unknown: Option<ShortlistError>,
}

impl Trainer {
    /// A trainer for tokens of `vocabularies`.
    pub fn new(vocabularies: Vocabularies) -> Self {
        let source = Bags::new();
        let target = Bags::new();
        let most = MAX_PAIRS;
        Self {
            vocabularies,
            source,
            target,
            stride: 1,
            most,
            offered: 0,
            unknown: None,
        }
    }

    /// Adds a sentence (ids, without `</s>`) and its translation. A pair with an empty side, or
    /// with more than [`MAX_LINE_TOKENS`] tokens on one, is left out. Of a large corpus, only every
    /// second, fourth, … pair is kept, which bounds memory.
    pub fn add(&mut self, source: &[u32], target: &[u32]) {
        let lengths = 1..=MAX_LINE_TOKENS;
        if !lengths.contains(&source.len()) || !lengths.contains(&target.len()) {
            return;
        }
        let index = self.offered;
        self.offered += 1;
        if !index.is_multiple_of(self.stride) {
            return;
        }
        if let Some(error) = self.unknown(source, target) {
            self.unknown.get_or_insert(error);
            return;
        }
        self.source.push(source);
        self.target.push(target);
        if self.source.len() > self.most {
            self.source.halve();
            self.target.halve();
            self.stride *= 2;
        }
    }

    fn unknown(&self, source: &[u32], target: &[u32]) -> Option<ShortlistError> {
        let [source_vocab, target_vocab] = self.vocabularies.sizes;
        [
            ("source", source, source_vocab),
            ("target", target, target_vocab),
        ]
        .into_iter()
        .find_map(|(side, ids, vocab)| {
            let &id = ids.iter().find(|&&id| id as usize >= vocab)?;
            Some(ShortlistError::UnknownId { side, id, vocab })
        })
    }

    /// The number of training pairs.
    pub fn pairs(&self) -> usize {
        self.source.len()
    }

    /// Learns the translations and lists the best of each token. If both sides share a tokeniser,
    /// each token is also a translation of itself, because names are copied.
    ///
    /// # Errors
    /// Returns [`ShortlistError::Setting`] if a setting is out of its range,
    /// [`ShortlistError::UnknownId`] if a pair has an id outside the vocabulary, and
    /// [`ShortlistError::NoPairs`] if no pair was added.
    pub fn finish(self, settings: &Settings) -> Result<Shortlist> {
        settings.validate()?;
        if let Some(error) = self.unknown {
            return Err(error);
        }
        if self.source.len() == 0 {
            return Err(ShortlistError::NoPairs);
        }
        let frequent = frequent(&self.target, self.vocabularies.sizes[1], settings.first);
        let rows = align(&self.source, &self.target, self.vocabularies.sizes);
        let itself = self.vocabularies.are_shared();
        let translations = (0..).zip(rows).map(|(id, row)| {
            let mut best = row.best(settings.best, settings.threshold);
            best.extend(itself.then_some(id));
            best
        });
        let translations = translations.collect();
        Shortlist::new(self.vocabularies, frequent, translations)
    }
}

/// The `count` most frequent tokens; equally frequent ones by id.
fn frequent(bags: &Bags, vocab: usize, count: usize) -> Vec<u32> {
    let mut counts = vec![0u64; vocab];
    bags.tokens
        .iter()
        .for_each(|token| counts[token.id as usize] += u64::from(token.count));
    let mut ids: Vec<u32> = (0..vocab as u32)
        .filter(|&id| counts[id as usize] > 0)
        .collect();
    ids.sort_by_key(|&id| std::cmp::Reverse(counts[id as usize]));
    ids.truncate(count);
    ids
}

#[cfg(test)]
mod tests {
    use rand::rngs::Xoshiro256PlusPlus;
    use rand::{RngExt, SeedableRng};

    use super::*;

    /// Sentences of words 10 to 29 with the translation w + 20 of the word w in another position.
    /// Half of them have the word 5 without a translation, and all the target token 9 without a
    /// source.
    fn toy(trainer: &mut Trainer) {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
        for number in 0..400 {
            let words: Vec<u32> = (0..random.random_range(3..8))
                .map(|_| random.random_range(10..30))
                .collect();
            let mut target: Vec<u32> = words.iter().rev().map(|word| word + 20).collect();
            target.push(9);
            let silent = (number % 2 == 0).then_some(5);
            let source: Vec<u32> = words.into_iter().chain(silent).collect();
            trainer.add(&source, &target);
        }
    }

    fn trained(settings: Settings, vocabularies: Vocabularies) -> Shortlist {
        let mut trainer = Trainer::new(vocabularies);
        toy(&mut trainer);
        trainer.finish(&settings).unwrap()
    }

    #[test]
    fn the_dictionary_of_a_toy_text_is_found() {
        let settings = Settings {
            first: 1,
            best: 1,
            threshold: 0.0,
        };
        let shortlist = trained(settings, Vocabularies::of_sizes([40, 50]));
        for word in 10..30 {
            assert_eq!(shortlist.translations(word), [word + 20]);
        }
        assert_eq!(shortlist.frequent(), [9]);
        assert!(shortlist.translations(3).is_empty(), "it never occurs");
    }

    #[test]
    fn improbable_translations_are_left_out() {
        let settings = |threshold| Settings {
            first: 0,
            best: 50,
            threshold,
        };
        let all = trained(settings(0.0), Vocabularies::of_sizes([40, 50]));
        let few = trained(settings(0.5), Vocabularies::of_sizes([40, 50]));
        for word in 10..30 {
            assert!(
                all.translations(word).len() > 10,
                "{:?}",
                all.translations(word)
            );
            assert_eq!(few.translations(word), [word + 20]);
        }
    }

    #[test]
    fn tokens_of_a_shared_vocabulary_translate_themselves_too() {
        let tokenizers = Some(["joint".to_string(), "joint".to_string()]);
        let shared = Vocabularies {
            sizes: [50; 2],
            tokenizers,
        };
        let shortlist = trained(
            Settings {
                first: 0,
                best: 1,
                threshold: 0.0,
            },
            shared,
        );
        assert_eq!(shortlist.translations(12), [12, 32]);
        assert_eq!(shortlist.translations(3), [3], "also one that never occurs");
    }

    #[test]
    fn the_number_of_threads_changes_nothing() {
        let with = |threads| {
            let pool = rayon::ThreadPoolBuilder::new()
                .num_threads(threads)
                .build()
                .unwrap();
            pool.install(|| trained(Settings::default(), Vocabularies::of_sizes([40, 50])))
        };
        let one = with(1).to_bytes();
        assert!(
            [2, 3, 7]
                .into_iter()
                .all(|threads| with(threads).to_bytes() == one)
        );
    }

    #[test]
    fn pairs_are_sampled_from_all_of_a_large_text() {
        let trainer = Trainer::new(Vocabularies::of_sizes([100; 2]));
        let mut trainer = Trainer { most: 4, ..trainer };
        for id in 0..100 {
            trainer.add(&[id], &[id]);
        }
        let kept: Vec<u32> = (0..trainer.pairs())
            .map(|pair| trainer.source.sentence(pair)[0].id)
            .collect();
        assert_eq!(kept, [0, 32, 64, 96]);
    }

    #[test]
    fn unusable_pairs_are_refused() {
        let trainer = || Trainer::new(Vocabularies::of_sizes([5, 6]));
        let finish = |trainer: Trainer| trainer.finish(&Settings::default()).unwrap_err();
        let mut empty = trainer();
        empty.add(&[], &[1]);
        empty.add(&[1; MAX_LINE_TOKENS + 1], &[1]);
        assert!(matches!(finish(empty), ShortlistError::NoPairs));
        let mut unknown = trainer();
        unknown.add(&[1], &[6]);
        let error = finish(unknown);
        assert!(matches!(
            error,
            ShortlistError::UnknownId {
                side: "target",
                id: 6,
                vocab: 6
            }
        ));
    }

    #[test]
    fn settings_out_of_range_are_refused_by_name() {
        let default = Settings::default();
        for (settings, wrong) in [
            (
                Settings {
                    first: 100_001,
                    ..default
                },
                "first",
            ),
            (Settings { best: 0, ..default }, "best"),
            (
                Settings {
                    threshold: -0.1,
                    ..default
                },
                "threshold",
            ),
            (
                Settings {
                    threshold: f64::NAN,
                    ..default
                },
                "threshold",
            ),
        ] {
            let error = settings.validate().unwrap_err();
            assert!(matches!(error, ShortlistError::Setting { name, .. } if name == wrong));
        }
        assert!(default.validate().is_ok());
    }
}
