//! Shards: parts of consecutive lines of a text, each translated by a separate process on any
//! machine.
//!
//! Every process finds its lines by counting the lines of the text, so processes need not
//! communicate. The outputs of all shards in order equal the output of a single process. For that,
//! shards consist of the same chunks that a single process makes batches of, because batches of
//! other sizes round sums differently. With 8-bit integer products, a difference in the last digit
//! can become one in the second digit, which gave one of 20,000 lines another translation. Chunks
//! of many megabytes are read in smaller pieces and are not reproducible in this way, but such
//! lines are not sentences.

mod shard;
mod stamp;

use std::ops::Range;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use burnformer_data::corpus::{Side, check_line_counts, is_pipe};
use burnformer_data::{LineReader, Utf8Policy};
use burnformer_text::counted;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::output::{OnFailure, Output, check_name, note, unwritable, wrong_usage};
use crate::texts::shown;
use shard::Shard;
pub use shard::ShardArgs;
pub use stamp::digest_of_file;
use stamp::{TEXT, stamp_of, trusted, what_differs, write_stamp};

/// The part of the text that a process translates: all of it, or a shard.
pub struct Part {
    /// The lines, counted from 0. The end is not known for a whole text.
    pub lines: Range<u64>,
    /// The output; `None` is standard output.
    pub output: Option<PathBuf>,
    /// The inputs of the output of a shard.
    made_from: Option<Value>,
}

impl Part {
    /// Returns the part that the options ask for, or `None` if its output exists already and was
    /// made from the same inputs. `texts` are read line by line together, in chunks of `chunk`
    /// lines. `identity` describes everything that determines the output besides the texts.
    ///
    /// # Errors
    /// Returns an error if a text of a shard can be read only once, or not at all.
    pub fn open(
        args: &ShardArgs,
        output: Option<&Path>,
        texts: &[(&Path, Side)],
        chunk: usize,
        identity: impl FnOnce() -> Result<Value>,
    ) -> Result<Option<Self>> {
        let (Some(shard), Some(out)) = (args.shard, output) else {
            let output = output.map(Path::to_owned);
            return Ok(Some(Self {
                lines: 0..u64::MAX,
                output,
                made_from: None,
            }));
        };
        let paths: Vec<&Path> = texts.iter().map(|&(path, _)| path).collect();
        check_name(out)?;
        let path = shard.path(out);
        if let Some(folder) = [out, &path].into_iter().find(|path| path.is_dir()) {
            bail!("{}: is a folder; name a file", folder.display());
        }
        let all = count_lines(texts)?;
        let lines = shard.lines_of(all, chunk as u64);
        let mut made_from =
            json!({ "lines": [lines.start, lines.end], "program": env!("CARGO_PKG_VERSION") });
        let bytes: Vec<Option<u64>> = paths
            .iter()
            .map(|path| Some(path.metadata().ok()?.len()))
            .collect();
        made_from[TEXT] = json!([all, bytes]);
        made_from["text"] = digest_of_lines(texts, &lines)?.into();
        made_from["model or option"] = identity()?;
        let Range { start, end } = lines;
        let name = path.display();
        match what_differs(&path, &made_from)? {
            Some(differs) if differs.is_empty() => {
                note(format_args!(
                    "{name}: is done already; remove it to do it again"
                ));
                return Ok(None);
            }
            Some(differs) => note(format_args!("{name}: is done again: {differs}")),
            None => {
                let lines = counted(end - start, "line");
                note(format_args!("{name}: {lines} from line {} on", start + 1));
            }
        }
        Ok(Some(Self {
            lines,
            output: Some(path),
            made_from: Some(made_from),
        }))
    }

    /// The number of lines, if it is known.
    pub fn count(&self) -> Option<usize> {
        self.made_from.as_ref().map(|_| length(&self.lines))
    }

    /// Opens the output. The output of a shard appears when it is [finished](Self::finish).
    ///
    /// # Errors
    /// Returns the errors of [`Output::create`].
    pub fn create_output(&self) -> Result<Output> {
        let on_failure = match self.made_from {
            Some(_) => OnFailure::Discard,
            None => OnFailure::Keep,
        };
        Output::create(self.output.as_deref(), on_failure)
    }

    /// Completes the `output`, which has a result for every line before line `end`. The output of a
    /// shard gets a stamp that describes its inputs.
    ///
    /// # Errors
    /// Returns the errors of [`complete`](Self::complete), and an error if the output cannot be
    /// written.
    pub fn finish(&self, output: &mut Output, end: u64) -> Result<()> {
        output.flush()?;
        if self.made_from.is_none() {
            return output.finish();
        }
        self.complete(end, |_| {
            let digest = output.temporary_path().map(digest_of_file).transpose()?;
            output.finish()?;
            Ok(digest)
        })
    }

