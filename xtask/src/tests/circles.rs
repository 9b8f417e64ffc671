//! Finds files of a crate that use each other in a circle. None of them can be understood, moved or
//! tested alone.
//!
//! Sources are split into words. A path uses the file that defines its last name, also through `pub
//! use` in another file. Methods, macros and glob imports are not followed.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::lines::{code, files, is_test};
use crate::shell::workspace;

/// The path of a module from the crate's root.
type Module = Vec<String>;

/// The names that a file declares and uses.
#[derive(Default)]
struct Names {
    defined: BTreeSet<String>,
    /// The paths of imported names.
    imported: BTreeMap<String, Vec<String>>,
    /// The paths that the file uses.
    used: Vec<Vec<String>>,
}

/// Returns the modules of a crate that are in a circle or between two, each with the modules among
/// them that it uses.
fn circles(code: &BTreeMap<Module, String>) -> BTreeMap<Module, BTreeSet<Module>> {
    let all: BTreeMap<Module, Names> = code
        .iter()
        .map(|(module, code)| (module.clone(), names(code)))
        .collect();
    let uses = |(module, names): (&Module, &Names)| {
        let is_inner = |path: &Vec<String>| {
            path[0] == "super" && path.last().is_some_and(|name| names.defined.contains(name))
        };
        let paths = names.used.iter().filter(|path| !is_inner(path));
        let files = paths.filter_map(|path| definer(&all, absolute(&all, module, path)?, 0));
        (
            module.clone(),
            files.filter(|file| file != module).collect::<BTreeSet<_>>(),
        )
    };
    let mut edges: BTreeMap<Module, BTreeSet<Module>> = all.iter().map(uses).collect();
    loop {
        let before = edges.len();
        let used: BTreeSet<Module> = edges.values().flatten().cloned().collect();
        edges.retain(|module, uses| !uses.is_empty() && used.contains(module));
        let left: BTreeSet<Module> = edges.keys().cloned().collect();
        edges
            .values_mut()
            .for_each(|uses| uses.retain(|file| left.contains(file)));
        if edges.len() == before {
            return edges;
        }
    }
}

/// `path` in `module` as a path from the root of the crate; `None` if it leads out of the crate.
fn absolute(all: &BTreeMap<Module, Names>, module: &[String], path: &[String]) -> Option<Module> {
    let (first, rest) = path.split_first()?;
    let child = [module, &path[..1]].concat();
    match first.as_str() {
        "crate" => Some(rest.to_vec()),
        "self" => Some([module, rest].concat()),
        "super" if rest.first().is_some_and(|next| next == "super") => {
            absolute(all, module.split_last()?.1, rest)
        }
        "super" => Some([module.split_last()?.1, rest].concat()),
        _ if all.contains_key(&child) => Some([module, path].concat()),
        name => {
            let import = all
                .get(module)?
                .imported
                .get(name)
                .filter(|import| import[0] != *name)?;
            Some([&absolute(all, module, import)?, rest].concat())
        }
    }
}

/// The file that defines the last name of a path from the root. `None` if the path is a module or
/// is not found.
fn definer(all: &BTreeMap<Module, Names>, path: Module, depth: usize) -> Option<Module> {
    let length = (0..path.len())
        .rev()
        .find(|&length| all.contains_key(&path[..length]))?;
    let module = &path[..length];
    let name = &path[length];
    if all.contains_key(&path) || depth > all.len() {
        return None;
    }
    let names = &all[module];
    if names.defined.contains(name) {
        return Some(module.to_vec());
    }
    let further = absolute(all, module, names.imported.get(name)?)?;
    definer(all, [&further, &path[length + 1..]].concat(), depth + 1)
}

/// The names in `code`.
fn names(code: &str) -> Names {
    let words = words(code);
    let mut names = Names::default();
    let mut at = 0;
    let word = |at: usize| {
        words
            .get(at)
            .copied()
            .filter(|word| is_word(word))
            .map(str::to_owned)
    };
    while at < words.len() {
        match words[at] {
            "use" => {
                let passes_on = at > 0 && ["pub", ")"].contains(&words[at - 1]);
                at += 1;
                for path in tree(&words, &mut at, &[]) {
                    let (alias, path) = path;
                    names.used.extend((!passes_on).then(|| path.clone()));
                    names.imported.insert(alias, path);
                }
            }
            "mod" => at += 1,
            "struct" | "enum" | "fn" | "const" | "type" | "trait" | "static" | "union" => {
                names.defined.extend(word(at + 1));
            }
            first if is_word(first) => {
                let mut path = vec![first.to_owned()];
                while words.get(at + 1) == Some(&"::") {
                    let Some(next) = word(at + 2) else { break };
                    path.push(next);
                    at += 2;
                }
                names.used.extend((path.len() > 1).then_some(path));
            }
            _ => {}
        }
        at += 1;
    }
    names
}

