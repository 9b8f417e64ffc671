mod folder;

use std::io::{self, IsTerminal, Write as _};
use std::path::{Path, PathBuf};

use anyhow::Result;
use burn::tensor::Device;
use burnformer_core::Seq2SeqConfig;
use burnformer_data::{ParallelReader, Progress, Stage, TokenizerKind};
use burnformer_infer::{LengthPenalty, LongSources, Translator};
use burnformer_metrics::{Bleu, Metric as _, References, as_strs};
use burnformer_train::config::corpus_paths;
use burnformer_train::report::Verbosity;
use burnformer_train::{
    Corpora, Learner, RunDir, RunMode, StopReason, TrainConfig, cache_folder, worst_batch_bytes,
};

use crate::device::{DeviceNames, guarded};
use crate::embedded;
use crate::output::{self, say};
use crate::signals::Signals;
use crate::texts::{ReadTexts, Unnamed};

/// Arguments of `train`.
#[derive(clap::Args)]
pub struct Args {
    /// Start from this preset: tiny, small, base, big, multi30k or rnn [default: the preset that --config
    /// names, or else tiny]
    #[arg(long, short)]
    preset: Option<String>,
    /// A TOML file of settings over the preset (`burnformer config` explains every key); a run's config.toml
    /// has all of them and repeats that run
    #[arg(long, short)]
    config: Option<PathBuf>,
    /// Training text: two files, line by line translations, or one TSV; plain, .gz or .zst. `-` is
    /// standard input; what comes through it or another pipe is copied into the run's folder
    /// [default: the embedded corpus, embedded:tatoeba-de-en/train.de and .en]
    #[arg(long, num_args = 1..=2, value_names = ["SOURCE", "TARGET"])]
    train: Vec<PathBuf>,
    /// Validation text, likewise
    #[arg(long, num_args = 1..=2, value_names = ["SOURCE", "TARGET"])]
    valid: Vec<PathBuf>,
    /// Test text, likewise, scored after training
    #[arg(long, num_args = 1..=2, value_names = ["SOURCE", "TARGET"])]
    test: Vec<PathBuf>,
    /// Change one setting; may be repeated: --set model.dropout=0.3
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Where to compute; several devices share the batches of each update: cuda:all, or cuda:0,cuda:1
    #[arg(long, default_value = "auto", value_name = "DEVICES")]
    device: DeviceNames,
    /// The run's folder [default: runs/PRESET, numbered if taken]
    #[arg(long, short)]
    out: Option<PathBuf>,
    /// Continue the run in --out, or the one under runs/ that was written last (with --preset NAME, of
    /// those called NAME or NAME-2, NAME-3 …)
    #[arg(long)]
    resume: bool,
    /// Most memory to use, in GB: short for --set training.max_memory
    #[arg(long, value_name = "GB")]
    max_memory: Option<f64>,
    /// Print the configuration, the number of parameters and the memory of the worst batch, and stop
    #[arg(long)]
    dry_run: bool,
    /// No log lines on the terminal
    #[arg(long, short)]
    quiet: bool,
}

impl Args {
    fn mode(&self) -> RunMode {
        if self.resume { RunMode::Resume } else { RunMode::New }
    }

    fn verbosity(&self) -> Verbosity {
        if self.quiet { Verbosity::Quiet } else { Verbosity::Normal }
    }
}

/// Tokens of a side of a sentence, to tell how much arithmetic an update is.
const TYPICAL: usize = 12;

/// Trains, then scores the test text with the best model.
pub fn run(args: Args) -> Result<()> {
    let folder = run_folder(&args)?;
    let file = configuration_file(&args, &folder);
    let mut config = configuration(&args, file.as_deref())?;
    let unnamed = Unnamed::take(&mut config.data)?;
    if args.dry_run {
        return dry_run(&config);
    }
    let signals = Signals::watch("finishing this update and saving; once more to stop at once")?;
    let (mode, verbosity) = (args.mode(), args.verbosity());
    RunDir::check(&folder, mode)?;
    let devices = args.device.open()?;
    let cache = cache_folder(&config);
    let read = unnamed.read(&cache)?;
    let beside = file.as_deref().and_then(Path::parent).unwrap_or(&folder);
    let texts = read.locate(&config.data, beside, &cache)?;
    texts.check(&folder, mode)?;
    let corpora = Corpora::prepare(&config, texts, &mut progress(verbosity));
    let corpora = corpora.map_err(|error| read.explain(error.into()))?;
    if verbosity == Verbosity::Normal {
        let cached = if corpora.reused { " (from the cache)" } else { "" };
        say(format_args!("{}{cached}", corpora.report));
        say(format_args!("run: {}", folder.display()));
    }
    let advice = format!(
        "--resume goes on from the last checkpoint, if there is one; if its memory was full, start anew with \
         --set training.budget={} and twice the training.accumulate, whose updates are alike",
        config.training.budget / 2
    );
    let outcome = signals.patiently(|interrupted| {
        guarded(&advice, || {
            let config = config.clone();
            let learner = Learner::new(config, &corpora, &folder, mode, verbosity, &devices)?;
            // The run has its own copy now.
            drop(read);
            Ok(learner.train(interrupted)?)
        })
    })?;
    if outcome.reason == StopReason::Interrupted {
        return Err(signals.stopped().into());
    }
    if !config.data.test.is_empty() {
        let texts = ReadTexts::default().locate(&config.data, &folder, &cache)?;
        test(&config, &texts.test, &folder.join("best"), &devices[0])?;
    }
    Ok(())
}

