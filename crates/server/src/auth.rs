//! Keys, compared in constant time.

use sha2::{Digest, Sha256};
use subtle::{Choice, ConstantTimeEq};

/// The keys that open the server; without any, everybody may ask.
pub(crate) struct Keys(Vec<[u8; 32]>);

impl Keys {
    pub fn new(keys: &[String]) -> Self {
        Self(keys.iter().map(|key| Sha256::digest(key).into()).collect())
    }

    /// Returns whether a key is needed.
    pub fn are_required(&self) -> bool {
        !self.0.is_empty()
    }

    /// Returns whether `key` may send requests. It takes the same time for every wrong key: the
    /// digests of all keys are compared, each to its end.
    pub fn allow(&self, key: &str) -> bool {
        let digest: [u8; 32] = Sha256::digest(key).into();
        let found =
            self.0.iter().fold(Choice::from(0), |found, known| found | known.ct_eq(&digest));
        !self.are_required() || bool::from(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_known_key_opens_a_server_with_keys() {
        let keys = Keys::new(&["one".into(), "two".into()]);
        assert!(keys.allow("one") && keys.allow("two"));
        assert!(!keys.allow("three") && !keys.allow(""));
        assert!(Keys::new(&[]).allow("") && Keys::new(&[]).allow("any"));
    }
}
