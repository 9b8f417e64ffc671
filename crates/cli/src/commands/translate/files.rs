//! Several inputs, each with an output of its own.

use std::path::{Path, PathBuf};

use anyhow::Result;
use burnformer_data::corpus::is_standard_input;

use super::args::Args;
use crate::output::{check_name, wrong_usage};

/// Each input with its output: the one of the command line, or a file in the folder of that name.
///
/// # Errors
/// Wrong usage where several inputs would have one output.
pub(super) fn files(args: &Args) -> Result<Vec<(PathBuf, Option<PathBuf>)>> {
    let (inputs, out) = (&args.inputs, args.out.as_deref());
    let folder = match (&inputs[..], out) {
        ([input], _) if out.is_none_or(|out| !out.is_dir()) || is_standard_input(input) => {
            return Ok(vec![(input.clone(), args.out.clone())]);
        }
        (_, Some(folder)) if folder.is_dir() => folder,
        (_, Some(file)) => {
            let name = file.display();
            return Err(wrong_usage(format_args!(
                "--output {name}: is no folder, and several inputs need one: `mkdir {name}`"
            )));
        }
        (_, None) => {
            return Err(wrong_usage(
                "several inputs need a folder for their translations: --output FOLDER; or join them (`cat`)",
            ));
        }
    };
    if args.prefix.is_some() && inputs.len() > 1 {
        return Err(wrong_usage("--prefix belongs to one input; translate the files one by one"));
    }
    let read: Vec<&Path> = inputs.iter().map(PathBuf::as_path).collect();
    let mut files: Vec<(PathBuf, Option<PathBuf>)> = Vec::new();
    for input in inputs {
        let output = Some(folder.join(own_name(input)?));
        if let Some((other, _)) = files.iter().find(|(_, known)| *known == output) {
            let (one, two, folder) = (other.display(), input.display(), folder.display());
            return Err(wrong_usage(format_args!(
                "{one} and {two} would have one output in {folder}; translate them into two folders"
            )));
        }
        output.iter().try_for_each(|output| check_name(output, &read))?;
        files.push((input.clone(), output));
    }
    Ok(files)
}

/// The name of the translations of `input`, which are plain text in one column.
fn own_name(input: &Path) -> Result<PathBuf> {
    let name = input.file_name().filter(|_| !is_standard_input(input)).ok_or_else(|| {
        let name = input.display();
        wrong_usage(format_args!("{name}: has no name for its output in a folder; name a file"))
    })?;
    let mut name = PathBuf::from(name);
    while name.extension().is_some_and(|end| ["gz", "zst", "tsv"].iter().any(|it| end == *it)) {
        name.set_extension("");
    }
    Ok(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_output_has_the_name_of_its_input_without_what_it_is_not() {
        for (input, name) in
            [("in/a.de", "a.de"), ("a.de.gz", "a.de"), ("x.tsv.zst", "x"), ("a", "a")]
        {
            assert_eq!(own_name(Path::new(input)).unwrap(), Path::new(name));
        }
        assert!(own_name(Path::new("-")).is_err());
    }
}