/// The names imported by the tree of a `use` that begins at word `at`, with their paths behind
/// `prefix`.
fn tree(words: &[&str], at: &mut usize, prefix: &[String]) -> Vec<(String, Vec<String>)> {
    let mut path = prefix.to_vec();
    let mut found = Vec::new();
    let mut alias = None;
    while let Some(&word) = words.get(*at) {
        match word {
            "{" => {
                while !["}", ";"].contains(&words[*at]) {
                    *at += 1;
                    found.extend(tree(words, at, &path));
                }
                *at += 1;
                return found;
            }
            "as" => alias = words.get(*at + 1).map(|name| (*name).to_owned()),
            "," | "}" | ";" => break,
            "self" if !path.is_empty() => {}
            word if is_word(word) && alias.is_none() => path.push(word.to_owned()),
            _ => {}
        }
        *at += 1;
    }
    let name = alias
        .or_else(|| path.last().cloned())
        .filter(|_| path.len() > prefix.len() || words[*at - 1] == "self");
    found.extend(name.map(|name| (name, path)));
    found
}

fn is_word(text: &str) -> bool {
    text.starts_with(|c: char| c.is_alphanumeric() || c == '_')
}

/// The words, double colons and other characters of `code`.
fn words(code: &str) -> Vec<&str> {
    let mut all = Vec::new();
    let mut rest = code.trim_start();
    while let Some(first) = rest.chars().next() {
        let end = match rest.find(|c: char| !(c.is_alphanumeric() || c == '_')) {
            Some(0) if rest.starts_with("::") => 2,
            Some(0) => first.len_utf8(),
            end => end.unwrap_or(rest.len()),
        };
        all.push(&rest[..end]);
        rest = rest[end..].trim_start();
    }
    all
}

/// The module in the file that `parts` lead to; the root of a crate has no name.
fn module(parts: &[&str]) -> Vec<String> {
    let (file, folders) = parts.split_last().expect("a file");
    let name = file.trim_end_matches(".rs");
    let name = Some(name).filter(|name| !["lib", "main", "mod"].contains(name));
    folders
        .iter()
        .copied()
        .chain(name)
        .map(str::to_owned)
        .collect()
}

/// The code of the modules of every crate of the `workspace`.
fn sources(workspace: &Path) -> BTreeMap<PathBuf, BTreeMap<Module, String>> {
    let mut sources = BTreeMap::<PathBuf, BTreeMap<Module, String>>::new();
    for path in files(workspace)
        .into_iter()
        .filter(|path| path.extension() == Some("rs".as_ref()))
    {
        let relative = path.strip_prefix(workspace).unwrap();
        let parts: Vec<&str> = relative.iter().map(|part| part.to_str().unwrap()).collect();
        let Some(src) = parts.iter().position(|part| *part == "src") else {
            continue;
        };
        if !parts.iter().any(is_test) {
            let text = fs::read_to_string(&path).unwrap();
            let modules = sources.entry(parts[..src].iter().collect()).or_default();
            modules.insert(module(&parts[src + 1..]), code(&text).join("\n"));
        }
    }
    sources
}

#[test]
fn no_files_of_a_crate_use_each_other_in_a_circle() {
    for (name, code) in sources(&workspace()) {
        let found: Vec<String> = circles(&code)
            .into_iter()
            .flat_map(|(module, uses)| {
                uses.into_iter()
                    .map(move |used| [module.join("::"), used.join("::")].join(" uses "))
            })
            .collect();
        assert!(found.is_empty(), "{}: {found:#?}", name.display());
    }
}

fn found(files: &[(&str, &str)]) -> Vec<String> {
    let module = |name: &str| {
        name.split('/')
            .filter(|part| !part.is_empty())
            .map(str::to_owned)
            .collect()
    };
    let code = files
        .iter()
        .map(|(name, code)| (module(name), (*code).to_owned()))
        .collect();
    circles(&code)
        .into_keys()
        .map(|module| module.join("/"))
        .collect()
}

#[test]
fn circles_are_found_through_reexports() {
    let root = (
        "",
        "mod a;\nmod b;\npub use a::{self, A as First};\nfn f(_: First) {}",
    );
    let a = ("a", "use crate::b::g;\npub struct A;\nfn f() { g() }");
    let b = ("b", "pub fn g() { let _ = crate::First; }");
    assert_eq!(found(&[root, a, b]), ["a", "b"]);
    let b = ("b", "pub fn g() {}\nmod inner { use super::g; }");
    assert_eq!(found(&[root, a, b]), Vec::<String>::new());
}

#[test]
fn a_module_and_its_parent_are_a_circle_too() {
    let a = ("a", "mod b;\nuse self::b::{B, C};\npub struct A;");
    let b = ("a/b", "use super::A;\npub struct B(A);\npub struct C;");
    assert_eq!(found(&[("", "mod a;"), a, b]), ["a", "a/b"]);
}
