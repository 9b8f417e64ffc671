//! Counts of things in messages.

/// The `count` of things of which one is called `noun`: `1 line`, `2 lines`, `3 batches`.
pub fn counted(count: impl std::fmt::Display, noun: &str) -> String {
    let count = count.to_string();
    let ending = match count.as_str() {
        "1" => "",
        _ if noun.ends_with("ch") => "es",
        _ => "s",
    };
    format!("{count} {noun}{ending}")
}
