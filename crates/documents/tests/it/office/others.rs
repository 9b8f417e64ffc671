//! Documents of other programs.

use super::*;

/// The words of each paragraph of a document.
fn words(office: &Office) -> Vec<Vec<String>> {
    office
        .html()
        .split_terminator("</p>\n")
        .map(|line: &str| {
            let pieces = line.replace("<br", " <br");
            let outside = pieces
                .split('<')
                .map(|piece| piece.split_once('>').map_or(piece, |(_, text)| text));
            let text: String = outside.collect();
            text.split_whitespace().map(str::to_owned).collect()
        })
        .collect()
}

/// `OFFICE_FILES=FOLDER cargo test --release -p burnformer-documents --test it office -- --ignored
/// --nocapture` tries every document in a folder.
#[test]
#[ignore = "needs a folder of documents"]
fn documents_of_others_lose_nothing() {
    let folder = std::env::var("OFFICE_FILES").expect("OFFICE_FILES names a folder");
    let mut folders = vec![std::path::PathBuf::from(folder)];
    let mut files = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            if entry.path().is_dir() {
                folders.push(entry.path())
            } else {
                files.push(entry.path())
            }
        }
    }
    files.sort();
    let mut counts = std::collections::BTreeMap::<String, [usize; 4]>::new();
    for path in files {
        let extension = path
            .extension()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let Some(kind) = OfficeKind::from_extension(&extension) else {
            continue;
        };
        let bytes = std::fs::read(&path).unwrap();
        let [all, refused, other, lost] = counts.entry(extension).or_default();
        *all += 1;
        let office = match Office::read(bytes.clone(), kind) {
            Ok(office) => office,
            Err(refusal) => {
                println!("{}: {refusal}", path.display());
                *refused += 1;
                continue;
            }
        };
        if translate(bytes.clone(), kind, str::to_owned).len()
            != office.write(&office.html(), [None; 2]).len()
        {
            println!("{}: changes without a translation", path.display());
            *other += 1;
        }
        let upper = |text: &str| {
            text.chars()
                .map(|c| {
                    if c.is_ascii() {
                        c.to_ascii_uppercase()
                    } else {
                        c
                    }
                })
                .collect::<String>()
        };
        let result = translate(bytes, kind, upper);
        let after = Office::read(result.clone(), kind);
        let before = words(&office);
        let expected: Vec<Vec<String>> = before
            .iter()
            .map(|words| words.iter().map(|word| upper(word)).collect())
            .collect();
        match after {
            Ok(after) => {
                let found: Vec<Vec<String>> = words(&after)
                    .iter()
                    .map(|words| words.iter().map(|word| upper(word)).collect())
                    .collect();
                if found != expected {
                    let at = found.iter().zip(&expected).position(|(a, b)| a != b);
                    println!(
                        "{}: {:?}",
                        path.display(),
                        at.map(|at| (&found[at], &expected[at]))
                    );
                    *lost += 1;
                }
            }
            Err(refusal) => {
                println!("{}: the result is broken: {refusal}", path.display());
                *lost += 1;
            }
        }
        if let Ok(out) = std::env::var("OFFICE_OUT") {
            let name = path.file_name().unwrap();
            std::fs::write(std::path::Path::new(&out).join(name), result).unwrap();
        }
    }
    for (extension, [all, refused, other, lost]) in counts {
        println!(
            "{extension}: {all} files, {refused} refused, {other} changed by identity, {lost} lost words"
        );
    }
}
