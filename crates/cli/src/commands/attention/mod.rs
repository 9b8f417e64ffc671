//! `attention`: the attention weights of a model, as text, pages, pictures and tables.

mod checkpoints;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use burnformer_data::{ParallelReader, Utf8Policy};
use burnformer_infer::{AlignmentOptions, Attention, Link, Translator, pharaoh};
use burnformer_train::config::corpus_paths;
use burnformer_view::{
    HeadGrid, HeadHabits, HeadRole, Panel, PanelKind, Picture, Sentence, blocks, heads_table, page,
};

use super::{Computing, model};
use crate::embedded::DEFAULT_MODEL;
use crate::output::{Output, note};

/// Arguments of `attention`.
#[derive(clap::Args)]
pub struct Args {
    /// The model directory; embedded:de-en and embedded:en-de are inside the program [default: embedded:de-en]
    #[arg(long, short, value_parser = model(), value_name = "DIR")]
    model: Option<PathBuf>,
    /// Draw the sentence with the model after each checkpoint of this run, side by side
    #[arg(
        long,
        value_name = "RUN",
        requires = "picture",
        conflicts_with_all = ["model", "file", "html", "json", "alignments", "heads"]
    )]
    checkpoints: Option<PathBuf>,
    /// The source sentence
    #[arg(required_unless_present = "file", conflicts_with = "file")]
    sentence: Option<String>,
    /// The translation of the sentence [default: the model's own]
    #[arg(long, conflicts_with = "file")]
    target: Option<String>,
    /// Sentences with given translations: a TSV file, or a source file and a target file
    #[arg(long, num_args = 1..=2, value_names = ["SOURCE", "TARGET"])]
    file: Vec<PathBuf>,
    /// Write an HTML page with every kind of attention, layer and head, which shows a weight where the pointer is
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Draw a picture, .png or .svg; may be given several times
    #[arg(long, value_name = "FILE")]
    picture: Vec<PathBuf>,
    /// Print one JSON object per sentence: tokens, alignment and every weight
    #[arg(long, conflicts_with = "alignments")]
    json: bool,
    /// Print word alignments, one line per sentence, in Pharaoh's format: `source-target`, from 0
    #[arg(long)]
    alignments: bool,
    /// Print a table of what each head does over all sentences: the share of its weight on the previous, same and next
    /// position, on separators and on the diagonal, its entropy (nats) and the mean distance (positions)
    #[arg(long, conflicts_with = "alignments")]
    heads: bool,
    /// The kind of attention to print or draw
    #[arg(long, default_value = "cross")]
    part: Part,
    /// The layer, from 1 [default: all layers in pictures, otherwise the last]
    #[arg(long, value_name = "N")]
    layer: Option<usize>,
    /// The head, from 1 [default: all heads in pictures, otherwise the mean of all heads]
    #[arg(long, value_name = "N", requires = "layer")]
    head: Option<usize>,
    #[command(flatten)]
    computing: Computing,
}

/// The three kinds of attention.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Part {
    /// Self-attention of the encoder, from source to source
    Encoder,
    /// Self-attention of the decoder, from each target position to the earlier ones
    Decoder,
    /// Attention of the decoder to the source
    Cross,
}

impl Args {
    /// Whether an HTML page or pictures are wanted.
    fn wants_files(&self) -> bool {
        self.html.is_some() || !self.picture.is_empty()
    }
}

/// Prints, draws or writes the attention of a model.
pub fn run(args: Args) -> Result<()> {
    if let Some(run) = &args.checkpoints {
        return checkpoints::draw(&args, run);
    }
    let translator = args.computing.load(args.model.as_slice())?;
    let mut output = Output::create(None, &[])?;
    let (mut kept, mut habits) = (Vec::new(), HeadHabits::default());
    // Text goes out sentence by sentence; only files need all of them at once.
    each(&args, &translator, |sentence| {
        match args.heads {
            true => habits.add(&sentence),
            false => print(&args, &mut output, &sentence)?,
        }
        kept.extend(args.wants_files().then_some(sentence));
        Ok(())
    })?;
    if args.heads {
        print_heads(&args, &mut output, &habits)?;
    }
    output.flush()?;
    if let Some(path) = &args.html {
        let title = format!("Attention of {}", name_of(&args).display());
        std::fs::write(path, page(&title, &kept)).with_context(|| format!("{}", path.display()))?;
        note(format_args!("wrote {}", path.display()));
    }
    if args.picture.is_empty() { Ok(()) } else { draw(&args, &kept) }
}

/// The model as the command line names it.
fn name_of(args: &Args) -> &Path {
    args.model.as_deref().unwrap_or(Path::new(DEFAULT_MODEL))
}

