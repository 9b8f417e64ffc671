//! The signature of a score: the settings of its computation.

use std::fmt;

use crate::ReferenceCount;

/// The value of `version` in every signature.
pub const VERSION: &str = concat!("burnformer-", env!("CARGO_PKG_VERSION"));

/// The signature of a score, which says how it was computed:
/// `nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:…`. Fields and order equal sacreBLEU
/// 2.6.0; only `version` names this crate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signature {
    fields: Vec<(&'static str, String)>,
}

impl Signature {
    pub(crate) fn new(references: ReferenceCount) -> Self {
        Self { fields: Vec::new() }.with("nrefs", references.to_string())
    }

    /// Adds a field at the end.
    pub(crate) fn with(mut self, key: &'static str, value: impl Into<String>) -> Self {
        self.fields.push((key, value.into()));
        self
    }

    /// Adds the number of bootstrap resamples (`bs`) and their seed.
    #[must_use]
    pub fn with_bootstrap(self, count: usize, seed: u64) -> Self {
        self.with_sampling("bs", count, seed)
    }

    /// Adds the number of trials of approximate randomisation (`ar`) and their seed.
    #[must_use]
    pub fn with_randomization(self, count: usize, seed: u64) -> Self {
        self.with_sampling("ar", count, seed)
    }

    // sacreBLEU writes both after the number of references and before the metric's fields.
    fn with_sampling(mut self, key: &'static str, count: usize, seed: u64) -> Self {
        self.fields
            .splice(1..1, [(key, count.to_string()), ("seed", seed.to_string())]);
        self
    }

    /// Returns the fields with their long keys, `version` last.
    pub fn fields(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let fields = self
            .fields
            .iter()
            .map(|(key, value)| (*key, value.as_str()));
        fields.chain(std::iter::once(("version", VERSION)))
    }

    /// Returns the value of the field `key`; `None` if there is no such field.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.fields()
            .find(|(name, _)| *name == key)
            .map(|(_, value)| value)
    }
}

impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, (key, value)) in self.fields().enumerate() {
            let bar = if i == 0 { "" } else { "|" };
            write!(f, "{bar}{key}:{value}")?;
        }
        Ok(())
    }
}

/// Returns `yes` or `no`, the values of switches in signatures.
pub(crate) fn yes_no(value: bool) -> &'static str {
    if value { "yes" } else { "no" }
}

/// Returns `lc` or `mixed`, the values of the field `case`.
pub(crate) fn case(lowercase: bool) -> &'static str {
    if lowercase { "lc" } else { "mixed" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sampling_follows_the_references_and_version_is_last() {
        let signature = Signature::new(2.into())
            .with("case", "mixed")
            .with_bootstrap(1000, 12345);
        assert_eq!(
            signature.to_string(),
            format!("nrefs:2|bs:1000|seed:12345|case:mixed|version:{VERSION}")
        );
        assert_eq!(signature.get("seed"), Some("12345"));
    }
}
