//! Checks the links of every Markdown file of the repository. The file and the heading of each link
//! exist, and the pages of the guide are reachable inside it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

/// The folder that mdBook builds the guide from. Its pages may link only to each other.
const GUIDE: &str = "docs";

/// The guide's table of contents.
const SUMMARY: &str = "docs/SUMMARY.md";

/// The links and anchors of a Markdown file.
#[derive(Debug, Default, PartialEq)]
struct Page {
    /// The anchors of its headings, as GitHub and mdBook generate them, and explicit anchors.
    anchors: BTreeSet<String>,
    /// The local destinations of its links and pictures.
    links: Vec<String>,
    /// The inline code of the page.
    code: Vec<String>,
}

/// Returns every broken link below `root`, a sentence each.
///
/// # Errors
/// Returns an error if the files cannot be listed or read.
fn faults(root: &Path) -> Result<Vec<String>, String> {
    let mut pages = BTreeMap::new();
    for file in markdown_files(root)? {
        let text = fs::read_to_string(root.join(&file))
            .map_err(|cause| format!("{}: cannot be read: {cause}", file.display()))?;
        pages.insert(file, Page::of(&text));
    }
    let mut faults: Vec<String> = pages
        .iter()
        .flat_map(|(file, page)| {
            page.links
                .iter()
                .filter_map(|link| fault(root, &pages, file, link))
        })
        .collect();
    faults.extend(unlisted(&pages));
    Ok(faults)
}

/// The Markdown files that git tracks or would track, relative to `root`.
fn markdown_files(root: &Path) -> Result<Vec<PathBuf>, String> {
    let output = Command::new("git")
        .current_dir(root)
        .args([
            "ls-files",
            "--cached",
            "--others",
            "--exclude-standard",
            "*.md",
        ])
        .output()
        .map_err(|cause| format!("cannot start git to list the Markdown files: {cause}"))?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    let listed = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut files: Vec<PathBuf> = listed.lines().map(PathBuf::from).collect();
    // Fixtures are inputs of tests, with dead links.
    files.retain(|file| root.join(file).exists() && !file.iter().any(|part| part == "fixtures"));
    Ok(files)
}

impl Page {
    fn of(text: &str) -> Self {
        let mut page = Self::default();
        let mut heading: Option<String> = None;
        for event in Parser::new_ext(text, Options::ENABLE_TABLES) {
            let is_code = matches!(event, Event::Code(_));
            match event {
                Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
                Event::End(TagEnd::Heading(_)) => {
                    page.anchors
                        .insert(page.free_anchor(&heading.take().unwrap_or_default()));
                }
                Event::Text(part) | Event::Code(part) => {
                    if let Some(heading) = &mut heading {
                        heading.push_str(&part);
                    }
                    if is_code {
                        page.code.push(part.into_string());
                    }
                }
                Event::InlineHtml(tag) => {
                    let id = tag
                        .strip_prefix("<a id=\"")
                        .and_then(|rest| rest.split('"').next());
                    page.anchors.extend(id.map(str::to_owned));
                }
                Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. })
                    if !is_on_the_web(&dest_url) =>
                {
                    page.links.push(dest_url.into_string());
                }
                _ => {}
            }
        }
        page
    }

    /// The anchor of a further heading. Repeated anchors are numbered.
    fn free_anchor(&self, heading: &str) -> String {
        let anchor = anchor(heading);
        let numbered = (1..).map(|number| format!("{anchor}-{number}"));
        std::iter::once(anchor.clone())
            .chain(numbered)
            .find(|candidate| !self.anchors.contains(candidate))
            .expect("numbers do not end")
    }
}

fn is_on_the_web(link: &str) -> bool {
    ["http://", "https://", "mailto:"]
        .iter()
        .any(|scheme| link.starts_with(scheme))
}

