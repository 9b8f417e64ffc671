//! Real Markdown: the examples of CommonMark and GitHub's extensions, from the tests of
//! `pulldown-cmark`, and the READMEs in cargo's registry, where every build has them. Neither is
//! copied here.

use std::fs;
use std::path::PathBuf;

use crate::common::{Model, identity, reverse, translate, unlinked, upper};
use burnformer_documents::{Format, PendingSentence, Translated};
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

/// The sources of packages in cargo's registry.
fn packages() -> Vec<PathBuf> {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo")));
    let folders = |path: PathBuf| {
        let entries = fs::read_dir(path).into_iter().flatten().flatten();
        entries
            .map(|entry| entry.path())
            .filter(|path| path.is_dir())
            .collect::<Vec<_>>()
    };
    let registries = home
        .map(|home| folders(home.join("registry/src")))
        .unwrap_or_default();
    let mut all: Vec<PathBuf> = registries.into_iter().flat_map(folders).collect();
    all.sort();
    all
}

/// Named documents.
type Suite = Vec<(String, String)>;

fn readmes() -> Suite {
    packages()
        .into_iter()
        .filter_map(|path: PathBuf| {
            let file = path.join("README.md");
            Some((file.display().to_string(), fs::read_to_string(file).ok()?))
        })
        .collect()
}

/// The examples in the tests of `pulldown-cmark`.
fn examples() -> Suite {
    let mut all = Suite::new();
    for package in packages().into_iter().filter(|path: &PathBuf| {
        path.file_name()
            .is_some_and(|name| name.to_string_lossy().starts_with("pulldown-cmark-0."))
    }) {
        for entry in fs::read_dir(package.join("tests/suite"))
            .into_iter()
            .flatten()
            .flatten()
        {
            let text = fs::read_to_string(entry.path()).unwrap_or_default();
            let name = entry.file_name().to_string_lossy().into_owned();
            let parts = text.split("let original = r##\"").skip(1);
            let examples = parts.filter_map(|part| part.split_once("\"##;"));
            all.extend(examples.enumerate().map(|(number, (example, _))| {
                (format!("{name} {}", number + 1), example.to_string())
            }));
        }
    }
    all
}

/// Documents of each kind that was once written wrongly; others, divided in the same way, from the
/// file that `KINDS` names.
fn kinds() -> Suite {
    let file = std::env::var("KINDS")
        .ok()
        .and_then(|file| fs::read_to_string(file).ok());
    let all = file.unwrap_or_else(|| include_str!("../fixtures/kinds.md").into());
    let named =
        |(number, text): (usize, &str)| (format!("kind {}", number + 1), format!("{text}\n"));
    all.split("\n%%%%\n").enumerate().map(named).collect()
}

/// The name of a form of a document, and how it is made.
type Form<'a> = (&'a str, &'a dyn Fn(&str) -> String);

/// The documents of `suite` within a quotation and an item, and with other ends of lines.
fn within(suite: &Suite) -> Suite {
    let lines = |text: &str, first: &str, others: &str| {
        first.to_string() + &text.trim_end().replace('\n', &format!("\n{others}")) + "\n"
    };
    let forms: [Form<'_>; 5] = [
        ("quoted", &|text| lines(text, "> ", "> ")),
        ("in an item", &|text| lines(text, "- ", "  ")),
        ("in a quoted item", &|text| {
            lines(&lines(text, "1. ", "   "), "> ", "> ")
        }),
        ("with CRLF", &|text| text.replace('\n', "\r\n")),
        ("with CR", &|text| text.replace('\n', "\r")),
    ];
    forms
        .iter()
        .flat_map(|(form, change): &Form<'_>| {
            suite
                .iter()
                .map(|(name, text)| (format!("{name} {form}"), change(text)))
                .collect::<Suite>()
        })
        .collect()
}

/// Every sentence in square brackets, between words of other text.
fn wrap(sentence: &PendingSentence) -> Translated {
    Translated {
        text: format!("[{}]", sentence.text),
        links: Vec::new(),
    }
}

/// Like `wrap`, with characters that begin markup.
fn hostile(sentence: &PendingSentence) -> Translated {
    let text = format!("# *{}_ | <b> ~~ $ ` ![1. {{x}}", sentence.text);
    Translated {
        text,
        links: Vec::new(),
    }
}

/// The first word of each sentence.
fn shorten(sentence: &PendingSentence) -> Translated {
    let text = sentence
        .text
        .split_whitespace()
        .next()
        .unwrap_or_default()
        .into();
    Translated {
        text,
        links: Vec::new(),
    }
}

