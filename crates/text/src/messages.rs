//! The wording of messages and errors.

use std::fmt::Display;

/// Writes `count` followed by `noun` in the singular or plural: `1 line`, `2 lines`, `3 batches`.
pub fn counted(count: impl Display, noun: &str) -> String {
    let count = count.to_string();
    let ending = match count.as_str() {
        "1" => "",
        _ if noun.ends_with("ch") => "es",
        _ => "s",
    };
    format!("{count} {noun}{ending}")
}

/// Makes the `Debug` form of an error its message, because a program prints that form for an error
/// returned from `main`.
#[macro_export]
macro_rules! debug_as_message {
    ($error:ty) => {
        impl std::fmt::Debug for $error {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Display::fmt(self, f)
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_has_the_singular_or_the_plural_of_its_noun() {
        assert_eq!(counted(1, "line"), "1 line");
        assert_eq!(counted(0, "batch"), "0 batches");
        assert_eq!(counted("1,000", "pair"), "1,000 pairs");
    }
}