/// The anchor of a heading: lower case, hyphens for spaces, no punctuation.
fn anchor(heading: &str) -> String {
    let kept = heading.trim().to_lowercase();
    let kept = kept
        .chars()
        .filter(|c| c.is_alphanumeric() || [' ', '-', '_'].contains(c));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// The error in the link `link` of `file`, if there is one.
fn fault(root: &Path, pages: &BTreeMap<PathBuf, Page>, file: &Path, link: &str) -> Option<String> {
    let (path, fragment) = link.split_once('#').unwrap_or((link, ""));
    let target = match path {
        "" => file.to_path_buf(),
        path => normalized(&file.with_file_name("").join(path)),
    };
    let fault = |what: &str| Some(format!("{}: the link \"{link}\" {what}", file.display()));
    if !root.join(&target).exists() {
        return fault("names a file that does not exist");
    }
    if file.starts_with(GUIDE) && !target.starts_with(GUIDE) {
        return fault(
            "leaves the guide, whose built pages cannot reach it; name the path as code instead",
        );
    }
    let has_anchor = |page: &Page| page.anchors.contains(&fragment.to_lowercase());
    if !fragment.is_empty() && pages.get(&target).is_some_and(|page| !has_anchor(page)) {
        return fault("names a heading that does not exist");
    }
    None
}

/// Resolves `.` and `..` in a path, without the file system.
fn normalized(path: &Path) -> PathBuf {
    let mut parts = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts
}

/// Pages of the guide that its table of contents does not list. mdBook would leave them out.
fn unlisted(pages: &BTreeMap<PathBuf, Page>) -> Vec<String> {
    let summary = Path::new(SUMMARY);
    let Some(contents) = pages.get(summary) else {
        return Vec::new();
    };
    let listed: BTreeSet<PathBuf> = contents
        .links
        .iter()
        .map(|link| normalized(&Path::new(GUIDE).join(link)))
        .collect();
    let in_guide = pages
        .keys()
        .filter(|file| file.starts_with(GUIDE) && *file != summary);
    in_guide
        .filter(|file| !listed.contains(*file))
        .map(|file| format!("{}: is not listed in {SUMMARY}", file.display()))
        .collect()
}

#[test]
fn every_link_of_the_repository_leads_somewhere() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("xtask lies in the workspace");
    let faults = faults(root).expect("git lists the Markdown files");
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Source files that `page` names but that do not exist below `root`. Pages of the guide cannot
/// link to source files and name them as code: by path, or by name in the folder `base` if there is
/// one.
fn missing_files<'a>(root: &Path, base: Option<&str>, page: &'a Page) -> Vec<&'a str> {
    let is_path = |code: &str| code.starts_with("crates/") && !code.contains('*');
    let is_file = |code: &&str| is_path(code) || base.is_some() && code.ends_with(".rs");
    let exists = |code: &str| {
        root.join(code).exists() || base.is_some_and(|base| root.join(base).join(code).exists())
    };
    page.code
        .iter()
        .map(String::as_str)
        .filter(is_file)
        .filter(|code| !exists(code))
        .collect()
}

#[test]
fn every_source_file_that_a_page_of_the_guide_names_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("xtask lies in the workspace");
    let mut named = 0;
    for file in markdown_files(root)
        .unwrap()
        .iter()
        .filter(|file| file.starts_with(GUIDE))
    {
        let page = Page::of(&fs::read_to_string(root.join(file)).expect("the page exists"));
        let base = match file.file_name().and_then(|name| name.to_str()) {
            Some("paper.md") => Some("crates/core/src"),
            Some("embedding.md") => Some("crates/core/examples"),
            _ => None,
        };
        assert_eq!(
            missing_files(root, base, &page),
            Vec::<&str>::new(),
            "{}",
            file.display()
        );
        named += page
            .code
            .iter()
            .filter(|code| code.ends_with(".rs"))
            .count();
    }
    assert!(named > 40, "the pages name {named} files");
    let page = Page::of("`mask.rs`, `masks.rs`, `crates/core`, `crates/data/sampler`");
    let missing = missing_files(root, Some("crates/core/src"), &page);
    assert_eq!(missing, ["masks.rs", "crates/data/sampler"]);
}

/// The broken links of a repository with these `files`.
fn faults_of(files: &[(&str, &str)]) -> Vec<String> {
    let pages = files
        .iter()
        .map(|(name, text)| (PathBuf::from(name), Page::of(text)));
    let pages: BTreeMap<PathBuf, Page> = pages.collect();
    let root = std::env::temp_dir().join(format!(
        "xtask-links-{}-{:?}",
        std::process::id(),
        std::thread::current().id()
    ));
    for (name, text) in files {
        let path = root.join(name);
        fs::create_dir_all(path.parent().expect("a parent")).unwrap();
        fs::write(path, text).unwrap();
    }
    let mut found: Vec<String> = Vec::new();
    for (file, page) in &pages {
        found.extend(
            page.links
                .iter()
                .filter_map(|link| fault(&root, &pages, file, link)),
        );
    }
    found.extend(unlisted(&pages));
    fs::remove_dir_all(&root).unwrap();
    found
}

#[test]
fn a_link_to_a_missing_file_or_heading_is_found() {
    let found = faults_of(&[
        (
            "README.md",
            "[a](docs/a.md) [b](docs/b.md) [c](docs/a.md#one-two) [d](docs/a.md#three) [w](https://example.org)",
        ),
        ("docs/a.md", "# One, *two*\n"),
    ]);
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(
        found[0].contains("docs/b.md") && found[0].contains("file"),
        "{found:?}"
    );
    assert!(
        found[1].contains("#three") && found[1].contains("heading"),
        "{found:?}"
    );
}

#[test]
fn a_page_of_the_guide_may_neither_leave_it_nor_be_missing_from_its_contents() {
    let found = faults_of(&[
        ("README.md", ""),
        ("docs/SUMMARY.md", "- [A](a.md)\n"),
        ("docs/a.md", "[out](../README.md) [in](b.md)"),
        ("docs/b.md", "[self](#none)"),
    ]);
    assert_eq!(found.len(), 3, "{found:?}");
    assert!(found[0].contains("leaves the guide"), "{found:?}");
    assert!(found[1].contains("#none"), "{found:?}");
    assert!(found[2].contains("docs/b.md: is not listed"), "{found:?}");
}

#[test]
fn anchors_match_github() {
    let page = Page::of("# `train --out`: why?\n## Twice\n## Twice\n");
    let expected = ["train---out-why", "twice", "twice-1"];
    assert_eq!(page.anchors, expected.map(String::from).into());
}