/// Calls `take` with every sentence, in order.
fn each(
    args: &Args,
    translator: &Translator,
    mut take: impl FnMut(Sentence) -> Result<()>,
) -> Result<()> {
    if let Some(source) = &args.sentence {
        let target = match &args.target {
            Some(target) => target.clone(),
            None => translator.translate(&[source], &translator.options())?.remove(0).text,
        };
        return take(sentence(args, translator, source, &target)?);
    }
    for pair in ParallelReader::open(&corpus_paths("--file", &args.file)?, Utf8Policy::Error)? {
        let pair = pair?;
        let found = sentence(args, translator, &pair.source, &pair.target);
        take(found.with_context(|| format!("line {}", pair.line))?)?;
    }
    Ok(())
}

/// Writes the table of heads, and a word of caution if some of them rest.
fn print_heads(args: &Args, output: &mut Output, habits: &HeadHabits) -> Result<()> {
    let habits = habits.means();
    match args.json {
        true => output.line(serde_json::to_string(&habits)?)?,
        false => output.line(heads_table(&habits).trim_end())?,
    }
    let resting = habits.iter().filter(|habit| habit.role == Some(HeadRole::Separator)).count();
    if resting > 0 {
        note(format_args!(
            "heads that rest on separators: {resting} of {}; such a head often does nothing there, and its weights say little \
             about what matters (Clark et al., 2019); `study heads` measures what a head is worth",
            habits.len()
        ));
    }
    Ok(())
}

/// Writes the wanted output to standard output: nothing if only files are wanted.
fn print(args: &Args, output: &mut Output, sentence: &Sentence) -> Result<()> {
    if args.json {
        output.line(serde_json::to_string(sentence)?)?;
    } else if args.alignments {
        let link = |&(source, target): &(usize, usize)| Link { source, target };
        let links: Vec<Link> = sentence.alignment.iter().map(link).collect();
        output.line(pharaoh(&links))?;
    } else if !args.wants_files() {
        output.line(terminal(args, sentence)?)?;
    }
    Ok(())
}

fn sentence(args: &Args, translator: &Translator, source: &str, target: &str) -> Result<Sentence> {
    let attention = translator.attention(source, target)?;
    check(args, &attention)?;
    let options = match args.part {
        Part::Cross => AlignmentOptions {
            layer: args.layer.map(|layer| layer - 1),
            head: args.head.map(|head| head - 1),
        },
        _ => AlignmentOptions::default(),
    };
    Ok(Sentence::new(source, target, attention, options))
}

/// Checks that the chosen layer and head exist.
fn check(args: &Args, attention: &Attention) -> Result<()> {
    let layers = match args.part {
        Part::Encoder => &attention.weights.encoder_self,
        Part::Decoder => &attention.weights.decoder_self,
        Part::Cross => &attention.weights.cross,
    };
    let Some(layer) = args.layer else { return Ok(()) };
    if layer == 0 || layer > layers.len() {
        bail!("--layer {layer}: the model has layers 1 to {}", layers.len());
    }
    let heads = layers[layer - 1].len();
    match args.head {
        Some(head) if head == 0 || head > heads => {
            bail!("--head {head}: layer {layer} has heads 1 to {heads}")
        }
        _ => Ok(()),
    }
}

/// The chosen kind, layer and head.
fn panel<'a>(args: &Args, sentence: &'a Sentence) -> Result<&'a Panel> {
    let kind = match args.part {
        Part::Encoder => PanelKind::Encoder,
        Part::Decoder => PanelKind::Decoder,
        Part::Cross => PanelKind::Cross,
    };
    let found = sentence.panels.iter().find(|panel| panel.kind == kind);
    found.with_context(|| format!("--part {}: the model has no such attention", kind.name()))
}

fn draw(args: &Args, sentences: &[Sentence]) -> Result<()> {
    let [sentence] = sentences else {
        bail!("--picture draws one sentence, --file has {}; give one line", sentences.len());
    };
    let panel = panel(args, sentence)?;
    let grid = match (args.layer, args.head) {
        (None, _) => HeadGrid::all(panel),
        (Some(layer), None) => HeadGrid::layer(panel, layer - 1),
        (Some(layer), Some(head)) => HeadGrid::head(panel, layer - 1, Some(head - 1)),
    };
    let Sentence { source, target, .. } = sentence;
    let grid = grid.with_caption(format!("{}: {source} → {target}", name_of(args).display()));
    for path in &args.picture {
        grid.save(path)?;
        note(format_args!("wrote {}", path.display()));
    }
    Ok(())
}

/// The sentence, its translation, and one attention map drawn with shades of characters.
fn terminal(args: &Args, sentence: &Sentence) -> Result<String> {
    let panel = panel(args, sentence)?;
    let layer = args.layer.map_or(panel.layers.len().saturating_sub(1), |layer| layer - 1);
    let head = args.head.map(|head| head - 1);
    let weights = panel.weights(layer, head).context("the layer has no heads")?;
    let name = match args.head {
        Some(head) => format!("head {head}"),
        None => "mean of heads".to_string(),
    };
    Ok(format!(
        "{} → {}\n{}, layer {}, {name}\n{}",
        sentence.source,
        sentence.target,
        panel.kind.title(),
        layer + 1,
        blocks(&panel.queries, &panel.keys, &weights),
    ))
}
