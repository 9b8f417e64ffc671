//! Floats in JSON that are read back bit for bit. They are written as text, because JSON parsers
//! may round numbers.

use serde::{Deserialize, Deserializer, Serializer, de};

pub(crate) fn serialize<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    // Rust prints the shortest text that reads back as the same float.
    serializer.collect_str(value)
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    let text = String::deserialize(deserializer)?;
    text.parse()
        .map_err(|_| de::Error::custom(format!("\"{text}\" is not a number")))
}

#[cfg(test)]
mod tests {
    use rand::rngs::Xoshiro256PlusPlus;
    use rand::{RngExt, SeedableRng};

    #[derive(serde::Serialize, serde::Deserialize)]
    struct Float {
        #[serde(with = "super")]
        value: f64,
    }

    #[test]
    fn every_float_comes_back_bit_for_bit() {
        for bits in Xoshiro256PlusPlus::seed_from_u64(1)
            .random_iter()
            .take(20_000)
        {
            let value = f64::from_bits(bits);
            let json = serde_json::to_vec(&Float { value }).unwrap();
            let back: Float = serde_json::from_slice(&json).unwrap();
            assert!(
                back.value.to_bits() == value.to_bits() || value.is_nan(),
                "{value:e}"
            );
        }
    }
}
