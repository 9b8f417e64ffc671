//! The program itself: its command line, and what each command runs.

use std::ffi::OsString;

use clap::{CommandFactory, Parser, Subcommand};

use crate::files_in_use::UsesFiles;
use crate::output::exit_code;
use crate::{commands, device, output};

/// Runs the program `burnformer` with the command line `args`, program name first, and returns the
/// exit code. The program takes over the signals, the standard streams and the memory settings of
/// the whole process, so call this once per process, before any thread is started.
pub fn run(args: impl IntoIterator<Item = OsString>) -> u8 {
    if let Err(usage) = check_threads() {
        return exit_code(Err(usage));
    }
    // With a handler, a write beyond `ulimit -f` is an error with a message, not the end of the
    // process. A missing handler is no error.
    #[cfg(unix)]
    drop(signal_hook::flag::register(
        signal_hook::consts::SIGXFSZ,
        Default::default(),
    ));
    burnformer_core::allocator::keep_freed_memory();
    device::prepare();
    let command = match Cli::try_parse_from(args) {
        Ok(cli) => {
            output::set_quiet(cli.quiet);
            cli.command
        }
        Err(usage) => return exit_code(output::print_usage(usage)),
    };
    exit_code(device::guarded("", || run_command(command)))
}

/// The largest number of threads in `RAYON_NUM_THREADS`: with tens of thousands, a process never
/// gets to work.
const MAX_THREADS: usize = 1024;

fn check_threads() -> anyhow::Result<()> {
    let asked = std::env::var("RAYON_NUM_THREADS")
        .ok()
        .and_then(|text| text.trim().parse().ok());
    match asked.unwrap_or(0_u128) {
        threads if threads > MAX_THREADS as u128 => Err(output::wrong_usage(format_args!(
            "RAYON_NUM_THREADS is {threads}; the maximum is {MAX_THREADS}; unset it for one thread a processor"
        ))),
        _ => Ok(()),
    }
}

/// Train, score and run translation models: the Transformer of "Attention Is All You Need".
#[derive(Parser)]
#[command(name = "burnformer", version, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
    /// Print nothing but results, warnings and errors
    #[arg(long, short, global = true)]
    quiet: bool,
}

#[derive(Subcommand)]
enum Command {
    /// Train a model on parallel text; without arguments, on the German–English corpus inside the
    /// program.
    Train(commands::train::Args),
    /// Adapt a model to a translation memory, without getting worse elsewhere.
    Adapt(commands::adapt::Args),
    /// Translate text, one sentence per line, from standard input to standard output.
    Translate(commands::translate::Args),
    /// Join the outputs of all shards of a text (--shard) into one file.
    Gather(commands::gather::Args),
    /// Score the translations of a model, or those in a file, by BLEU, chrF or TER.
    EvalBleu(commands::eval_bleu::Args),
    /// Score given translations by the log-probability that a model assigns to them.
    Score(commands::score::Args),
    /// Explain the keys of configurations: type, default, presets, and when to change them.
    Config(commands::config::Args),
    /// Average the parameters of several models.
    Average(commands::average::Args),
    /// Translate text by a large model, for a small model to learn from (knowledge distillation).
    Distill(commands::distill::Args),
    /// Convert a model of another system into a model directory.
    Import(commands::import::Args),
    /// List the models that were fetched by name, with their sizes and licences, or remove one.
    Models(commands::models::Args),
    /// Convert a model directory into a model of another system.
    Export(commands::export::Args),
    /// Store the matrices of a model in 8-bit integers: a quarter of the size, and faster on a CPU.
    Quantize(commands::quantize::Args),
    /// Build a lexical shortlist (speeds up large vocabularies).
    Shortlist(commands::shortlist::Args),
    /// Show or edit the default generation settings: beam, length penalty.
    Settings(commands::settings::Args),
    /// Describe a model directory.
    Inspect(commands::inspect::Args),
    /// Show the attention of a model in every layer and head, or word alignments.
    Attention(commands::attention::Args),
    /// Draw the curves of runs, or write their numbers.
    Plot(commands::plot::Args),
    /// Translate over HTTP: LibreTranslate's, DeepL's and our own interface, and a web page.
    #[cfg(feature = "serve")]
    Serve(commands::serve::Args),
    /// List the devices of this build and this machine.
    Devices(commands::devices::Args),
    /// Generate shell completions.
    Completions(commands::completions::Args),
}

/// Runs a command unless it would write a file that it reads. Commands that read no user file run
/// without this check, and start no threads for computing.
fn run_with<A: UsesFiles>(args: A, run: fn(A) -> anyhow::Result<()>) -> anyhow::Result<()> {
    args.files_in_use()?.check()?;
    start_threads()?;
    run(args)
}

/// Starts the threads that compute. Otherwise rayon starts them when they are first needed, and
/// panics where the system gives none.
fn start_threads() -> anyhow::Result<()> {
    let started = rayon::ThreadPoolBuilder::new().build_global();
    // Threads that run already have no cause.
    match started.as_ref().err().and_then(std::error::Error::source) {
        Some(cause) => Err(anyhow::anyhow!(
            "the threads that compute cannot be started: {cause}; free some memory, raise the \
             limit on processes (`ulimit -u`), or set RAYON_NUM_THREADS=1"
        )),
        None => Ok(()),
    }
}

fn run_command(command: Command) -> anyhow::Result<()> {
    match command {
        Command::Train(args) => run_with(args, commands::train::run),
        Command::Adapt(args) => run_with(args, commands::adapt::run),
        Command::Translate(args) => run_with(args, commands::translate::run),
        Command::Gather(args) => run_with(args, commands::gather::run),
        Command::EvalBleu(args) => run_with(args, commands::eval_bleu::run),
        Command::Score(args) => run_with(args, commands::score::run),
        Command::Config(args) => commands::config::run(args),
        Command::Average(args) => run_with(args, commands::average::run),
        Command::Distill(args) => run_with(args, commands::distill::run),
        Command::Import(args) => run_with(args, commands::import::run),
        Command::Models(args) => commands::models::run(args),
        Command::Export(args) => run_with(args, commands::export::run),
        Command::Quantize(args) => run_with(args, commands::quantize::run),
        Command::Shortlist(args) => run_with(args, commands::shortlist::run),
        Command::Settings(args) => run_with(args, commands::settings::run),
        Command::Inspect(args) => run_with(args, commands::inspect::run),
        Command::Attention(args) => run_with(args, commands::attention::run),
        Command::Plot(args) => run_with(args, commands::plot::run),
        #[cfg(feature = "serve")]
        Command::Serve(args) => run_with(args, commands::serve::run),
        Command::Devices(args) => commands::devices::run(args),
        Command::Completions(args) => commands::completions::run(args, Cli::command()),
    }
}
