//! Finds wide lines of comments and pages, comments that begin with a word that hides their
//! subject, and identifiers that are not words of the field.

/// The columns of a comment or a page.
const COLUMNS: usize = 100;
/// First words of comments behind which a reader has to search for the subject.
const OPENINGS: [&str; 9] =
    ["What", "Which", "Whether", "Who", "Whose", "Those", "That", "Of", "How"];
/// Names of nothing: an index or a slot has a better one.
const NAMES: [&str; 3] = ["place", "places", "own"];
/// Participles, which are not names of types.
const PARTICIPLES: [&str; 13] = [
    "Taken", "Given", "Made", "Known", "Seen", "Asked", "Sent", "Left", "Lie", "At", "Order",
    "Unread", "Behind",
];

/// The lines of faults, from 1: wide lines, comments with such a first word, and such names. A page
/// has only the first kind.
pub fn faults(text: &str, is_page: bool) -> [Vec<usize>; 3] {
    let (mut is_block, mut opens, mut before) = (false, true, "");
    let mut faults = [const { Vec::new() }; 3];
    for (number, line) in (1..).zip(text.lines()) {
        let start = line.trim_start();
        let comment = start.strip_prefix("//").map(|text| text.trim_start_matches(['/', '!', ' ']));
        if let Some(text) = if is_page { Some(start) } else { comment } {
            is_block ^= text.starts_with("```");
            let is_fixed = text.starts_with('|') || text.contains("](") || text.contains("://");
            let is_wide = line.chars().count() > COLUMNS && !is_fixed;
            let is_opening =
                opens && words(text).next().is_some_and(|word| OPENINGS.contains(&word));
            faults[0].extend((is_wide && !is_block).then_some(number));
            faults[1].extend((is_opening && !is_page && !is_block).then_some(number));
            opens = text.is_empty() || text.starts_with('#');
        } else {
            (is_block, opens) = (false, true);
            let code = start.split(" //").next().unwrap_or_default();
            // The text of a string is not code; a backslash continues it on the next line.
            let code = code.split('"').skip(usize::from(before.ends_with('\\'))).step_by(2);
            let mut kind = "";
            for word in code.flat_map(words) {
                let is_type = ["struct", "enum", "trait", "type"].contains(&kind);
                let is_banned = NAMES.contains(&word) || is_type && PARTICIPLES.contains(&word);
                faults[2].extend(is_banned.then_some(number));
                kind = word;
            }
        }
        before = line;
    }
    faults
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| c != '_' && !c.is_alphanumeric()).filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: [Vec<usize>; 3] = [const { Vec::new() }; 3];

    #[test]
    fn a_comment_does_not_begin_with_a_word_that_hides_its_subject() {
        let at = |line| [vec![], vec![line], vec![]];
        for opening in OPENINGS {
            for start in ["/// ", "    //! ", "// ", "    /// - ", "/// # "] {
                let text = format!("{start}{opening} it is.\nfn f() {{}}\n");
                assert_eq!(faults(&text, false), at(1), "{text}");
            }
            let text = format!(
                "/// A sentence.\n/// {opening} continues it.\n///\n/// ```\n/// {opening}\n/// ```\n"
            );
            assert_eq!(faults(&text, false), NONE, "{text}");
            let text = format!("/// A sentence.\n///\n/// {opening}, however.\n");
            assert_eq!(faults(&text, false), at(3));
            assert_eq!(
                faults(&format!("/// {opening}ever comes.\n/// `{opening}`s."), false),
                NONE
            );
        }
    }

    #[test]
    fn comments_and_pages_end_at_column_100_but_for_code_tables_and_links() {
        let words = "ä ".repeat(50);
        let at = |line| [vec![line], vec![], vec![]];
        for (start, is_page) in [("// ", false), ("    /// ", false), ("", true), ("- ", true)] {
            let fits: String = format!("{start}{words}").chars().take(COLUMNS).collect();
            assert_eq!(faults(&fits, is_page), NONE, "{fits}");
            let wide = format!("{fits}ä");
            assert_eq!(faults(&wide, is_page), at(1), "{wide}");
            let prefix = if is_page { "" } else { "//! " };
            for fixed in ["| ", "https://a.b ", "[a](b) "] {
                assert_eq!(faults(&format!("{prefix}{fixed}{words}"), is_page), NONE, "{fixed}");
            }
            let block = format!("{prefix}```\n{prefix}{words}\n{prefix}```\n{wide}\n");
            assert_eq!(faults(&block, is_page), at(4));
        }
        assert_eq!(faults(&format!("let x = f({words});"), false), NONE, "code is rustfmt's");
    }

    #[test]
    fn such_names_count_in_code_and_not_in_texts() {
        let at = |line| [vec![], vec![], vec![line]];
        for name in NAMES {
            assert_eq!(faults(&format!("let x = {name};"), false), at(1));
            assert_eq!(faults(&format!("f(\"{name}\", |{name}| 1) // {name}"), false), at(1));
            let continued = format!("let x = \"in \\\n    {name} \\\n    {name}\" + {name};");
            assert_eq!(faults(&continued, false), at(3));
            assert_eq!(faults(&format!("let {name}s_x = \"{name}\"; // {name}"), false), NONE);
        }
        for name in PARTICIPLES {
            assert_eq!(faults(&format!("pub(crate) struct {name}<'a> {{"), false), at(1));
            assert_eq!(faults(&format!("let x = Side::{name};"), false), NONE);
        }
    }
}
