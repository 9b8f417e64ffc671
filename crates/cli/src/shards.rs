//! A text in several parts of consecutive lines, each of which is the work of a process of its own, on any machine.
//!
//! Every process finds its lines by counting those of the text, so that the processes need nothing of each other. The
//! outputs of all shards, one behind the other, are the output of one process. For that, shards consist of the same chunks
//! from which one process makes its batches: sums are rounded differently in batches of other sizes, and products of 8-bit
//! integers make a difference in the last digit one in the second, which gave one of 20,000 lines another translation.
//! Text of megabytes per chunk, which is read in smaller ones, has no such promise; its lines are no sentences.

use std::env;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::{Context, Result, bail};
use burnformer_data::corpus::{Side, is_pipe, is_standard_input};
use burnformer_data::{DataError, LineReader, Utf8Policy};
use burnformer_files::Temporary;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::output::{Output, check_name, note, wrong_usage};

/// The variables with which schedulers number the processes of one job, and the first number. The number of processes is
/// not taken from the environment: Kubernetes does not tell it, and Slurm's `SLURM_ARRAY_TASK_COUNT` and `_MIN` are about
/// what was submitted last, so that a failed task which is submitted again alone (`--array=3`) would be the first of one.
const SCHEDULERS: [(&str, u64); 2] = [("SLURM_ARRAY_TASK_ID", 1), ("JOB_COMPLETION_INDEX", 0)];

/// The option by which a command does one shard.
#[derive(clap::Args)]
pub struct ShardArgs {
    /// Do only part I of N parts of the text, I from 1 to N, and write OUT.I-of-N for the output OUT (with zeros before I, so
    /// that the names sort: OUT.03-of-12). `gather OUT --shards N` then makes the output for the whole text of them. The file appears
    /// when the part is done; if it is there and fits the text, the models and the options, nothing is done. A part consists
    /// of whole chunks of lines (2048 if no option says otherwise). With auto/N, I comes from a Slurm array
    /// (SLURM_ARRAY_TASK_ID, numbered from 1) or a Kubernetes Indexed Job (JOB_COMPLETION_INDEX, numbered from 0)
    // The environment alone never makes shards: who translates a text of his own within a task of an array would get a part
    // of it and would not be told.
    #[arg(long, value_name = "I/N", requires = "output")]
    shard: Option<Shard>,
}

impl ShardArgs {
    /// Whether the command does the whole text.
    pub fn is_whole(&self) -> bool {
        self.shard.is_none()
    }
}

/// One of several parts of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Shard {
    /// From 1 to `count`.
    number: u64,
    count: u64,
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::parse(text, |name| env::var(name).ok())
    }
}

impl Shard {
    /// Parses `I/N` or `auto/N` with the `variable`s of the environment.
    fn parse(text: &str, variable: impl Fn(&str) -> Option<String>) -> Result<Self, String> {
        let form = "write I/N, such as 1/4 for the first of four shards, or auto/4";
        let (number, count) = text.split_once('/').ok_or(form)?;
        let count = count.parse().map_err(|_| form)?;
        let number = match number {
            "auto" => number_from(variable)?,
            number => number.parse().map_err(|_| form)?,
        };
        match (count, number) {
            (0, _) => Err("there are no shards; N is at least 1".into()),
            (_, 0) => Err(format!(
                "shards are numbered from 1 to {count}, so there is no shard 0; number a Slurm array by --array=1-{count}"
            )),
            _ if number > count => {
                Err(format!("there is no shard {number} of {count}; I goes from 1 to {count}"))
            }
            _ => Ok(Self { number, count }),
        }
    }

    /// Of `all` lines, counted from 0, those of this shard: whole chunks of `chunk` lines, of which each shard has as many as
    /// the others, or one more.
    fn lines_of(self, all: u64, chunk: u64) -> Range<u64> {
        let chunks = u128::from(all.div_ceil(chunk));
        let end = |number: u64| {
            let line = chunks * u128::from(number) / u128::from(self.count) * u128::from(chunk);
            u64::try_from(line).unwrap_or(all).min(all)
        };
        end(self.number - 1)..end(self.number)
    }

    /// The output of this shard of the output `out`.
    fn path(self, out: &Path) -> PathBuf {
        let Self { number, count } = self;
        let width = count.to_string().len();
        with_ending(out, &format!(".{number:0width$}-of-{count}"))
    }
}

