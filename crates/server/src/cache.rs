//! A cache of translations of recent sentences.

use lru::LruCache;
use parking_lot::Mutex;

use crate::engine::{Candidate, Choice, Sentence};

/// Candidates by sentence and choice, bounded in bytes. The least recently used are evicted first.
pub(crate) struct Cache {
    most: usize,
    inner: Mutex<Inner>,
}

struct Inner {
    entries: LruCache<(String, Sentence, Choice), Vec<Candidate>>,
    bytes: usize,
}

/// The approximate size of an entry in bytes, besides its texts.
const ENTRY_BYTES: usize = 256;

impl Cache {
    /// Creates a cache of at most `most` bytes; 0 disables the cache.
    pub fn new(most: usize) -> Self {
        Self {
            most,
            inner: Mutex::new(Inner {
                entries: LruCache::unbounded(),
                bytes: 0,
            }),
        }
    }

    /// Returns the cached candidates of the model for the language pair `pair`, `sentence` and
    /// `choice`.
    pub fn get(&self, pair: &str, sentence: &Sentence, choice: Choice) -> Option<Vec<Candidate>> {
        if self.most == 0 {
            return None;
        }
        self.inner
            .lock()
            .entries
            .get(&(pair.to_owned(), sentence.clone(), choice))
            .cloned()
    }

    /// Stores the candidates of the model for the language pair `pair` under `sentence` and `choice`.
    /// The least recently used entries are evicted until it fits. An entry larger than the whole
    /// cache is not stored.
    pub fn put(&self, pair: &str, sentence: Sentence, choice: Choice, candidates: &[Candidate]) {
        let size = bytes(&sentence, candidates);
        if size > self.most {
            return;
        }
        let mut inner = self.inner.lock();
        inner.bytes += size;
        if let Some(old) = inner.entries.put(
            (pair.to_owned(), sentence.clone(), choice),
            candidates.to_vec(),
        ) {
            inner.bytes -= bytes(&sentence, &old);
        }
        while inner.bytes > self.most {
            let Some(((_, sentence, _), candidates)) = inner.entries.pop_lru() else {
                break;
            };
            inner.bytes -= bytes(&sentence, &candidates);
        }
    }

    /// The size of all entries in bytes.
    #[cfg(test)]
    fn bytes(&self) -> usize {
        self.inner.lock().bytes
    }
}

fn bytes(sentence: &Sentence, candidates: &[Candidate]) -> usize {
    let terms: usize = sentence
        .terms
        .iter()
        .flat_map(|term| term.targets.iter().chain([&term.source]))
        .map(|text| text.len() + 32)
        .sum();
    let candidates: usize = candidates
        .iter()
        .map(|candidate| candidate.text.len() + size_of_val(&*candidate.links) + 64)
        .sum();
    ENTRY_BYTES + sentence.text.len() + sentence.prefix.len() + terms + candidates
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sentence(text: &str) -> Sentence {
        Sentence {
            text: text.into(),
            ..Sentence::default()
        }
    }

    fn candidate(text: &str) -> Vec<Candidate> {
        vec![Candidate {
            text: text.into(),
            score: -1.0,
            ..Candidate::default()
        }]
    }

    #[test]
    fn an_entry_is_found_only_under_the_same_choice() {
        let cache = Cache::new(10_000);
        let choice = Choice {
            n_best: 2,
            ..Choice::default()
        };
        cache.put("de-en", sentence("a"), choice, &candidate("b"));
        assert_eq!(
            cache.get("de-en", &sentence("a"), choice),
            Some(candidate("b"))
        );
        assert_eq!(cache.get("de-en", &sentence("a"), Choice::default()), None);
        assert_eq!(cache.get("en-de", &sentence("a"), choice), None);
        assert_eq!(
            cache.get(
                "de-en",
                &Sentence {
                    links: true,
                    ..sentence("a")
                },
                choice
            ),
            None
        );
        let targets = vec!["b".to_owned()];
        let terms = vec![burnformer_terminology::Term {
            source: "a".into(),
            targets,
        }];
        assert_eq!(
            cache.get(
                "de-en",
                &Sentence {
                    terms,
                    ..sentence("a")
                },
                choice
            ),
            None
        );
    }

    #[test]
    fn the_least_recently_used_entries_are_evicted_to_stay_in_bounds() {
        let cache = Cache::new(2_000);
        let choice = Choice::default();
        for number in 0..100 {
            cache.put(
                "de-en",
                sentence(&number.to_string()),
                choice,
                &candidate("translation"),
            );
            assert!(cache.bytes() <= 2_000);
            assert!(
                cache.get("de-en", &sentence("0"), choice).is_some(),
                "used all the time"
            );
        }
        assert!(cache.get("de-en", &sentence("1"), choice).is_none());
        cache.put(
            "de-en",
            sentence(&"x".repeat(3_000)),
            choice,
            &candidate("y"),
        );
        assert!(
            cache.get("de-en", &sentence("0"), choice).is_some(),
            "an entry beyond the bound is not kept"
        );
        assert!(Cache::new(0).get("de-en", &sentence("0"), choice).is_none());
    }

    #[test]
    fn putting_an_entry_twice_counts_it_once() {
        let cache = Cache::new(2_000);
        cache.put("de-en", sentence("a"), Choice::default(), &candidate("b"));
        let once = cache.bytes();
        cache.put("de-en", sentence("a"), Choice::default(), &candidate("b"));
        assert_eq!(cache.bytes(), once);
    }
}
