//! The presets.

/// The presets by name. Each lists only the differences from the defaults, the paper's values.
pub(super) const PRESETS: [(&str, &str); 7] = [
    ("speedrun", include_str!("../../presets/speedrun.toml")),
    ("tiny", include_str!("../../presets/tiny.toml")),
    ("small", include_str!("../../presets/small.toml")),
    ("base", include_str!("../../presets/base.toml")),
    ("big", include_str!("../../presets/big.toml")),
    ("multi30k", include_str!("../../presets/multi30k.toml")),
    ("rnn", include_str!("../../presets/rnn.toml")),
];
/// The preset if neither the command line nor the configuration file names one.
pub const DEFAULT_PRESET: &str = "speedrun";

/// The names of the presets.
pub fn preset_names() -> Vec<&'static str> {
    PRESETS.iter().map(|(name, _)| *name).collect()
}

/// Describes the preset `name`: the first paragraph of the comment at the top of its file. Empty if
/// there is no such preset.
pub fn preset_description(name: &str) -> String {
    let text = PRESETS
        .iter()
        .find(|(known, _)| *known == name)
        .map_or("", |(_, text)| text);
    let lines: Vec<&str> = text
        .lines()
        .map_while(|line| line.strip_prefix("# "))
        .collect();
    lines.join(" ")
}
