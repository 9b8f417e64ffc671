//! Other people's documents: html5lib's tests (MIT), and any folder.

use std::path::Path;

use crate::common::{Model, identity, markup, reverse, translate, unlinked, upper};
use crate::pages::{letters, tree, untranslated};
use burnformer_documents::{Format, PendingSentence, Translated};

/// What is wrong with `page` behind models that return it, that change letters, order and places.
fn faults(page: &str) -> Vec<&'static str> {
    let mut all = Vec::new();
    let mut check = |holds: bool, fault: &'static str| {
        if !holds {
            all.push(fault);
        }
    };
    let spaces = |text: &str| text.split_ascii_whitespace().collect::<String>();
    let same = translate(page, Format::Html, &identity);
    if std::env::var("PAGES_SHOW").is_ok() && spaces(&same) != spaces(page) {
        let at = same.bytes().zip(page.bytes()).position(|(a, b)| a != b).unwrap_or(0);
        let near = |text: &str| {
            String::from_utf8_lossy(
                &text.as_bytes()[at.saturating_sub(60)..text.len().min(at + 60)],
            )
            .into_owned()
        };
        println!("{:?}\n{:?}", near(page), near(&same));
    }
    check(spaces(&same) == spaces(page), "other spelling");
    check(
        same == page || spaces(&same) != spaces(page) || !is_single_spaced(page),
        "other white space",
    );
    let blind = |sentence: &PendingSentence| unlinked(reverse(sentence));
    let wraps = |sentence: &PendingSentence| {
        let Translated { text, mut links } = reverse(sentence);
        links.iter_mut().for_each(|link| {
            link.target.start += 2;
            link.target.end += 2;
        });
        Translated { text: format!("( {text} )"), links }
    };
    let models: [(Model<'_>, bool); 4] =
        [(&upper, true), (&reverse, true), (&blind, true), (&wraps, false)];
    for (model, keeps_text) in models {
        let after = translate(page, Format::Html, model);
        check(tree(&after) == tree(page), "another tree");
        check(markup(&after) == markup(page), "other tags");
        check(untranslated(&after) == untranslated(page), "other code or comments");
        check(!keeps_text || letters(&after) == letters(page), "lost or doubled text");
    }
    all.dedup();
    all
}

/// Whether white space is single, which is then promised to stay.
fn is_single_spaced(page: &str) -> bool {
    !page.contains(['\n', '\r', '\t', '\x0c']) && !page.contains("  ") && {
        let text = html5gum::Tokenizer::new(page).filter_map(|Ok(token)| match token {
            html5gum::Token::String(text) => Some(String::from_utf8_lossy(&text).into_owned()),
            _ => None,
        });
        !text.collect::<String>().contains("  ")
    }
}

fn report(name: &str, all: impl Iterator<Item = (String, String)>) -> usize {
    let (mut count, mut bad) = (0, 0);
    for (title, page) in all {
        count += 1;
        let faults = faults(&page);
        if !faults.is_empty() {
            bad += 1;
            println!("{title}: {faults:?}");
        }
    }
    println!("{name}: {bad} of {count} with faults");
    bad
}

#[test]
fn html5lib_inputs_keep_their_trees_tags_and_words() {
    let inputs: Vec<String> =
        serde_json::from_str(include_str!("../fixtures/html5lib/inputs.json")).unwrap();
    let named = inputs.into_iter().map(|input| (format!("{input:?}"), input));
    // Those are: an ampersand without a reference beside references, references for two characters, tags as text of a title, NUL;
    // and six trees of tags that cross over several blocks.
    assert!(report("html5lib", named) <= 38);
}

/// `PAGES=/usr/share/doc PAGES_STEP=50 cargo test --release -p burnformer-documents --test it pages_of -- --ignored --nocapture`
#[test]
#[ignore = "reads the pages below a folder"]
fn pages_of_a_folder_keep_their_trees_tags_and_words() {
    let folder = std::env::var("PAGES").expect("PAGES names a folder");
    let step = std::env::var("PAGES_STEP").ok().and_then(|step| step.parse().ok()).unwrap_or(1);
    let mut files = Vec::new();
    let mut todo = vec![Path::new(&folder).to_path_buf()];
    while let Some(path) = todo.pop() {
        if path.is_dir() {
            let entries = std::fs::read_dir(&path).into_iter().flatten().flatten();
            todo.extend(entries.map(|entry| entry.path()));
        } else if path.extension().is_some_and(|end| end == "html") {
            files.push(path);
        }
    }
    files.sort();
    let pages = files.iter().step_by(step).filter_map(|path| {
        let page = std::fs::read_to_string(path).ok()?;
        (page.len() < 100_000).then(|| (path.display().to_string(), page))
    });
    report(&folder, pages);
}
