//! The presets.

/// The presets by name. Each lists only what differs from the defaults, which are those of the
/// paper.
pub(super) const PRESETS: [(&str, &str); 7] = [
    ("speedrun", include_str!("../../presets/speedrun.toml")),
    ("tiny", include_str!("../../presets/tiny.toml")),
    ("small", include_str!("../../presets/small.toml")),
    ("base", include_str!("../../presets/base.toml")),
    ("big", include_str!("../../presets/big.toml")),
    ("multi30k", include_str!("../../presets/multi30k.toml")),
    ("rnn", include_str!("../../presets/rnn.toml")),
];
/// The preset of a run if neither the command line nor the configuration file names one.
pub const DEFAULT_PRESET: &str = "speedrun";

/// The names of the presets.
pub fn preset_names() -> Vec<&'static str> {
    PRESETS.iter().map(|(name, _)| *name).collect()
}

/// Describes the use of the preset `name`, with the first paragraph of the comment at the top of
/// its file. Returns an empty text if there is no such preset.
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
