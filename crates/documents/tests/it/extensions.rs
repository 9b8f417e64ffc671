//! Markdown beyond CommonMark and GitHub: the syntax stays, and the text in it is translated.

use crate::common::{identity, reverse, translate, upper};
use burnformer_documents::Format;

/// Each construct, from the documentation of Pandoc, MkDocs, Docusaurus, VuePress, MyST, MDX, Hugo,
/// Jekyll, kramdown, Obsidian and MathJax: a file in which the text to translate is in small
/// letters between `‹` and `›`.
const CASES: [&str; 40] = [
    // Containers and admonitions.
    "::: warning\n‹the house.›\n:::\n",
    "::: tip ‹the dog›\n‹the› *‹house›*‹.›\n\n‹two.›\n:::\n\n‹three›\n",
    ":::note[‹the dog›]\n\n‹the house.›\n\n:::\n",
    "::: {.callout-note title=\"x\"}\n‹the house.›\n:::\n",
    "::::{grid} 2\n:::{card}\n‹the house.›\n:::\n::::\n",
    "> ::: tip\n> ‹the house.›\n> :::\n",
    "!!! note \"‹the dog›\"\n    ‹the house.›\n\n    ‹two.›\n\n‹three›\n",
    "??? tip\n    ‹the house.›\n\n    !!! note\n        ‹two.›\n",
    "=== \"‹the dog›\"\n\n    ‹the house.›\n",
    "!!! ‹the house is big›\n\n‹two›\n",
    // Definitions and abbreviations.
    "‹dog›\n: ‹an animal›\n: ‹two›\n\n‹end›\n",
    "‹dog›\n\n:   ‹an animal›\n    ‹that barks›\n",
    "‹the page.›\n\n*[HTML]: ‹the markup language›\n*[W3C]: ‹the group›\n",
    // Formulas.
    "‹one›\n\n\\begin{align}\na &= b \\text{ the house} \\\\\n\nc &= d\n\\end{align}\n\n‹two›\n",
    "‹one›\n\\begin{equation*}\nx = y\n\\end{equation*}\n‹two›\n",
    "‹one›\n\n\\[\nx = the\n\\]\n\n‹two›\n",
    "‹the house›\n\\newpage\n‹two›\n",
    // MDX.
    "import Tabs from '@theme/Tabs';\nimport {a, b} from \"./x\";\n\n‹the house.›\n",
    "export const meta = {\n  title: 'the house',\n};\n\n‹the house.›\n",
    "<Tabs values={[{label: 'the', value: 'a > b'}]}>\n\n‹the house.›\n\n</Tabs>\n",
    "<Chart\n  data={the}\n  color=\"#fff\"\n/>\n\n‹the house.›\n",
    "{/* the comment\nis long */}\n\n‹the house.›\n",
    "‹import duties on the house›\n",
    "‹export the house to us›\n",
    // Marked text, sub- and superscripts, notes.
    "‹the› ==‹big› *‹red›*== ‹house.›\n",
    "‹water is› H~2~O ‹and› x^2^ ‹here.›\n",
    "‹the› ~~‹old›~~ ‹house so == good == yes.›\n",
    "‹the house›^[‹the› *‹small›* ‹note.›] ‹is big.›\n",
    // Attributes.
    "## ‹the house› {#the .big}\n\n‹the dog›\n{: .note}\n",
    "‹the› [‹house›](a.html){.btn target=\"_blank\"} ‹is big.›\n",
    "{: .the #house}\n‹the dog›\n",
    // Template tags.
    "{% include the.html title=\"the\" %}\n‹the› {% if a %}‹house›{% endif %} ‹is›\n",
    "{{< figure src=\"the.jpg\" title=\"the house\" >}}\n\n‹the dog›\n",
    "{{% notice tip %}}\n‹the house›\n{{% /notice %}}\n",
    // Wiki links and tables of contents.
    "‹see› [[the page|‹the house›]] ‹and› [[page]]‹.›\n",
    "![[the house.png]]\n\n[TOC]\n\n‹the house›\n",
    // Front matter and code.
    "---\ntitle: the house\n---\n\n::: tip\n‹the dog›\n:::\n",
    "```\n::: tip the house\n==the==\n*[A]: the\n```\n\n‹the› `==dog==`\n",
    "‹the› [‹dog›](a==b==c.html) ‹and› `H~2~O`\n",
    "| ‹the› ==‹dog›== | ‹the cat› |\n|---|---|\n| x^2^ | ‹two› |\n",
];

/// The file, and its translation into capitals.
fn both(case: &str) -> [String; 2] {
    let mut upper = String::new();
    for (number, part) in case.split(['‹', '›']).enumerate() {
        upper += &if number % 2 == 1 {
            part.to_uppercase()
        } else {
            part.to_owned()
        };
    }
    [case.replace(['‹', '›'], ""), upper]
}

#[test]
fn extensions_keep_their_syntax_and_their_text_is_translated() {
    let mut wrong = Vec::new();
    for case in CASES {
        for end in ["\n", "\r\n"] {
            let [source, expected] = both(&case.replace('\n', end));
            let found = translate(&source, Format::Markdown, &upper);
            if found != expected {
                wrong.push([expected, found]);
            }
            assert_eq!(translate(&source, Format::Markdown, &identity), source);
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Two constructs one after another, and each in a quotation. An engine that changes the order of
/// the words changes no sign.
#[test]
fn extensions_beside_and_within_others_stay() {
    let has_front_matter = |case: &&&str| !case.starts_with("---");
    let plain = |text: &str| {
        let is_break = |c: char| c.is_whitespace() || c == '>';
        text.to_lowercase().replace(is_break, "")
    };
    let signs = |text: &str| {
        let is_sign = |c: &char| c.is_ascii_punctuation() && !".,".contains(*c);
        let mut all: Vec<char> = text.chars().filter(is_sign).collect();
        all.sort_unstable();
        all
    };
    for case in CASES.iter().filter(has_front_matter) {
        let [source, _] = both(case);
        for other in CASES.iter().filter(has_front_matter) {
            let [other, _] = both(other);
            let text = format!("{source}\nThe end.\n\n{other}");
            let found = translate(&text, Format::Markdown, &upper);
            assert_eq!(plain(&found), plain(&text));
            assert_eq!(translate(&text, Format::Markdown, &identity), text);
            let found = translate(&text, Format::Markdown, &reverse);
            assert_eq!(signs(&found), signs(&text), "{text}\n{found}");
        }
        let quoted: String = source.lines().map(|line| format!("> {line}\n")).collect();
        let found = translate(&quoted, Format::Markdown, &upper);
        assert_eq!(plain(&found), plain(&quoted));
    }
}