/// The number of this process, from 1, by the one scheduler that has started it.
fn number_from(variable: impl Fn(&str) -> Option<String>) -> Result<u64, String> {
    let found: Vec<(&str, u64, String)> = SCHEDULERS
        .into_iter()
        .filter_map(|(name, first)| Some((name, first, variable(name)?)))
        .collect();
    match &found[..] {
        [(name, first, value)] => {
            // Slurm's numbers are used as they are, so that 0 is refused: it is of an array that ends too early.
            let number = value.parse::<u64>().ok().and_then(|it| it.checked_add(1 - first));
            number.ok_or_else(|| format!("{name} is {value:?}, which is not a number of a shard"))
        }
        found => {
            let set = if found.is_empty() { "neither is" } else { "both are" };
            Err(format!(
                "auto takes I from SLURM_ARRAY_TASK_ID or JOB_COMPLETION_INDEX, and {set} set; \
                 write I itself, as in 1/4"
            ))
        }
    }
}

/// What a process does: the whole text, or a shard.
pub struct Part {
    /// The lines, counted from 0. Those of a whole text have no known end.
    pub lines: Range<u64>,
    /// The output; `None` is standard output.
    pub output: Option<PathBuf>,
    /// What the output of a shard is made from.
    made_from: Option<Value>,
}

impl Part {
    /// The part that the options ask for; `None` if its output is there already and is made from the same. `texts` are
    /// read line by line together, in chunks of `chunk` lines. The `identity` is what decides the output beside the texts.
    ///
    /// # Errors
    /// If a text of a shard can be read only once, or not at all.
    pub fn open(
        args: &ShardArgs,
        output: Option<&Path>,
        texts: &[(&Path, Side)],
        chunk: usize,
        identity: impl FnOnce() -> Result<Value>,
    ) -> Result<Option<Self>> {
        let (Some(shard), Some(out)) = (args.shard, output) else {
            let output = output.map(Path::to_owned);
            return Ok(Some(Self { lines: 0..u64::MAX, output, made_from: None }));
        };
        check_name(out, &[])?;
        let path = shard.path(out);
        if let Some(folder) = [out, &path].into_iter().find(|path| path.is_dir()) {
            bail!("{}: is a folder; name a file", folder.display());
        }
        let lines = shard.lines_of(count_lines(texts)?, chunk as u64);
        let mut made_from =
            json!({ "lines": [lines.start, lines.end], "program": env!("CARGO_PKG_VERSION") });
        made_from["text"] = digest_of_lines(texts, &lines)?.into();
        made_from["model or option"] = identity()?;
        let Range { start, end } = lines;
        let name = path.display();
        match what_differs(&path, &made_from)? {
            Some(differs) if differs.is_empty() => {
                note(format_args!("{name}: is done already; remove it to do it again"));
                return Ok(None);
            }
            Some(differs) => note(format_args!("{name}: is done again: {differs}")),
            None => note(format_args!("{name}: {} lines from line {} on", end - start, start + 1)),
        }
        Ok(Some(Self { lines, output: Some(path), made_from: Some(made_from) }))
    }

    /// The number of lines, if it is known.
    pub fn count(&self) -> Option<usize> {
        self.made_from.as_ref().map(|_| length(&self.lines))
    }

    /// Opens the output: that of a shard appears when it is [finished](Self::finish).
    ///
    /// # Errors
    /// Those of [`Output::create`].
    pub fn create_output(&self, inputs: &[&Path]) -> Result<Output> {
        match (&self.output, &self.made_from) {
            (Some(path), Some(_)) => Output::create_whole(path, inputs),
            (path, _) => Output::create(path.as_deref(), inputs),
        }
    }

    /// Completes the `output` that has a result for every line before line `end`. That of a shard gets its name, and then
    /// a stamp with what it was made from.
    ///
    /// # Errors
    /// Those of [`complete`](Self::complete); if the output cannot be written.
    pub fn finish(&self, output: &mut Output, end: u64) -> Result<()> {
        output.flush()?;
        self.made_from.as_ref().map_or(Ok(()), |_| {
            self.complete(end, |path| {
                let Some(file) = output.take_unfinished()? else { return Ok(None) };
                let digest = digest_of_file(file.path())?;
                file.publish(path).with_context(|| unwritable(path))?;
                Ok(Some(digest))
            })
        })
    }

    /// Lets `publish` write the output, to its path, that has a result for every line before line `end`, and return its hash, which a
    /// shard needs for its stamp.
    ///
    /// # Errors
    /// Those of `publish`; if the text has become shorter since its lines were counted, or the stamp cannot be written.
    pub fn complete(
        &self,
        end: u64,
        publish: impl FnOnce(&Path) -> Result<Option<String>>,
    ) -> Result<()> {
        let Some(path) = &self.output else { return Ok(()) };
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
        // A process that is killed here leaves an output without its stamp, which is not trusted.
        let stamp = json!({ "output": digest, "made from": made_from });
        write_stamp(&stamp_of(path), &stamp).with_context(|| unwritable(path))
    }
}

