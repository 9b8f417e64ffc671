//! Floats in JSON that are read back bit for bit. They are written as text, because JSON parsers may round numbers.

use serde::{Deserialize, Deserializer, Serializer, de};

pub(crate) fn serialize<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    // Rust prints the shortest text that reads back as the same float.
    serializer.collect_str(value)
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    parse(&String::deserialize(deserializer)?)
}

fn parse<E: de::Error>(text: &str) -> Result<f64, E> {
    text.parse().map_err(|_| E::custom(format!("\"{text}\" is not a number")))
}

/// Floats that may be absent, written in the same way.
pub(crate) mod option {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(
        value: &Option<f64>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match value {
            Some(value) => super::serialize(value, serializer),
            None => serializer.serialize_none(),
        }
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<f64>, D::Error> {
        let text = Option::<String>::deserialize(deserializer)?;
        text.map(|text| parse(&text)).transpose()
    }
}

#[cfg(test)]
mod tests {
    use rand::rngs::Xoshiro256PlusPlus;
    use rand::{RngExt, SeedableRng};

    #[derive(serde::Serialize, serde::Deserialize)]
    struct Both {
        #[serde(with = "super")]
        value: f64,
        #[serde(with = "super::option")]
        other: Option<f64>,
    }

    #[test]
    fn every_float_comes_back_bit_for_bit() {
        for bits in Xoshiro256PlusPlus::seed_from_u64(1).random_iter().take(20_000) {
            let value = f64::from_bits(bits);
            let both = Both { value, other: value.is_finite().then_some(value) };
            let back: Both = serde_json::from_slice(&serde_json::to_vec(&both).unwrap()).unwrap();
            assert!(back.value.to_bits() == value.to_bits() || value.is_nan(), "{value:e}");
            assert_eq!(back.other, both.other);
        }
    }
}
