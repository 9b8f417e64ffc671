//! The arguments of `translate`.
//!
//! If there are several inputs, each has a separate output.

use std::path::{Path, PathBuf};

use anyhow::Result;
use burnformer_data::corpus::is_standard_input;
use burnformer_documents::Format;
use burnformer_infer::{Batching, MAX_SENTENCE_TOKENS};

use crate::commands::{Computing, Searching, at_least, between, model};
use crate::files_in_use::{FilesInUse, UsesFiles};
use crate::output::{check_name, wrong_usage};
use crate::shards::{ShardArgs, written};
use crate::texts::CHUNK_LINES;
use crate::values::one_of;

/// Arguments of `translate`.
#[derive(clap::Args)]
#[command(after_help = include_str!("examples.txt"))]
pub struct Args {
    /// Words that look like text, for a hint.
    #[arg(hide = true)]
    pub(super) text: Vec<String>,
    /// The model directory; several model directories form an ensemble. embedded:de-en and
    /// embedded:en-de are inside the program [default: embedded:de-en, German to English]
    #[arg(long, short, value_parser = model(), value_name = "DIR")]
    pub(super) model: Vec<PathBuf>,
    /// A model that translates what --model returns, for a pair of languages without a model of its
    /// own: --model de-en --then en-fr. Search options belong to it; --glossary and --memory go
    /// from the language of the input to the language of the output
    #[arg(long, value_parser = model(), value_name = "DIR", conflicts_with = "shortlist")]
    pub(super) then: Vec<PathBuf>,
    /// With --then: the language between, for models of several languages
    #[arg(long, value_name = "CODE", requires = "then")]
    pub(super) through: Option<String>,
    /// Text to translate, one sentence per line; plain, .gz or .zst; of .tsv the first column; `-`
    /// is standard input. Several files need a folder as --output
    #[arg(id = "input", long = "input", short, alias = "source", num_args = 1.., default_value = "-", value_name = "FILE")]
    pub(super) inputs: Vec<PathBuf>,
    /// File for the translations, one per line, or a folder, in which each input has a file of its
    /// name [default: standard output]
    #[arg(id = "output", long = "output", short, value_name = "FILE")]
    pub(super) out: Option<PathBuf>,
    /// Read the whole input as one document in this format, and keep its markup, white space and
    /// lines. Sentences that are too long for the model are cut at clauses [default: the format
    /// that the extension of the input names, such as .html or .po; else one sentence per line]
    #[arg(long, value_name = "FORMAT", value_parser = one_of(Format::all(), Format::name),
        conflicts_with_all = ["nbest", "prefix", "json", "shard"])]
    pub(super) format: Option<Format>,
    /// Language for sentence splitting, such as `de` [default: --source-language, else the first in
    /// the name of the model (de-en), else en]
    #[arg(long, value_name = "LANGUAGE")]
    pub(super) language: Option<String>,
    /// Also translate the messages of a catalogue that have a translation
    #[arg(long)]
    pub(super) retranslate: bool,
    #[command(flatten)]
    pub(super) searching: Searching,
    /// Print the N best translations of each sentence, best first, with their scores: exactly N
    /// lines for each input line, in the form `number ||| translation ||| score`. Translations that
    /// were cut at the length limit come last. If a sentence has fewer than N different
    /// translations, the last line is repeated
    #[arg(long, value_name = "N", value_parser = between(1, 1000))]
    pub(super) nbest: Option<usize>,
    /// Smallest number of tokens of a translation
    #[arg(long)]
    pub(super) min_length: Option<usize>,
    /// Largest number of tokens of a translation
    #[arg(long, value_parser = at_least(1))]
    pub(super) max_length: Option<usize>,
    /// Never repeat a sequence of N tokens within a translation
    #[arg(long, value_name = "N")]
    pub(super) no_repeat_ngram: Option<usize>,
    /// Draw translations at random instead of searching for the most probable one
    #[arg(long)]
    pub(super) sample: bool,
    /// With --sample: divide the logits by this; above 1 the draws vary more
    #[arg(long, default_value_t = 1.0, requires = "sample")]
    pub(super) temperature: f64,
    /// With --sample: draw from the K most probable tokens; 0 draws from all
    #[arg(long, value_name = "K", default_value_t = 0, requires = "sample")]
    pub(super) top_k: usize,
    /// With --sample: draw from the most probable tokens whose probabilities add up to P
    #[arg(long, value_name = "P", default_value_t = 1.0, requires = "sample")]
    pub(super) top_p: f64,
    /// With --sample: the seed that determines every draw
    #[arg(long, default_value_t = 1, requires = "sample")]
    pub(super) seed: u64,
    /// File with one prefix per line with which the translation of that line must begin; the
    /// translation of an empty line is its prefix
    #[arg(long, value_name = "FILE")]
    pub(super) prefix: Option<PathBuf>,
    /// Sentence before the first line, for a model that was trained with context (data.context);
    /// repeat the option for several, the nearest last. Otherwise the lines before a line are its
    /// context, up to an empty line
    #[arg(long, value_name = "SENTENCE", conflicts_with = "no_context")]
    pub(super) context: Vec<String>,
    /// Translate each sentence alone, also with a model that was trained with context
    #[arg(long)]
    pub(super) no_context: bool,
    /// File of terms and their prescribed translations, which the translation of each line with
    /// such a term contains: on each line a term, a tab and its translation, or several separated
    /// by `|`, of which the model chooses one
    #[arg(long, value_name = "FILE", conflicts_with = "sample")]
    pub(super) glossary: Option<PathBuf>,
    /// Translation memory: .po, .xlf, .tmx, .tsv or .csv files, or pairs of text files (source,
    /// then translation). Exact matches are reused, and a message of a catalogue needs no review
    /// then; with --json, `memory` is the pair that is most like the line, with a score of 1 if it
    /// is the line
    #[arg(long, num_args = 1.., value_name = "FILE")]
    pub(super) memory: Vec<PathBuf>,
    /// Lexical shortlist made by `shortlist` for this model: restricts the output vocabulary per
    /// line; faster with large vocabularies, and changes few translations
    #[arg(long, value_name = "FILE")]
    pub(super) shortlist: Option<PathBuf>,
    /// Longest source sentence in tokens; a longer one is cut to this length and translated, with a
    /// warning
    #[arg(long, value_name = "N", default_value_t = MAX_SENTENCE_TOKENS, value_parser = at_least(2))]
    pub(super) longest: usize,
    /// Largest number of sentences that are translated together
    #[arg(long, default_value_t = Batching::default().max_sentences, value_parser = at_least(1))]
    pub(super) batch: usize,
    /// Number of lines to read ahead, so that sentences of similar length are translated together
    #[arg(long, default_value_t = CHUNK_LINES, value_parser = at_least(1))]
    pub(super) chunk: usize,
    /// Print one JSON object per line: line, source, translation, score, tokens, the reason why it
    /// ends, `doubts` (signs that it is wrong: loop, copy, length, parts) and whether it took a
    /// second search, because the first found a loop or lost a number, a placeholder, a bracket or
    /// a joining sign; with --nbest also `n_best`, a list of N such objects
    #[arg(long)]
    pub(super) json: bool,
    #[command(flatten)]
    pub(super) shard: ShardArgs,
    #[command(flatten)]
    pub(super) computing: Computing,
}