/// The number of `lines`.
pub fn length(lines: &Range<u64>) -> usize {
    usize::try_from(lines.end - lines.start).unwrap_or(usize::MAX)
}

/// `path` with `ending` after its name.
fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(ending);
    path.with_file_name(name)
}

/// The file that says what the output at `path` was made from. It is hidden, so that `OUT.*` names outputs only.
fn stamp_of(path: &Path) -> PathBuf {
    let mut name = OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(".stamp");
    path.with_file_name(name)
}

/// What differs between the output that is at `path` and one that is `made_from` this: nothing if the output can be
/// used. `None` if there is none.
fn what_differs(path: &Path, made_from: &Value) -> Result<Option<String>> {
    if !path.exists() {
        return Ok(None);
    }
    let stamp = fs::read_to_string(stamp_of(path)).unwrap_or_default();
    let Ok(stamp) = serde_json::from_str::<Value>(&stamp) else {
        return Ok(Some("the file that says what it was made from is missing or damaged".into()));
    };
    // A number may differ in its last digit from the text that it is written as.
    let made_from: Value = serde_json::from_str(&made_from.to_string())?;
    let parts = made_from.as_object().into_iter().flatten();
    let differs: Vec<String> = parts
        .filter(|(key, value)| stamp["made from"][key.as_str()] != **value)
        .map(|(key, _)| key.clone())
        .collect();
    let digest = digest_of_file(path)?;
    Ok(Some(match &differs[..] {
        [] if stamp["output"] != digest => "the file itself has changed".into(),
        [] => String::new(),
        differs => format!("made from another {}", differs.join(", another ")),
    }))
}

/// The outputs of the `count` shards of `out`, in order.
///
/// # Errors
/// If one is missing or not as its stamp says, or if they are not the parts of one text, made in one way.
pub fn outputs(out: &Path, count: u64) -> Result<Vec<PathBuf>> {
    let paths: Vec<PathBuf> = (1..=count).map(|number| Shard { number, count }.path(out)).collect();
    let missing: Vec<_> =
        paths.iter().filter(|path| !path.is_file()).map(|it| it.display()).collect();
    if let [first, ..] = &missing[..] {
        bail!("{first}: is missing, as {} of {count} shards are; start them again", missing.len());
    }
    let mut before: Option<Value> = None;
    for path in &paths {
        let made_from = trusted(path)?;
        let (end, made_alike) = before.as_ref().map_or((json!(0), true), |before| {
            let same = |key: &str| before[key] == made_from[key];
            (before["lines"][1].clone(), same("program") && same("model or option"))
        });
        if !made_alike || made_from["lines"][0] != end {
            let what = if made_alike { "of other lines" } else { "by another model or option" };
            bail!(
                "{}: was made {what} than the shards before it; start the command of all shards again, \
                 which does those again that no longer fit",
                path.display()
            );
        }
        before = Some(made_from);
    }
    Ok(paths)
}

/// What the shard at `path` was made from.
fn trusted(path: &Path) -> Result<Value> {
    let stamp = fs::read_to_string(stamp_of(path)).unwrap_or_default();
    let stamp: Value = serde_json::from_str(&stamp).unwrap_or_default();
    if stamp["output"] != digest_of_file(path)? {
        bail!(
            "{}: is not as its process left it, or the hidden file beside it is missing; start this shard again",
            path.display()
        );
    }
    Ok(stamp["made from"].clone())
}

fn unwritable(path: &Path) -> String {
    format!("{}: cannot be written", path.display())
}

fn write_stamp(path: &Path, stamp: &Value) -> io::Result<()> {
    let mut file = Temporary::beside(path)?;
    writeln!(file, "{stamp}")?;
    file.publish(path)
}

/// The number of lines that each of `texts` has.
fn count_lines(texts: &[(&Path, Side)]) -> Result<u64> {
    let mut counts: Vec<(u64, &Path)> = Vec::new();
    for &(path, _) in texts {
        if is_pipe(path) {
            return Err(wrong_usage(format_args!(
                "{}: --shard reads a text more than once, which a pipe does not allow; name a file",
                if is_standard_input(path) {
                    "standard input".into()
                } else {
                    path.to_string_lossy()
                }
            )));
        }
        if !counts.iter().any(|(_, counted)| *counted == path) {
            let reader = LineReader::open(path, Utf8Policy::Replace)?;
            counts.push((reader.cutting_long_lines().count_rest()?, path));
        }
    }
    let (&(shorter_lines, shorter), &(longer_lines, longer)) =
        (counts.iter().min().expect("a text"), counts.iter().max().expect("a text"));
    if shorter_lines < longer_lines {
        let (shorter, longer) = (shorter.into(), longer.into());
        let error = DataError::LineCountMismatch { shorter, shorter_lines, longer, longer_lines };
        return Err(error.into());
    }
    Ok(longer_lines)
}

