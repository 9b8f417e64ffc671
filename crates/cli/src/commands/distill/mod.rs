//! Sequence-level knowledge distillation (Kim and Rush, 2016): a teacher's translations as text for
//! a student.

mod journal;

use std::path::PathBuf;

use anyhow::Result;
use burnformer_infer::{
    Batching, FinishReason, Hypothesis, LongSources, MAX_SENTENCE_TOKENS, TextRequest,
    TranslateOptions, Translator,
};
use burnformer_metrics::{References, WritingSystem};
use burnformer_text::counted;
use rayon::prelude::*;
use serde_json::{Value, json};

use self::journal::{Input, Journal, Sentence};
use super::{Computing, Searching, at_least, between, model, of_sides, text};
use crate::allocator::{Remedy, with_remedy};
use crate::files_in_use::{FilesInUse, UsesFiles};
use crate::output::{check_new, note, note_terminal};
use crate::progress::Progress;
use crate::shards::{Part, ShardArgs, digest_of_file, written};
use crate::texts::{CHUNK_LINES, next_chunk};

/// Arguments of `distill`.
#[derive(clap::Args)]
#[command(after_help = include_str!("examples.txt"))]
pub struct Args {
    /// The model directory of the teacher; several model directories form an ensemble
    #[arg(long, short, required = true, value_parser = model(), value_name = "DIR")]
    model: Vec<PathBuf>,
    /// Text that the teacher translates, one sentence per line, such as the source side of its
    /// training text; plain, .gz or .zst; of .tsv the first column
    #[arg(long, short, alias = "source", value_parser = text(), value_name = "FILE")]
    input: PathBuf,
    /// Reference translations of the source, from which --nbest measures; of .tsv the second column
    #[arg(long, value_parser = text(), value_name = "FILE", requires = "nbest")]
    reference: Option<PathBuf>,
    /// File for the pairs, one per line in the form `source TAB translation`, as
    /// `train --train FILE` takes it; it must not exist. It appears when all is done; until then
    /// FILE.work holds what is done so far; run the same command again to resume
    #[arg(id = "output", long = "out", short, value_name = "FILE")]
    out: PathBuf,
    /// Take the one of the N best translations of each sentence that has the highest sentence BLEU
    /// against its reference; on text for which BLEU does not fit, such as Japanese, the highest
    /// chrF
    #[arg(long, value_name = "N", value_parser = between(2, 1000), requires = "reference")]
    nbest: Option<usize>,
    #[command(flatten)]
    searching: Searching,
    /// Longest source sentence in tokens; a pair with a longer one is left out
    #[arg(long, value_name = "N", default_value_t = MAX_SENTENCE_TOKENS, value_parser = at_least(2))]
    longest: usize,
    /// Largest number of sentences that are translated together
    #[arg(long, default_value_t = Batching::default().max_sentences, value_parser = at_least(1))]
    batch: usize,
    /// Number of lines that are translated and written together
    #[arg(long, default_value_t = CHUNK_LINES, value_parser = at_least(1))]
    chunk: usize,
    #[command(flatten)]
    shard: ShardArgs,
    #[command(flatten)]
    computing: Computing,
}

impl UsesFiles for Args {
    fn files_in_use(&self) -> Result<FilesInUse> {
        let outputs = written(&self.shard, &self.out);
        let journals = outputs
            .iter()
            .map(|out| journal::path_for(out))
            .collect::<Result<Vec<_>>>()?;
        Ok(FilesInUse::default()
            .reads([&self.input])
            .reads(&self.reference)
            .reads_models(&self.model)
            .writes(outputs)
            .writes(journals))
    }
}

/// Writes a pair for each sentence that has a whole translation. A killed process loses at most one
/// chunk: the next one resumes after the sentences in `FILE.work`.
///
/// # Errors
/// Returns an error if the model or a text cannot be read, a translation fails, or the output
/// cannot be written.
pub fn run(args: Args) -> Result<()> {
    let texts = of_sides(&args.input, args.reference.as_deref())?;
    // A process killed at the very end leaves both files. The next one removes the journal.
    let is_whole = args.shard.is_whole();
    if is_whole && args.out.is_file() && !journal::path_for(&args.out)?.exists() {
        check_new(&args.out)?;
    }
    note_terminal(texts.iter().map(|(path, _)| *path));
    let translator = args.computing.load(&args.model)?;
    let options = options(&args, &translator)?;
    let identity = identity(&args, &options)?;
    let part = Part::open(&args.shard, Some(&args.out), &texts, args.chunk, || {
        Ok(json!({ "search": identity, "batches": [args.batch, args.chunk] }))
    })?;
    let Some(part) = part else { return Ok(()) };
    let out = part.output.as_deref().unwrap_or(&args.out);
    let mut input = journal::open(&args.input, args.reference.as_deref(), &part.lines)?;
    let mut journal = Journal::open(out, &identity, &mut input)?;
    if journal.lines > 0 {
        let lines = counted(journal.lines, "line");
        note(format_args!(
            "going on after the first {lines}, which {journal} has"
        ));
    }
    let progress = Progress::new(journal.lines, part.count());
    let teacher = Teacher {
        args: &args,
        translator: &translator,
        options: &options,
        progress,
    };
    with_remedy(Remedy::Batch, || -> Result<()> {
        while teacher.add_chunk(&mut input, &mut journal)? {}
        Ok(())
    })?;
    drop(teacher);
    let lines = journal.lines;
    let mut kept_count = 0;
    part.complete(part.lines.start + lines, |out| {
        kept_count = journal.finish(out, !is_whole)?;
        (!is_whole).then(|| digest_of_file(out)).transpose()
    })?;
    note(format_args!(
        "{}: {kept_count} of {}; {} left out, whose source is empty or longer than {} tokens, or whose \
         translation is empty or was cut",
        out.display(),
        counted(lines, "pair"),
        lines - kept_count,
        options.longest
    ));
    Ok(())
}

