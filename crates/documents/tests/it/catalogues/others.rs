//! Other people's catalogues, where they are.

use super::*;

/// The files under `folder` with their formats.
fn under(folder: &Path, found: &mut Vec<(PathBuf, Format)>) {
    for path in fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
    {
        let extension = path
            .extension()
            .and_then(|name| name.to_str())
            .unwrap_or_default();
        match Format::from_extension(extension) {
            _ if path.is_dir() => under(&path, found),
            Some(format)
                if format.is_catalogue() || [Format::Ass, Format::Srt].contains(&format) =>
            {
                found.push((path, format));
            }
            _ => {}
        }
    }
}

/// Each word with its number behind it.
fn numbered(sentence: &PendingSentence) -> Translated {
    let words = sentence.text.split(' ').enumerate();
    let all: Vec<String> = words
        .map(|(number, word)| format!("{word} w{number}"))
        .collect();
    Translated {
        text: all.join(" "),
        links: vec![],
    }
}

/// The visible characters of a text without the numbers behind its words, sorted: a placeholder may
/// have moved.
fn visible(text: &str) -> Vec<char> {
    let mut all = String::new();
    for (number, part) in text.replace('>', "> ").split(" w").enumerate() {
        let rest = part.trim_start_matches(|c: char| c.is_ascii_digit());
        let is_number = number > 0 && rest.len() < part.len();
        all += if is_number || number == 0 { "" } else { "w" };
        all += if is_number { rest } else { part };
    }
    let mut all: Vec<char> = all
        .chars()
        .filter(|c| c.is_alphanumeric() || c.is_ascii_punctuation())
        .collect();
    all.sort_unstable();
    all
}

/// Real files from the folder `CATALOGUES`: `CATALOGUES=FOLDER cargo test --release -p
/// burnformer-documents --test it other_peoples -- --ignored --nocapture`. Files with numbered
/// words are written beside them, for `msgfmt`, translate-toolkit and others to check.
#[test]
#[ignore = "needs a folder of files"]
fn other_peoples_catalogues_stay_as_they_are() {
    let folder = std::env::var_os("CATALOGUES").expect("CATALOGUES names a folder");
    let mut all = Vec::new();
    under(Path::new(&folder), &mut all);
    all.sort_by(|(one, _), (other, _)| one.cmp(other));
    let mut counts = std::collections::BTreeMap::<&str, [usize; 5]>::new();
    for (path, format) in all {
        let [files, refused, messages, changed, lost] = counts.entry(format.name()).or_default();
        let bytes = fs::read(&path).unwrap();
        *files += 1;
        let file = match WholeFile::read(bytes.clone(), format.name()) {
            Ok(file) => file,
            Err(error) => {
                println!("{}: {error}", path.display());
                *refused += 1;
                continue;
            }
        };
        let text = file.text.clone();
        let before = match Catalogue::read(text.trim_start_matches('\u{feff}'), format, [None; 2]) {
            Ok(catalogue) => catalogue.messages,
            Err(error) => {
                println!("{}: {error}", path.display());
                *refused += 1;
                continue;
            }
        };
        *messages += before.len();
        if file.write(translate(&text, format, &identity), [None; 2]) != bytes {
            println!("{}: changes without a translation", path.display());
            *changed += 1;
        }
        let mut document = Document::parse(&text, format, Some("en"), &|_| true);
        while !document.pending().is_empty() {
            document.accept(document.pending().iter().map(numbered).collect());
        }
        let result = document.finish();
        let written = file.write(result.clone(), [None; 2]);
        fs::write(path.with_added_extension("numbered"), written).unwrap();
        let after = Catalogue::read(result.trim_start_matches('\u{feff}'), format, [None; 2]);
        let after = after
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()))
            .messages;
        let is_empty = |found: &str, expected: &str| {
            found.is_empty()
                && Document::message(expected, None, &|_| true)
                    .pending()
                    .is_empty()
        };
        let is_new = |message: &Message| message.state == MessageState::Untranslated;
        let same = |(before, after): (&Message, &Message)| {
            let text = |message: &Message| {
                if format.has_translations() {
                    message.target.clone()
                } else {
                    message.source.clone()
                }
            };
            let expected = if is_new(before) {
                before.source.clone()
            } else {
                text(before)
            };
            let found = text(after);
            let is_same = before.context == after.context
                && (visible(&expected) == visible(&found) || is_empty(&found, &expected));
            if !is_same {
                println!("{}:{}: {expected:?} {found:?}", path.display(), before.line);
            }
            is_same
        };
        let kept = before.iter().zip(&after).filter(|pair| same(*pair)).count();
        *lost += before.len().max(after.len()) - kept;
    }
    for (name, [files, refused, messages, changed, lost]) in counts {
        println!(
            "{name}: {files} files, {refused} refused, {messages} messages, {changed} changed without a translation, {lost} messages with other words"
        );
    }
}
