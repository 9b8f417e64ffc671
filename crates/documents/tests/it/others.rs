//! Other people's documents: html5lib's tests (MIT), and any folder.

use std::path::Path;

use crate::common::{Model, identity, markup, reverse, translate, unlinked, upper};
use crate::pages::{letters, tree, untranslated};
use burnformer_documents::{Format, PendingSentence, Translated};

/// Returns the faults of `page` after models that return it, or change letters, order and
/// positions.
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
        let at = same
            .bytes()
            .zip(page.bytes())
            .position(|(a, b)| a != b)
            .unwrap_or(0);
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
        Translated {
            text: format!("( {text} )"),
            links,
        }
    };
    let models: [(Model<'_>, bool); 4] = [
        (&upper, true),
        (&reverse, true),
        (&blind, true),
        (&wraps, false),
    ];
    for (model, keeps_text) in models {
        let after = translate(page, Format::Html, model);
        check(tree(&after) == tree(page), "another tree");
        check(markup(&after) == markup(page), "other tags");
        check(
            untranslated(&after) == untranslated(page),
            "other code or comments",
        );
        check(
            !keeps_text || letters(&after) == letters(page),
            "lost or doubled text",
        );
    }
    all.dedup();
    all
}

/// Returns whether white space is single, which is then promised to stay.
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
    let mut count = 0;
    let mut bad = 0;
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
    let named = inputs
        .into_iter()
        .map(|input| (format!("{input:?}"), input));
    // Tags that cross over several blocks get another tree.
    assert!(report("html5lib", named) <= 6);
}

/// `PAGES=/usr/share/doc PAGES_STEP=50 cargo test --release -p burnformer-documents --test it
/// pages_of -- --ignored --nocapture`
#[test]
#[ignore = "reads the pages below a folder"]
fn pages_of_a_folder_keep_their_trees_tags_and_words() {
    let folder = std::env::var("PAGES").expect("PAGES names a folder");
    let step = std::env::var("PAGES_STEP")
        .ok()
        .and_then(|step| step.parse().ok())
        .unwrap_or(1);
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

/// Each word that has letters alone becomes `w` and its number, counted over the document.
fn numbered(text: &str, format: Format) -> (String, usize) {
    let count = std::cell::Cell::new(0);
    let number = |sentence: &PendingSentence| {
        let word = |word: &str| {
            let start = word.len()
                - word
                    .trim_start_matches(|c: char| !c.is_alphanumeric())
                    .len();
            let end = word
                .trim_end_matches(|c: char| !c.is_alphanumeric())
                .len()
                .max(start);
            let letters = &word[start..end];
            if letters.is_empty() || !letters.chars().all(char::is_alphabetic) {
                return word.to_string();
            }
            count.set(count.get() + 1);
            format!("{}w{}{}", &word[..start], count.get(), &word[end..])
        };
        let words: Vec<String> = sentence.text.split(' ').map(word).collect();
        Translated {
            text: words.join(" "),
            links: Vec::new(),
        }
    };
    (translate(text, format, &number), count.get())
}

#[test]
fn nothing_is_missing_and_nothing_is_doubled_in_any_format() {
    let cue = "1\n00:01,000 --> 00:02,000\n\nOne two.\n\n<i>three four</i>\nfive\n\n2\n00:03,000 --> 00:04,000\n- six\n- seven\n";
    let page = "<title>one</title><p>Two <b>three.</b> four <a href=x title='five six'>seven</a><br>eight</p>\n<!--more-->\nnine<ul><li>ten<li>eleven</ul><table><tr><td>twelve<td>thirteen</table>fourteen<!-- x -->fifteen";
    let markdown = "# One two\n\nthree *four* [five](x).\nsix\n\n- seven\n- eight\n\n> nine\n> ten\n\n| eleven | twelve |\n|---|---|\n| thirteen | **fourteen** |\n\n<div>fifteen</div>\n";
    let text = "One two.\rthree four.\r\n- five\tsix\n\n  seven: eight (nine). ten.";
    for (text, format, words) in [
        (cue, Format::Srt, 7),
        (&cue.replace('\n', "\r"), Format::Srt, 7),
        (&cue.replace('\n', "\r\n"), Format::Srt, 7),
        (page, Format::Html, 14),
        (markdown, Format::Markdown, 15),
        (text, Format::Text, 10),
    ] {
        let (after, count) = numbered(text, format);
        assert_eq!(count, words, "{after}");
        let mut numbers: Vec<usize> = after
            .split('w')
            .skip(1)
            .filter_map(|part| {
                part[..part
                    .find(|c: char| !c.is_ascii_digit())
                    .unwrap_or(part.len())]
                    .parse()
                    .ok()
            })
            .collect();
        numbers.sort_unstable();
        assert_eq!(numbers, (1..=count).collect::<Vec<_>>(), "{after}");
    }
}
