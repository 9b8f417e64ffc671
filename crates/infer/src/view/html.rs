use std::collections::BTreeMap;

use super::{AttentionMatrix, HeadHabits, HeadRole, Panel, SentenceAttention};

const PAGE: &str = include_str!("page.html");

/// The style of the pages, for [`linked_page`].
pub const PAGE_STYLE: &str = include_str!("page.css");

/// The script of the pages, for [`linked_page`].
pub const PAGE_SCRIPT: &str = include_str!("page.js");

/// A sentence for the script: source, target, alignment and panels.
type PageSentence<'a> = (&'a str, &'a str, &'a [(usize, usize)], Vec<PagePanel<'a>>);

/// One kind of attention for the script: name, title, queries, keys, and the weights
/// `[layer][head]`, each row by row in thousandths, a third of the size of floats.
type PagePanel<'a> = (
    &'a str,
    &'a str,
    &'a [String],
    &'a [String],
    Vec<Vec<Vec<u16>>>,
);

/// Returns a self-contained HTML page with the attention weights of `sentences`.
///
/// The page opens with a single head of the encoder's last layer, as a map and as lines like the
/// paper's Figures 3 to 5. Heads have names by their habits over all sentences ([`HeadHabits`]).
/// The reader chooses sentence, kind of attention, layer and head (or the mean of heads), and sees
/// single weights by pointing at them or with the arrow keys. The address of the page contains the
/// choice after `#`, as `sentence=1&part=cross&layer=2&head=mean`, for links to a view.
pub fn page(title: &str, sentences: &[SentenceAttention]) -> String {
    let policy = "style-src 'unsafe-inline'; script-src 'unsafe-inline'".into();
    let style = format!("<style>\n{PAGE_STYLE}</style>");
    let script = format!("<script>\n{PAGE_SCRIPT}</script>");
    filled(title, sentences, [policy, style, script])
}

/// Returns the page of [`page`] for a web server with a content security policy against inline
/// scripts: [`PAGE_STYLE`] and [`PAGE_SCRIPT`] are served at the addresses `style` and `script`.
pub fn linked_page(
    title: &str,
    sentences: &[SentenceAttention],
    style: &str,
    script: &str,
) -> String {
    let policy = "style-src 'self'; script-src 'self'".into();
    let style = format!("<link rel=\"stylesheet\" href=\"{}\">", escaped(style));
    let script = format!("<script src=\"{}\" defer></script>", escaped(script));
    filled(title, sentences, [policy, style, script])
}

/// A page with a policy, a style and a script, self-contained or with links to its files.
fn filled(
    title: &str,
    sentences: &[SentenceAttention],
    [policy, style, script]: [String; 3],
) -> String {
    let roles = HeadHabits::of(sentences).into_iter().filter_map(|habit| {
        let key = format!("{}.{}.{}", habit.part.name(), habit.layer, habit.head);
        Some((key, habit.role.map(HeadRole::name)?))
    });
    let roles: BTreeMap<String, &str> = roles.collect();
    let sentences: Vec<PageSentence> = sentences.iter().map(of_sentence).collect();
    let data = serde_json::to_string(&(sentences, roles)).expect("strings and numbers are JSON");
    // A `<` could end the script element; a JSON escape cannot.
    let data = data.replace('<', "\\u003c");
    // The data comes last, so that its text is not taken for a placeholder.
    let names = ["policy", "title", "style", "script", "data"];
    let parts = names
        .into_iter()
        .zip([policy, escaped(title), style, script, data]);
    parts.fold(
        PAGE.to_string(),
        |page: String, (name, part): (&str, String)| {
            page.replace(&format!("{{{{{name}}}}}"), &part)
        },
    )
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

fn of_sentence(sentence: &SentenceAttention) -> PageSentence<'_> {
    let panels = sentence.panels.iter().map(
        |Panel {
             kind,
             queries,
             keys,
             layers,
         }| {
            (
                kind.name(),
                kind.title(),
                &queries[..],
                &keys[..],
                layers
                    .iter()
                    .map(|heads| heads.iter().map(thousandths).collect())
                    .collect(),
            )
        },
    );
    (
        &sentence.source,
        &sentence.target,
        &sentence.alignment,
        panels.collect(),
    )
}

fn thousandths(matrix: &AttentionMatrix) -> Vec<u16> {
    matrix
        .rows()
        .flatten()
        .map(|weight| (weight * 1000.0).round() as u16)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::tests::sentence;
    use super::*;

    #[test]
    fn the_page_is_self_contained() {
        let page = page("a <model>", &[sentence()]);
        assert!(page.contains("<title>a &lt;model&gt;</title>"));
        assert!(!page.contains("{{"));
        for outside in ["http:", "https:", " src=", "<link", "@import", "url("] {
            assert!(!page.contains(outside), "{outside}");
        }
        assert!(page.contains("default-src 'none'"));
    }

    #[test]
    fn no_sentence_can_end_the_script() {
        let mut hostile = sentence();
        hostile.source = "</script><script>alert(1)</script> {{title}}".into();
        let page = page("x", &[hostile]);
        assert_eq!(page.matches("</script>").count(), 2);
    }

    #[test]
    fn a_linked_page_holds_no_program_of_its_own() {
        let page = linked_page("x", &[sentence()], "a.css", "a.js");
        assert!(
            page.contains(r#"<link rel="stylesheet" href="a.css">"#),
            "{page}"
        );
        assert!(
            page.contains(r#"<script src="a.js" defer></script>"#),
            "{page}"
        );
        assert!(
            !page.contains("unsafe-inline") && !page.contains("<style>") && !page.contains("{{")
        );
        assert_eq!(page.matches("<script").count(), 2, "the link and the data");
    }

    #[test]
    fn weights_are_thousandths() {
        assert_eq!(
            thousandths(&AttentionMatrix::new(3, vec![0.1234, 0.0, 1.0])),
            [123, 0, 1000]
        );
    }
}
