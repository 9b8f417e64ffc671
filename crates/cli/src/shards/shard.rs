//! The option of one shard: its number, its lines and the name of its output.

use std::env;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// The variables where schedulers store the number of a process within its job, and the first
/// number. The number of processes is not taken from the environment. Kubernetes does not tell it.
/// Slurm's `SLURM_ARRAY_TASK_COUNT` and `_MIN` describe the last submission: a failed task
/// submitted again alone (`--array=3`) would be the first of one.
const SCHEDULERS: [(&str, u64); 2] = [("SLURM_ARRAY_TASK_ID", 1), ("JOB_COMPLETION_INDEX", 0)];

/// The option to process one shard.
#[derive(clap::Args)]
pub struct ShardArgs {
    /// Do only part I of N parts of the text, I from 1 to N, and write OUT.I-of-N for the output
    /// OUT (with zeros before I, so that the names sort: OUT.03-of-12). `gather OUT --shards N`
    /// then makes the output for the whole text of them. The file appears when the part is done; if
    /// it is there and fits the text, the models and the options, nothing is done. A part consists
    /// of whole chunks of lines (2048 if no option says otherwise). With auto/N, I comes from a
    /// Slurm array (SLURM_ARRAY_TASK_ID, numbered from 1) or a Kubernetes Indexed Job
    /// (JOB_COMPLETION_INDEX, numbered from 0)
    // The environment alone never makes shards: a whole text translated within an array task would
    // silently become a part.
    #[arg(long, value_name = "I/N", requires = "output")]
    pub(super) shard: Option<Shard>,
}

impl ShardArgs {
    /// Returns whether the command processes the whole text.
    pub fn is_whole(&self) -> bool {
        self.shard.is_none()
    }
}

/// One of several parts of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shard {
    /// The number of the shard, from 1 to `count`.
    pub(super) number: u64,
    pub(super) count: u64,
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
            _ if number > count => Err(format!(
                "there is no shard {number} of {count}; I goes from 1 to {count}"
            )),
            _ => Ok(Self { number, count }),
        }
    }

    /// The lines of this shard among `all` lines, counted from 0. They are whole chunks of `chunk`
    /// lines; the numbers of chunks of two shards differ by at most one.
    pub(super) fn lines_of(self, all: u64, chunk: u64) -> Range<u64> {
        self.end_of(self.number - 1, all, chunk)..self.end_of(self.number, all, chunk)
    }

    /// The number of lines in the first `number` shards.
    fn end_of(self, number: u64, all: u64, chunk: u64) -> u64 {
        let chunks = u128::from(all.div_ceil(chunk));
        let line = chunks * u128::from(number) / u128::from(self.count) * u128::from(chunk);
        u64::try_from(line).unwrap_or(all).min(all)
    }

    /// The output of this shard of the output `out`.
    pub(super) fn path(self, out: &Path) -> PathBuf {
        let Self { number, count } = self;
        let width = count.to_string().len();
        out.with_added_extension(format!("{number:0width$}-of-{count}"))
    }
}

/// The number of this process, from 1, according to its scheduler.
fn number_from(variable: impl Fn(&str) -> Option<String>) -> Result<u64, String> {
    let found: Vec<(&str, u64, String)> = SCHEDULERS
        .into_iter()
        .filter_map(|(name, first)| Some((name, first, variable(name)?)))
        .collect();
    match &found[..] {
        [(name, first, value)] => {
            // Slurm's numbers are used unchanged, and 0 is refused: an array from 0 ends too early.
            let number = value
                .parse::<u64>()
                .ok()
                .and_then(|it| it.checked_add(1 - first));
            number.ok_or_else(|| format!("{name} is {value:?}, which is not a number of a shard"))
        }
        found => {
            let set = if found.is_empty() {
                "neither is"
            } else {
                "both are"
            };
            Err(format!(
                "auto takes I from SLURM_ARRAY_TASK_ID or JOB_COMPLETION_INDEX, and {set} set; \
                 write I itself, as in 1/4"
            ))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str, environment: &[(&str, &str)]) -> Result<(u64, u64), String> {
        let shard = Shard::parse(text, |name: &str| {
            let found = environment.iter().find(|(it, _)| *it == name);
            found.map(|(_, value)| value.to_string())
        });
        shard.map(|shard| (shard.number, shard.count))
    }

    #[test]
    fn a_text_that_names_no_shard_is_refused_with_a_remedy() {
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
    fn the_number_comes_from_the_scheduler_on_request() {
        let slurm = "SLURM_ARRAY_TASK_ID";
        let kubernetes = "JOB_COMPLETION_INDEX";
        assert_eq!(parse("auto/4", &[(slurm, "4")]), Ok((4, 4)));
        assert_eq!(parse("auto/4", &[(kubernetes, "0")]), Ok((1, 4)));
        assert_eq!(parse("auto/4", &[(kubernetes, "3")]), Ok((4, 4)));
        assert_eq!(
            parse("2/4", &[(slurm, "4")]),
            Ok((2, 4)),
            "what is written counts"
        );
        // A failed task submitted again alone is still the same shard.
        let alone = [
            (slurm, "3"),
            ("SLURM_ARRAY_TASK_COUNT", "1"),
            ("SLURM_ARRAY_TASK_MIN", "3"),
        ];
        assert_eq!(parse("auto/4", &alone), Ok((3, 4)));
        for (environment, remedy) in [
            (&[(slurm, "0")][..], "--array=1-4"),
            (&[(slurm, "5")], "from 1 to 4"),
            (&[(kubernetes, "4")], "from 1 to 4"),
            (&[(slurm, "1"), (kubernetes, "0")], "both"),
            (&[(slurm, "one")], "which is not a number"),
            (
                &[(kubernetes, "18446744073709551615")],
                "which is not a number",
            ),
        ] {
            let message = parse("auto/4", environment).unwrap_err();
            assert!(message.contains(remedy), "{environment:?}: {message}");
        }
    }

    #[test]
    fn the_shards_are_the_chunks_in_order_and_differ_by_one_chunk_at_most() {
        for (all, chunk) in [0, 1, 2, 5, 7, 100, u64::MAX]
            .into_iter()
            .flat_map(|all| [(all, 1), (all, 3)])
        {
            for count in [1, 2, 3, 7, 64] {
                let parts = (1..=count).map(|number| Shard { number, count }.lines_of(all, chunk));
                let mut end = 0;
                let mut lengths = Vec::new();
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
        for (number, count, path) in [
            (2, 4, "a/out.en.2-of-4"),
            (3, 12, "a/out.en.03-of-12"),
            (100, 100, "a/out.en.100-of-100"),
        ] {
            let shard = Shard { number, count };
            assert_eq!(shard.path(Path::new("a/out.en")), Path::new(path));
        }
    }
}