    /// Calls `publish` with the path of the output to write. The output has a result for every line
    /// before line `end`. `publish` returns the hash of the output for the stamp of a shard.
    ///
    /// # Errors
    /// Returns the errors of `publish`, and an error if the text has become shorter since its lines
    /// were counted or the stamp cannot be written.
    pub fn complete(
        &self,
        end: u64,
        publish: impl FnOnce(&Path) -> Result<Option<String>>,
    ) -> Result<()> {
        let Some(path) = &self.output else {
            return Ok(());
        };
        if self.made_from.is_some() && end != self.lines.end {
            bail!(
                "the text ended at line {end}, and had line {} when the lines were counted; \
                 start this shard again when nobody writes the text any more",
                self.lines.end
            );
        }
        let (Some(digest), Some(made_from)) = (publish(path)?, &self.made_from) else {
            return Ok(());
        };
        // A process killed here leaves an output without its stamp, which is not trusted.
        write_stamp(path, &digest, made_from).with_context(|| unwritable(path.display()))
    }
}

/// Returns the files that a command with `args` writes for the output `out`.
pub fn written(args: &ShardArgs, out: &Path) -> Vec<PathBuf> {
    let mut files = vec![out.to_owned()];
    if let Some(shard) = args.shard {
        let path = shard.path(out);
        files.push(stamp_of(&path));
        files.push(path);
    }
    files
}

/// Returns the number of lines in the range `lines`.
pub fn length(lines: &Range<u64>) -> usize {
    usize::try_from(lines.end - lines.start).unwrap_or(usize::MAX)
}

/// The paths of the outputs of the `count` shards of `out`, in order.
pub fn paths(out: &Path, count: u64) -> impl Iterator<Item = PathBuf> {
    (1..=count).map(move |number| Shard { number, count }.path(out))
}

/// Returns the existing outputs of the `count` shards of `out`, in order.
///
/// # Errors
/// Returns an error if an output is missing or does not match its stamp, or if the outputs are not
/// the parts of one text, made with the same model and options.
pub fn outputs(out: &Path, count: u64) -> Result<Vec<PathBuf>> {
    let paths: Vec<PathBuf> = paths(out, count).collect();
    let missing: Vec<_> = paths
        .iter()
        .filter(|it| !it.is_file())
        .map(|it| it.display())
        .collect();
    if let [first, ..] = &missing[..] {
        let all = counted(count, "shard");
        bail!(
            "{first}: is missing ({} of {all}); start what is missing again",
            missing.len()
        );
    }
    let mut before: Option<Value> = None;
    for path in &paths {
        let made_from = trusted(path)?;
        let difference = match &before {
            Some(before) => difference(before, &made_from),
            None => (made_from["lines"][0] != 0).then_some("of other lines"),
        };
        if let Some(what) = difference {
            bail!(
                "{}: was made {what} than the shards before it; start the command of all shards again, \
                 which repeats the outdated ones",
                path.display()
            );
        }
        before = Some(made_from);
    }
    Ok(paths)
}

/// What prevents a shard from continuing the shard `before` it, if anything.
fn difference(before: &Value, made_from: &Value) -> Option<&'static str> {
    let is_same_work = ["program", "model or option"]
        .into_iter()
        .all(|key| before[key] == made_from[key]);
    if !is_same_work {
        Some("by another model or option")
    } else if made_from["lines"][0] != before["lines"][1] {
        Some("of other lines")
    } else if made_from[TEXT] != before[TEXT] {
        Some("of another text")
    } else {
        None
    }
}

/// The number of lines of each of `texts`.
fn count_lines(texts: &[(&Path, Side)]) -> Result<u64> {
    let mut counts: Vec<(u64, &Path)> = Vec::new();
    for &(path, _) in texts {
        if is_pipe(path) {
            return Err(wrong_usage(format_args!(
                "{}: --shard reads a text more than once, which only a file allows; name one",
                shown(path)
            )));
        }
        if !counts.iter().any(|(_, counted)| *counted == path) {
            let reader = LineReader::open(path, Utf8Policy::Replace)?;
            counts.push((reader.cutting_long_lines().count_rest()?, path));
        }
    }
    check_line_counts(counts.iter().copied())?;
    Ok(counts[0].0)
}

/// SHA-256 of the given `lines` of the `texts`.
fn digest_of_lines(texts: &[(&Path, Side)], lines: &Range<u64>) -> Result<String> {
    let mut digest = Sha256::new();
    for &(path, side) in texts {
        let reader = LineReader::open_side(path, side, Utf8Policy::Replace)?;
        let mut reader = reader.cutting_long_lines();
        reader.skip_lines(lines.start)?;
        for line in reader.take(length(lines)) {
            digest.update(line?.text);
            digest.update("\n");
        }
    }
    Ok(format!("{:x}", digest.finalize()))
}
