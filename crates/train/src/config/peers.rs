//! The names of settings in fairseq, OpenNMT, JoeyNMT, Marian and Hugging Face.

use super::error::nearest;

/// A line per key: the key, its names elsewhere, and the differences.
const TABLE: &str = include_str!("peers.tsv");

/// The end of an error message: the key among `known` that `name` may mean. This is the key with the
/// meaning of `name` in another toolkit, otherwise the most similar key.
pub(super) fn hint(name: &str, known: &[&str]) -> String {
    match (peer(name, known), nearest(name, known.iter().copied())) {
        (Some(("-", remark)), _) => format!("; {remark}"),
        (Some((key, "")), _) => format!("; here it is \"{key}\""),
        (Some((key, remark)), _) => format!("; here it is \"{key}\" ({remark})"),
        (None, Some(key)) => format!("; did you mean \"{key}\"?"),
        (None, None) => String::new(),
    }
}

/// The key for `name` in another toolkit and the differences, if the key is among `known`. `name` may
/// be in any section and have leading dashes.
pub(super) fn peer(name: &str, known: &[&str]) -> Option<(&'static str, &'static str)> {
    let last = name
        .rsplit('.')
        .next()
        .unwrap_or_default()
        .trim_start_matches('-');
    let name = last.to_lowercase().replace('-', "_");
    let mut rows = rows().filter(|[key, ..]| *key == "-" || known.contains(key));
    let row = rows.find(|[_, names, _]| names.split(' ').any(|other| other == name));
    row.map(|[key, _, remark]| (key, remark))
}

/// The columns of each line of the table.
fn rows() -> impl Iterator<Item = [&'static str; 3]> {
    let lines = TABLE.lines().filter(|line| !line.starts_with('#'));
    lines.filter_map(|line| line.split('\t').collect::<Vec<_>>().try_into().ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::reference::SettingsFile;

    fn keys(file: SettingsFile) -> Vec<String> {
        file.sections()
            .into_iter()
            .flat_map(|section| section.keys)
            .map(|key| key.path)
            .collect()
    }

    #[test]
    fn every_line_has_a_key_and_every_name_one_line() {
        let files = SettingsFile::ALL.map(keys);
        let lines = TABLE.lines().filter(|line| !line.starts_with('#')).count();
        assert_eq!(rows().count(), lines, "a line has three columns");
        for known in files {
            let known: Vec<&str> = known.iter().map(String::as_str).collect();
            let mut seen = std::collections::BTreeSet::new();
            for [key, names, _] in rows().filter(|[key, ..]| known.contains(key)) {
                for name in names.split(' ') {
                    assert!(seen.insert(name), "{name} stands twice");
                    assert!(!known.contains(&name), "{name} is a key itself");
                    let dashed = format!("training.--{}", name.to_uppercase().replace('_', "-"));
                    assert_eq!(peer(&dashed, &known).unwrap().0, key);
                }
            }
        }
        let all = SettingsFile::ALL.map(keys).concat();
        assert!(rows().all(|[key, ..]| key == "-" || all.iter().any(|known| known == key)));
    }
}