/// SHA-256 of what is read of `lines` of the `texts`.
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

/// SHA-256 of the file at `path`.
///
/// # Errors
/// Errors of the operating system, with the path.
pub fn digest_of_file(path: &Path) -> Result<String> {
    let mut digest = Sha256::new();
    let copied = File::open(path).and_then(|mut file| io::copy(&mut file, &mut digest));
    copied.with_context(|| path.display().to_string())?;
    Ok(format!("{:x}", digest.finalize()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str, environment: &[(&str, &str)]) -> Result<(u64, u64), String> {
        let found = |name: &str| environment.iter().find(|(it, _)| *it == name);
        let variable = |name: &str| found(name).map(|(_, value)| value.to_string());
        Shard::parse(text, variable).map(|shard| (shard.number, shard.count))
    }

    #[test]
    fn what_names_no_shard_is_refused_with_a_remedy() {
        assert_eq!(parse("1/1", &[]), Ok((1, 1)));
        assert_eq!(parse("12/12", &[]), Ok((12, 12)));
        for (text, remedy) in [
            ("0/4", "from 1 to 4"),
            ("5/4", "from 1 to 4"),
            ("1/0", "at least 1"),
            ("a/b", "write I/N"),
            ("/4", "write I/N"),
            ("1", "write I/N"),
            ("", "write I/N"),
            ("1/4/4", "write I/N"),
            ("-1/4", "write I/N"),
            ("99999999999999999999/4", "write I/N"),
            ("auto", "write I/N"),
            ("auto/4", "write I itself"),
        ] {
            let message = parse(text, &[]).unwrap_err();
            assert!(message.contains(remedy), "{text}: {message}");
        }
    }

    #[test]
    fn the_number_comes_from_the_scheduler_where_the_user_asks_for_it() {
        let (slurm, kubernetes) = ("SLURM_ARRAY_TASK_ID", "JOB_COMPLETION_INDEX");
        assert_eq!(parse("auto/4", &[(slurm, "4")]), Ok((4, 4)));
        assert_eq!(parse("auto/4", &[(kubernetes, "0")]), Ok((1, 4)));
        assert_eq!(parse("auto/4", &[(kubernetes, "3")]), Ok((4, 4)));
        assert_eq!(parse("2/4", &[(slurm, "4")]), Ok((2, 4)), "what is written counts");
        // A failed task that is submitted again alone is still the same shard.
        let alone = [(slurm, "3"), ("SLURM_ARRAY_TASK_COUNT", "1"), ("SLURM_ARRAY_TASK_MIN", "3")];
        assert_eq!(parse("auto/4", &alone), Ok((3, 4)));
        for (environment, remedy) in [
            (&[(slurm, "0")][..], "--array=1-4"),
            (&[(slurm, "5")], "from 1 to 4"),
            (&[(kubernetes, "4")], "from 1 to 4"),
            (&[(slurm, "1"), (kubernetes, "0")], "both"),
            (&[(slurm, "one")], "which is not a number"),
            (&[(kubernetes, "18446744073709551615")], "which is not a number"),
        ] {
            let message = parse("auto/4", environment).unwrap_err();
            assert!(message.contains(remedy), "{environment:?}: {message}");
        }
    }

    #[test]
    fn the_shards_are_the_chunks_in_order_and_differ_by_one_chunk_at_most() {
        for (all, chunk) in
            [0, 1, 2, 5, 7, 100, u64::MAX].into_iter().flat_map(|all| [(all, 1), (all, 3)])
        {
            for count in [1, 2, 3, 7, 64] {
                let parts = (1..=count).map(|number| Shard { number, count }.lines_of(all, chunk));
                let (mut end, mut lengths) = (0, Vec::new());
                for part in parts {
                    assert_eq!(part.start, end);
                    assert!(part.start % chunk == 0 || part.start == all);
                    end = part.end;
                    lengths.push((part.end - part.start).div_ceil(chunk));
                }
                assert_eq!(end, all);
                assert!(lengths.iter().max().unwrap() - lengths.iter().min().unwrap() <= 1);
            }
        }
    }

    #[test]
    fn the_names_of_the_outputs_sort_as_their_shards_do() {
        let path = |number, count| Shard { number, count }.path(Path::new("a/out.en"));
        assert_eq!(path(2, 4), Path::new("a/out.en.2-of-4"));
        assert_eq!(path(3, 12), Path::new("a/out.en.03-of-12"));
        assert_eq!(path(100, 100), Path::new("a/out.en.100-of-100"));
    }
}
