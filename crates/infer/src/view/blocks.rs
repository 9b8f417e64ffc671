use unicode_width::UnicodeWidthStr;

use super::{AttentionMatrix, shown};

/// The block characters, each with its smallest weight.
const SHADES: [(f32, char); 5] = [(0.7, '█'), (0.4, '▓'), (0.2, '▒'), (0.05, '░'), (0.0, '·')];

/// Draws `weights` with block characters for a terminal: one row per query, one column per key,
/// with vertical labels; `▁` is shown as `·`. The last line is a legend.
pub fn blocks(queries: &[String], keys: &[String], weights: &AttentionMatrix) -> String {
    let [queries, keys] =
        [queries, keys].map(|all| all.iter().map(|t| shown(t)).collect::<Vec<_>>());
    let margin = queries.iter().map(|query| query.width()).max().unwrap_or(0);
    let mut text = heads(&keys, margin);
    for (query, row) in queries.iter().zip(weights.rows()) {
        let pad = " ".repeat(margin - query.width());
        let cells: String = row.iter().map(|&weight| shade(weight)).collect();
        text += &format!("{pad}{query} {cells}\n");
    }
    let legend: Vec<String> = SHADES
        .iter()
        .map(|(from, shade)| format!("{shade}{shade} from {from}"))
        .collect();
    text + &format!("{} {}\n", " ".repeat(margin), legend.join("  "))
}

/// The keys, one character per line, each above its two columns.
fn heads(keys: &[String], margin: usize) -> String {
    let height = keys
        .iter()
        .map(|key| key.chars().count())
        .max()
        .unwrap_or(0);
    let keys: Vec<Vec<char>> = keys.iter().map(|key| key.chars().collect()).collect();
    let mut text = String::new();
    for line in 0..height {
        let cells: String = keys
            .iter()
            .map(|key| {
                let above = height - key.len();
                let char = line.checked_sub(above).map_or(' ', |row| key[row]);
                let narrow = char.to_string().width() < 2;
                format!("{char}{}", if narrow { " " } else { "" })
            })
            .collect();
        text += &format!("{} {}\n", " ".repeat(margin), cells.trim_end());
    }
    text
}

fn shade(weight: f32) -> String {
    let shade = SHADES
        .iter()
        .find(|(from, _)| weight >= *from)
        .map_or('?', |(_, shade)| *shade);
    [shade; 2].iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_stand_under_their_columns() {
        let words = |words: &[&str]| words.iter().map(ToString::to_string).collect::<Vec<_>>();
        let weights = AttentionMatrix::new(2, vec![1.0, 0.0, 0.25, 0.75]);
        let text = blocks(&words(&["a", "Haus"]), &words(&["ab", "c"]), &weights);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[..4], ["     a", "     b c", "   a ██··", "Haus ▒▒██"]);
        assert!(lines[4].contains("▓▓ from 0.4"));
    }

    #[test]
    fn wide_characters_keep_the_columns() {
        let words = |words: &[&str]| words.iter().map(ToString::to_string).collect::<Vec<_>>();
        let text = blocks(
            &words(&["家"]),
            &words(&["家", "b"]),
            &AttentionMatrix::new(2, vec![0.5, 0.5]),
        );
        assert_eq!(
            text.lines().take(2).collect::<Vec<_>>(),
            ["   家b", "家 ▓▓▓▓"]
        );
    }

    #[test]
    fn nan_has_its_own_mark() {
        assert_eq!(shade(f32::NAN), "??");
    }
}