/// Returns the elements of `markdown` in document order, without text. Elements of a paragraph are
/// in alphabetical order, each with its ancestors. Emphasis may be written as HTML.
pub fn tree(markdown: &str) -> Vec<String> {
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_HEADING_ATTRIBUTES
        | Options::ENABLE_YAML_STYLE_METADATA_BLOCKS
        | Options::ENABLE_PLUSES_DELIMITED_METADATA_BLOCKS
        | Options::ENABLE_MATH
        | Options::ENABLE_GFM
        | Options::ENABLE_DEFINITION_LIST;
    let mut all = Vec::new();
    let mut inline = Vec::new();
    let mut open = Vec::<String>::new();
    let mut code = false;
    let mut html = String::new();
    for event in Parser::new_ext(markdown, options) {
        let name = match &event {
            Event::Text(text) if code => text.to_string(),
            Event::Text(_) | Event::SoftBreak => continue,
            Event::Start(Tag::Emphasis) => "<em>".into(),
            Event::Start(Tag::Strong) => "<strong>".into(),
            Event::Start(Tag::Strikethrough) => "<del>".into(),
            Event::Start(Tag::Link {
                dest_url, title, ..
            }) => format!("link {dest_url} {title}"),
            Event::Start(Tag::Image {
                dest_url, title, ..
            }) => format!("image {dest_url} {title}"),
            Event::InlineHtml(tag) => Some(crate::common::markup(tag).concat())
                .filter(|tag| !tag.is_empty())
                .unwrap_or(tag.to_string()),
            Event::Html(part) => {
                html.push_str(part);
                continue;
            }
            Event::End(TagEnd::HtmlBlock) => {
                all.push(format!(
                    "html {:?}",
                    crate::common::markup(&std::mem::take(&mut html))
                ));
                continue;
            }
            other => format!("{other:?}"),
        };
        match event {
            Event::Start(
                Tag::Emphasis
                | Tag::Strong
                | Tag::Strikethrough
                | Tag::Link { .. }
                | Tag::Image { .. },
            ) => {
                inline.push(format!("{} {name}", open.concat()));
                open.push(name);
            }
            Event::End(
                TagEnd::Emphasis
                | TagEnd::Strong
                | TagEnd::Strikethrough
                | TagEnd::Link
                | TagEnd::Image,
            ) => _ = open.pop(),
            Event::InlineHtml(_) if ["<em>", "<strong>", "<del>"].contains(&name.as_str()) => {
                inline.push(format!("{} {name}", open.concat()));
                open.push(name);
            }
            Event::InlineHtml(_)
                if name.starts_with("</") && open.last() == Some(&name.replacen("</", "<", 1)) =>
            {
                open.pop();
            }
            Event::Start(_) | Event::End(_) | Event::Rule => {
                inline.sort();
                all.append(&mut inline);
                open.clear();
                code = matches!(
                    event,
                    Event::Start(Tag::CodeBlock(_) | Tag::MetadataBlock(_))
                );
                all.push(name);
            }
            _ => inline.push(format!("{} {name}", open.concat())),
        }
    }
    all.append(&mut inline);
    all
}

/// Counts the documents of `suite` that are `same` after translation by `model`, and prints the
/// names of the others.
fn count(suite: &Suite, name: &str, model: Model<'_>, same: &dyn Fn(&str, &str) -> bool) -> usize {
    let is_same = |(document, text): &&(String, String)| {
        let after = translate(text, Format::Markdown, model);
        let same = same(text, &after);
        if !same {
            println!("{name}: {document}");
            if let (Ok(folder), Some(number)) = (
                std::env::var("SUITES_OUT"),
                document.rsplit('/').nth(1).or(Some(document)),
            ) {
                let file = format!("{folder}/{name}-{}", number.replace(' ', "-"));
                fs::write(format!("{file}.before"), text).unwrap();
                fs::write(format!("{file}.after"), &after).unwrap();
                fs::write(
                    format!("{file}.trees"),
                    tree(text).join("\n") + "\n=====\n" + &tree(&after).join("\n"),
                )
                .unwrap();
            }
        }
        same
    };
    let same = suite.iter().filter(is_same).count();
    println!("{name}: {same} of {}", suite.len());
    same
}

fn holds(suite: &Suite) {
    let mut all = vec![count(suite, "bytes", &identity, &|before, after| {
        before == after
    })];
    let blind = |sentence: &PendingSentence| unlinked(reverse(sentence));
    let models: [(&str, Model<'_>); 6] = [
        ("upper", &upper),
        ("reverse", &reverse),
        ("reverse without links", &blind),
        ("wrap", &wrap),
        ("hostile", &hostile),
        ("shorten", &shorten),
    ];
    for (name, model) in models {
        all.push(count(suite, name, model, &|before, after| {
            tree(before) == tree(after)
        }));
    }
    let plain = |text: &str| text.to_ascii_lowercase();
    count(suite, "spaces", &upper, &|before, after| {
        plain(before) == plain(after)
    });
    assert!(
        all.iter().all(|&count| count == suite.len()),
        "of {}: {all:?}",
        suite.len()
    );
}

#[test]
fn every_kind_keeps_its_tree_and_its_bytes() {
    holds(&kinds());
    holds(&within(&kinds()));
}

#[test]
fn the_examples_of_the_parser_keep_their_trees_and_their_bytes() {
    let all = examples();
    if all.is_empty() {
        println!("skipped: the registry has no tests of pulldown-cmark");
    }
    holds(&all);
}

#[test]
fn the_readmes_of_the_dependencies_keep_their_trees_and_their_bytes() {
    let all = readmes();
    if all.is_empty() {
        println!("skipped: the registry has no READMEs");
    }
    holds(&all);
}