/// The search options. They cut no sentence.
fn options(args: &Args, translator: &Translator) -> Result<TranslateOptions> {
    args.searching.options(
        translator,
        args.searching.languages.source_language.as_deref(),
        args.nbest.unwrap_or(1),
        |options| {
            options.long_sources = LongSources::Refuse;
            options.batching = Batching {
                max_sentences: args.batch,
                ..Batching::default()
            };
            options.longest = args.longest;
        },
    )
}

/// The inputs besides the text that decide the translations.
fn identity(args: &Args, options: &TranslateOptions) -> Result<Value> {
    let languages = args.searching.languages.codes();
    let mut identity = args.computing.identity(&args.model, options, languages)?;
    identity["chosen_by_reference"] = args.reference.is_some().into();
    // Printing a number in the journal may change its last digit.
    Ok(serde_json::from_str(&identity.to_string())?)
}

/// A model with its search settings.
struct Teacher<'a> {
    args: &'a Args,
    translator: &'a Translator,
    options: &'a TranslateOptions,
    progress: Progress,
}

impl Teacher<'_> {
    /// Adds the pairs of the next lines, if there are any.
    fn add_chunk(&self, input: &mut Input, journal: &mut Journal) -> Result<bool> {
        let (sentences, failure) = next_chunk(input, self.args.chunk);
        let translations = self.translations(&sentences)?;
        journal.add(sentences.iter().zip(translations))?;
        failure.map_or(Ok(!sentences.is_empty()), Err)
    }

    /// The translation of each sentence; `None` if no hypothesis is usable.
    fn translations(&self, sentences: &[Sentence]) -> Result<Vec<Option<String>>> {
        let Self {
            translator,
            options,
            progress,
            ..
        } = self;
        let texts: Vec<&str> = sentences.iter().map(|sentence| &*sentence.source).collect();
        let limit = translator.longest_source(options);
        let requests = translator
            .requests(&texts, options)?
            .into_iter()
            .enumerate();
        let (usable, requests): (Vec<usize>, Vec<TextRequest>) = requests
            .filter(|(_, request)| (1..limit).contains(&request.search.source.len()))
            .unzip();
        let (found, failure) =
            translator.translate_ids_until_error(requests, options, &|count| progress.add(count));
        failure.map_or(Ok(()), Err)?;
        let chosen: Vec<Option<String>> = usable
            .par_iter()
            .zip(found)
            .map(|(&i, all)| best(self.whole(all), sentences[i].reference.as_deref()))
            .collect();
        let mut all = vec![None; sentences.len()];
        usable
            .into_iter()
            .zip(chosen)
            .for_each(|(i, translation)| all[i] = translation);
        Ok(all)
    }

    /// The texts of the finished, non-empty hypotheses, best first.
    fn whole(&self, hypotheses: Vec<Hypothesis>) -> Vec<String> {
        let ended = hypotheses
            .iter()
            .filter(|it| it.finish == FinishReason::EndOfSentence);
        let texts = ended.map(|hypothesis| self.translator.text_of(hypothesis));
        texts.filter(|text| !text.trim().is_empty()).collect()
    }
}

/// The text with the highest score against the reference, or the first one without a reference. The
/// first of equal texts wins.
fn best(texts: Vec<String>, reference: Option<&str>) -> Option<String> {
    let Some(reference) = reference else {
        return texts.into_iter().next();
    };
    let references = [reference];
    let metric = WritingSystem::of(&references).sentence_metric();
    let references = References::of_segment(&references);
    let scored = texts.into_iter().map(|text| {
        let score = metric.evaluate(&[&*text], &references);
        (score.map_or(0.0, |it| it.value), text)
    });
    scored
        .reduce(|best, it| if it.0 > best.0 { it } else { best })
        .map(|(_, text)| text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_translation_closest_to_the_reference_is_taken() {
        let texts =
            || ["a cat sat", "the cat sat on a mat", "the cat sat on mats"].map(String::from);
        let chosen = |reference| best(texts().to_vec(), reference).unwrap();
        assert_eq!(chosen(None), "a cat sat");
        assert_eq!(
            chosen(Some("the cat sat on a mat today")),
            "the cat sat on a mat"
        );
        assert_eq!(chosen(Some("nothing in common")), "a cat sat");
        assert_eq!(best(vec![], Some("x")), None);
    }

    #[test]
    fn the_closest_translation_is_taken_in_scripts_without_spaces() {
        for [first, closest, reference] in [
            ["他们喜欢狗。", "我喜欢红苹果。", "我喜欢红色的苹果。"],
            [
                "彼は犬が好きです。",
                "私は赤いリンゴが大好き。",
                "私は赤いリンゴが好きです。",
            ],
            [
                "그는 개를 좋아한다.",
                "나는 붉은 사과를 좋아해.",
                "나는 붉은 사과를 좋아한다.",
            ],
            ["เขาชอบสุนัข", "ฉันชอบแอปเปิ้ลแดง", "ฉันชอบแอปเปิ้ลสีแดง"],
        ] {
            let texts = [first, closest].map(String::from).to_vec();
            assert_eq!(best(texts, Some(reference)).unwrap(), closest);
        }
    }
}
