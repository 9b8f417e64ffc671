//! How an input is read: line by line, or as a whole document.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use anyhow::Result;
use burnformer_data::corpus::{COMPRESSED, is_pipe};
use burnformer_documents::{Format, OfficeKind, WholeFile};

use super::args::Args;
use crate::output::wrong_usage;

/// How an input is read.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Reading {
    /// One sentence per line.
    Lines,
    /// As a document: the name of a format, or the extension of an office document.
    Document(String),
}

impl Reading {
    /// Returns how `input` is read: by `--format`, else by its extension.
    ///
    /// # Errors
    /// Returns an error of usage if the extension is known and cannot be read, if it is that of an
    /// office document and a format is given, or if an option belongs to the lines of a text.
    pub(super) fn of(args: &Args, input: &Path) -> Result<Self> {
        let extension = extension(input);
        let name = input.display();
        if OfficeKind::from_extension(&extension).is_some() {
            if let Some(format) = args.format {
                return Err(wrong_usage(format_args!(
                    "{name}: is a document of its own format, and --format {format} cannot read it; \
                     leave --format out"
                )));
            }
            return Self::document(args, input, extension);
        }
        if let Some(format) = args.format {
            return Self::document(args, input, format.name().into());
        }
        if let Some(unread) = WholeFile::unread(&extension) {
            return Err(wrong_usage(format_args!(
                "{name}: is {unread}; --format text translates it line by line"
            )));
        }
        match Format::from_extension(&extension).filter(|&format| format != Format::Text) {
            Some(format) => Self::document(args, input, format.name().into()),
            None => lines(input),
        }
    }

    fn document(args: &Args, input: &Path, kind: String) -> Result<Self> {
        let options = [
            ("--nbest", args.nbest.is_some()),
            ("--prefix", args.prefix.is_some()),
            ("--json", args.json),
            ("--shard", !args.shard.is_whole()),
        ];
        let line_option = options.iter().find(|(_, is_given)| *is_given);
        let Some((option, _)) = line_option else {
            return Ok(Self::Document(kind));
        };
        let name = input.display();
        Err(wrong_usage(format_args!(
            "{option} belongs to lines, and {name} is a document ({kind}); `cat {name} | burnformer translate {option} …` translates its lines"
        )))
    }
}

/// Refuses a file that is no text, whatever its name.
fn lines(input: &Path) -> Result<Reading> {
    // A file that cannot be read is refused where its lines are read.
    let head = head(input).unwrap_or_default();
    let is_compressed = COMPRESSED.iter().any(|magic| head.starts_with(magic));
    match WholeFile::binary(&head).filter(|_| !is_compressed) {
        Some(fault) => Err(wrong_usage(format_args!("{}: {fault}", input.display()))),
        None => Ok(Reading::Lines),
    }
}

/// Returns the first bytes of `input`, or none of a pipe, which can be read only once.
fn head(input: &Path) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    if !is_pipe(input) {
        let file = File::open(input)?;
        file.take(WholeFile::HEAD_BYTES).read_to_end(&mut head)?;
    }
    Ok(head)
}

/// Returns the extension of `input` in lower case, before `.gz` and `.zst`.
fn extension(input: &Path) -> String {
    let last = last_extension(input);
    if ["gz", "zst"].contains(&&*last) {
        last_extension(&input.with_extension(""))
    } else {
        last
    }
}

fn last_extension(path: &Path) -> String {
    let extension = path.extension().and_then(|it| it.to_str());
    extension.unwrap_or_default().to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_extension_of_a_compressed_file_is_the_one_of_its_text() {
        for (name, end) in [
            ("a.html", "html"),
            ("b/a.HTML", "html"),
            ("a.po.gz", "po"),
            ("a.b.Md.zst", "md"),
            ("a.gz", ""),
            ("a", ""),
            ("-", ""),
        ] {
            assert_eq!(extension(Path::new(name)), end, "{name}");
        }
    }
}