/// `--out`, or a folder under `runs` called after the preset or the configuration file.
fn run_folder(args: &Args) -> Result<PathBuf> {
    if let Some(out) = &args.out {
        return Ok(out.clone());
    }
    let stem = args.config.as_ref().and_then(|path| path.file_stem()?.to_str());
    folder::choose(Path::new("runs"), args.preset.as_deref().or(stem), args.mode())
}

/// `--config`; else a resumed run keeps its own.
fn configuration_file(args: &Args, folder: &Path) -> Option<PathBuf> {
    let own = || Some(folder.join("config.toml")).filter(|path| path.exists());
    match args.mode() {
        RunMode::New => args.config.clone(),
        RunMode::Resume => args.config.clone().or_else(own),
    }
}

/// What the command line says over `file`; the embedded corpus where neither names a text.
fn configuration(args: &Args, file: Option<&Path>) -> Result<TrainConfig> {
    let memory = args.max_memory.map(|gb| format!("training.max_memory={gb:?}"));
    let settings: Vec<String> = args.set.iter().cloned().chain(memory).collect();
    let mut config = TrainConfig::resolve(args.preset.as_deref(), file, &settings)?;
    let given = [&args.train, &args.valid, &args.test];
    for ((_, names), given) in config.data.texts_mut().into_iter().zip(given) {
        if !given.is_empty() {
            names.clone_from(given);
        }
    }
    embedded::fill(&mut config.data);
    Ok(config)
}

fn dry_run(config: &TrainConfig) -> Result<()> {
    let vocab = config.tokenizer.train.vocab_size;
    let shape = config.model.over(vocab, vocab);
    shape.validate()?;
    let longest = config.data.max_source_len.max(config.data.max_target_len) + 1;
    let training = &config.training;
    let bytes = worst_batch_bytes(&shape, training.budget, longest, training.precision);
    output::print(config.to_toml())?;
    output::print(format_args!("# parameters: {}", shape.parameter_count()))?;
    let gigabytes = bytes as f64 / 1e9;
    output::print(format_args!("# memory of the worst batch (estimate): {gigabytes:.2} GB"))?;
    let flops = shape.update_flops(config.training.budget / TYPICAL, TYPICAL, TYPICAL);
    let flops = flops as f64 / 1e9;
    output::print(format_args!(
        "# arithmetic of an update of sentences of {TYPICAL} tokens: {flops:.1} GFLOP"
    ))?;
    if config.tokenizer.train.kind == TokenizerKind::Bpe && !config.tokenizer.files.is_empty() {
        let decides = "tokenizer.files decides the real one";
        output::print(format_args!("# with a vocabulary of {vocab}; {decides}"))?;
    }
    Ok(())
}

/// A line on stderr at each stage; on a terminal also how far it is.
fn progress(verbosity: Verbosity) -> impl FnMut(Progress) {
    let terminal = io::stderr().is_terminal();
    let mut stage: Option<Stage> = None;
    move |now: Progress| {
        if verbosity == Verbosity::Quiet {
            return;
        }
        let label = match now.stage {
            Stage::ReadText => "reading text",
            Stage::TrainTokenizer => "training the tokeniser",
            Stage::Tokenize => "tokenising",
        };
        if stage != Some(now.stage) {
            stage = Some(now.stage);
            say(label);
        } else if terminal && now.lines > 0 {
            // A terminal that went away is no reason to stop.
            let _ = write!(io::stderr(), "\r{label}: {} lines\r", now.lines);
        }
    }
}

/// BLEU of the test text, then a dozen translations beside their references.
fn test(config: &TrainConfig, text: &[PathBuf], model: &Path, device: &Device) -> Result<()> {
    let corpus = corpus_paths("data.test", text)?;
    let pairs = ParallelReader::open(&corpus, config.data.utf8)?;
    let pairs = pairs.collect::<Result<Vec<_>, _>>()?;
    let (source, references): (Vec<_>, Vec<_>) =
        pairs.into_iter().map(|pair| (pair.source, pair.target)).unzip();
    let translator = Translator::load(model, device)?;
    let mut options = translator.options();
    options.long_sources = LongSources::Truncate;
    if config.validation.test_alphas.is_empty() {
        options.search.beam_size = config.validation.test_beam;
        options.search.length_penalty = LengthPenalty::Gnmt(config.validation.test_alpha);
    }
    let translations = translator.translate(&source, &options)?;
    let hypotheses: Vec<String> = translations.into_iter().map(|t| t.text).collect();
    let streams = [as_strs(&references)];
    let score = Bleu::default().evaluate(&as_strs(&hypotheses), &References::new(&streams))?;
    let step = source.len().div_ceil(12).max(1);
    for i in (0..source.len()).step_by(step) {
        output::print(format_args!(
            "source      {}\ntranslation {}\nreference   {}\n",
            source[i], hypotheses[i], references[i]
        ))?;
    }
    output::print(format_args!("{score}\nmodel: {}", model.display()))
}
