use std::path::PathBuf;

use anyhow::Result;
use burnformer_data::{ParallelReader, Tokenizers, Utf8Policy};
use burnformer_infer::shortlist::{Settings, Shortlist, Trainer};
use burnformer_infer::{load_tokenizers, vocabularies};
use burnformer_text::counted;

use super::{model, text};
use crate::configuration::corpus;
use crate::embedded;
use crate::files_in_use::{FilesInUse, UsesFiles};
use crate::output::{check_writable, note, note_terminal, write_whole, wrong_usage};

/// Arguments of `shortlist`.
#[derive(clap::Args)]
#[command(after_help = include_str!("shortlist.txt"))]
pub struct Args {
    /// The model directory whose tokenisers divide the text. embedded:de-en and embedded:en-de are
    /// inside the program [default: embedded:de-en]
    #[arg(long, short, value_parser = model(), value_name = "DIR")]
    model: Option<PathBuf>,
    /// Parallel text in the languages of the model, best the text that it was trained with: two
    /// files, which are translations of each other line by line, or one TSV file; plain, .gz or
    /// .zst
    #[arg(long, required = true, num_args = 1.., value_parser = text(), value_names = ["SOURCE", "TARGET"])]
    train: Vec<PathBuf>,
    /// File for the shortlist, which `translate --shortlist` takes
    #[arg(long, short, value_name = "FILE")]
    out: PathBuf,
    /// Number of most frequent target tokens that are allowed in every sentence
    #[arg(long, value_name = "N", default_value_t = Settings::default().first)]
    first: usize,
    /// Number of likely translations of each source token. More are slower and change fewer
    /// translations
    #[arg(long, value_name = "N", default_value_t = Settings::default().best)]
    best: usize,
    /// Least probability of a translation
    #[arg(long, value_name = "P", default_value_t = Settings::default().threshold)]
    threshold: f64,
}

/// The number of lines that are read and tokenised together.
const CHUNK_LINES: usize = 16_384;

/// The number of pairs to try the shortlist on, from the first.
const TRIAL_PAIRS: usize = 2000;

impl UsesFiles for Args {
    fn files_in_use(&self) -> Result<FilesInUse> {
        Ok(FilesInUse::default()
            .reads(&self.train)
            .reads_models(&self.model)
            .writes([&self.out]))
    }
}

/// Learns which target tokens translate which source tokens, and writes the likely ones to `--out`.
///
/// # Errors
/// Returns an error if a setting is out of its range, a text or the tokenisers cannot be read, or
/// the output cannot be written.
pub fn run(args: Args) -> Result<()> {
    let settings = Settings {
        first: args.first,
        best: args.best,
        threshold: args.threshold,
    };
    settings.validate().map_err(wrong_usage)?;
    let corpus = corpus("--train", &args.train)?;
    note_terminal(args.train.iter().map(PathBuf::as_path));
    let dir = args.model.map_or_else(embedded::default_model, Ok)?;
    let tokenizers = load_tokenizers(&dir)?;
    // An output that cannot be written fails before the work.
    check_writable(&args.out)?;
    let mut reader = ParallelReader::open(&corpus, Utf8Policy::Error)?.fuse();
    let mut trainer = Trainer::new(vocabularies(&tokenizers));
    let mut tried = Vec::new();
    loop {
        let lines = reader
            .by_ref()
            .take(CHUNK_LINES)
            .collect::<Result<Vec<_>, _>>()?;
        if lines.is_empty() {
            break;
        }
        let (sources, targets): (Vec<_>, Vec<_>) = lines
            .into_iter()
            .map(|pair| (pair.source, pair.target))
            .unzip();
        let pairs = encoded(&tokenizers, &sources, &targets);
        pairs
            .iter()
            .for_each(|(source, target)| trainer.add(source, target));
        tried.extend(pairs.into_iter().take(TRIAL_PAIRS - tried.len()));
    }
    note(format_args!(
        "learning from {}",
        counted(trainer.pairs(), "pair")
    ));
    let shortlist = trainer.finish(&settings)?;
    write_whole(&args.out, shortlist.to_bytes())?;
    let (tokens, covered) = tried_on(&shortlist, &tried);
    note(format_args!(
        "{}: {tokens:.0} of {} target tokens for a sentence of this text on average; they have {:.2} % of the tokens of its \
         translation",
        args.out.display(),
        shortlist.vocabularies().sizes[1],
        100.0 * covered
    ));
    Ok(())
}

/// The ids of each sentence and its translation.
fn encoded(
    tokenizers: &Tokenizers,
    sources: &[String],
    targets: &[String],
) -> Vec<(Vec<u32>, Vec<u32>)> {
    let sources = tokenizers.source.encode_batch(sources);
    sources
        .into_iter()
        .zip(tokenizers.target.encode_batch(targets))
        .collect()
}

/// The mean number of target tokens that `shortlist` allows for a sentence, and the share of the
/// given translations' tokens among them.
fn tried_on(shortlist: &Shortlist, pairs: &[(Vec<u32>, Vec<u32>)]) -> (f64, f64) {
    let mut allowed = 0;
    let mut all = 0;
    let mut found = 0;
    for (source, target) in pairs {
        let tokens = shortlist.tokens_for(source);
        allowed += tokens.len();
        all += target.len();
        found += target
            .iter()
            .filter(|id| tokens.binary_search(id).is_ok())
            .count();
    }
    (
        allowed as f64 / pairs.len().max(1) as f64,
        found as f64 / all.max(1) as f64,
    )
}

#[cfg(test)]
mod tests {
    use burnformer_infer::shortlist::Vocabularies;

    use super::*;

    #[test]
    fn a_shortlist_reports_its_size_and_its_coverage() {
        let lists = vec![vec![], vec![5], vec![6, 7]];
        let shortlist = Shortlist::new(Vocabularies::of_sizes([3, 9]), vec![4], lists).unwrap();
        let pairs = [(vec![1, 2], vec![4, 5, 8]), (vec![0], vec![4])];
        assert_eq!(tried_on(&shortlist, &pairs), (2.5, 0.75));
    }
}