impl UsesFiles for Args {
    fn files_in_use(&self) -> Result<FilesInUse> {
        let outputs = files(self)?.into_iter().filter_map(|(_, output)| output);
        let outputs = outputs.flat_map(|output| written(&self.shard, &output));
        Ok(FilesInUse::default()
            .reads(&self.inputs)
            .reads(&self.prefix)
            .reads(&self.glossary)
            .reads(&self.memory)
            .reads(&self.shortlist)
            .reads_models(&self.model)
            .reads_models(&self.then)
            .writes(outputs))
    }
}

/// Returns each input with its output: the path `--output`, or a file in that folder.
///
/// # Errors
/// Returns an error of usage if several inputs would have the same output.
pub(super) fn files(args: &Args) -> Result<Vec<(PathBuf, Option<PathBuf>)>> {
    let inputs = &args.inputs;
    let out = args.out.as_deref();
    let folder = match (&inputs[..], out) {
        ([input], _) if out.is_none_or(|out| !out.is_dir()) || is_standard_input(input) => {
            return Ok(vec![(input.clone(), args.out.clone())]);
        }
        (_, Some(folder)) if folder.is_dir() => folder,
        (_, Some(file)) => {
            let name = file.display();
            return Err(wrong_usage(format_args!(
                "--output {name}: is not a folder; several inputs need one: `mkdir {name}`"
            )));
        }
        (_, None) => {
            return Err(wrong_usage(
                "several inputs need a folder for their translations: --output FOLDER; or join them (`cat`)",
            ));
        }
    };
    if args.prefix.is_some() && inputs.len() > 1 {
        return Err(wrong_usage(
            "--prefix belongs to one input; translate the files one by one",
        ));
    }
    let mut files: Vec<(PathBuf, Option<PathBuf>)> = Vec::new();
    for input in inputs {
        let output = Some(folder.join(own_name(input)?));
        if let Some((other, _)) = files.iter().find(|(_, known)| *known == output) {
            let one = other.display();
            let two = input.display();
            let folder = folder.display();
            return Err(wrong_usage(format_args!(
                "{one} and {two} would have one output in {folder}; translate them into two folders"
            )));
        }
        output.iter().try_for_each(|output| check_name(output))?;
        files.push((input.clone(), output));
    }
    Ok(files)
}

/// The name of the file of translations of `input`. They are plain text in one column.
fn own_name(input: &Path) -> Result<PathBuf> {
    let name = input
        .file_name()
        .filter(|_| !is_standard_input(input))
        .ok_or_else(|| {
            let name = input.display();
            wrong_usage(format_args!(
                "{name}: has no name for its output in a folder; name a file"
            ))
        })?;
    let mut name = PathBuf::from(name);
    while name
        .extension()
        .is_some_and(|end| ["gz", "zst", "tsv"].iter().any(|it| end == *it))
    {
        name.set_extension("");
    }
    Ok(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_output_has_the_name_of_its_input_without_its_format() {
        for (input, name) in [
            ("in/a.de", "a.de"),
            ("a.de.gz", "a.de"),
            ("x.tsv.zst", "x"),
            ("a", "a"),
        ] {
            assert_eq!(own_name(Path::new(input)).unwrap(), Path::new(name));
        }
        assert!(own_name(Path::new("-")).is_err());
    }
}
