//! The arguments of `attention`, and the weights of a sentence that they select.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use burnformer_infer::view::{Panel, PanelKind, SentenceAttention};
use burnformer_infer::{AlignmentOptions, HeadWeights, TranslateOptions, Translator};

use crate::commands::{Computing, LanguageArgs};
use crate::values::{model_with_name, one_of};

/// Arguments of `attention`.
#[derive(clap::Args)]
#[command(after_help = include_str!("examples.txt"))]
pub struct Args {
    /// The model directory; embedded:de-en and embedded:en-de are inside the program [default:
    /// embedded:de-en]
    #[arg(long, short, value_parser = model_with_name(), value_name = "DIR")]
    pub(super) model: Option<(PathBuf, PathBuf)>,
    /// The source sentence
    #[arg(required_unless_present = "input", conflicts_with = "input")]
    pub(super) sentence: Option<String>,
    /// The translation of the sentence [default: the model's own]
    #[arg(long, conflicts_with = "input")]
    pub(super) target: Option<String>,
    /// Sentences with given translations: a TSV file, or a source file and a target file
    #[arg(long, short, alias = "file", num_args = 1.., value_names = ["SOURCE", "TARGET"])]
    pub(super) input: Vec<PathBuf>,
    /// Write an HTML page with every kind of attention, layer and head, which shows a weight where
    /// the pointer is
    #[arg(long, value_name = "FILE")]
    pub(super) html: Option<PathBuf>,
    /// Print one JSON object per sentence: tokens, alignment and every weight
    #[arg(long, conflicts_with = "alignments")]
    pub(super) json: bool,
    /// Print word alignments, one line per sentence, in Pharaoh's format: `source-target`, from 0
    #[arg(long)]
    pub(super) alignments: bool,
    /// Print a table of what each head does over all sentences: the share of its weight on the
    /// previous, same and next position, on separators and on the diagonal, its entropy (nats) and
    /// the mean distance (positions)
    #[arg(long, conflicts_with = "alignments")]
    pub(super) heads: bool,
    /// The kind of attention to print: encoder (from source to source), decoder (from each target
    /// position to the earlier ones) or cross (from target to source)
    #[arg(long, default_value = "cross", value_parser = one_of(PanelKind::ALL, PanelKind::name))]
    pub(super) part: PanelKind,
    /// The layer, from 1 [default: the last]
    #[arg(long, value_name = "N")]
    pub(super) layer: Option<usize>,
    /// The head, from 1 [default: the mean of all heads]
    #[arg(long, value_name = "N", requires = "layer")]
    pub(super) head: Option<usize>,
    #[command(flatten)]
    pub(super) languages: LanguageArgs,
    #[command(flatten)]
    pub(super) computing: Computing,
}

impl Args {
    /// The attention between `source` and `target`, with the alignment by the chosen layer and
    /// head.
    pub(super) fn sentence(
        &self,
        translator: &Translator,
        options: &TranslateOptions,
        [source, target]: [&str; 2],
    ) -> Result<SentenceAttention> {
        let attention = translator.attention(source, target, &options.languages)?;
        let layers = match self.part {
            PanelKind::Encoder => &attention.weights.encoder_self,
            PanelKind::Decoder => &attention.weights.decoder_self,
            PanelKind::Cross => &attention.weights.cross,
        };
        self.check(layers)?;
        let options = match self.part {
            PanelKind::Cross => AlignmentOptions {
                layer: self.layer.map(|layer| layer - 1),
                head: self.head.map(|head| head - 1),
            },
            _ => AlignmentOptions::default(),
        };
        Ok(SentenceAttention::new(source, target, attention, options))
    }

    /// Checks that the chosen layer and head exist.
    fn check(&self, layers: &[Vec<HeadWeights>]) -> Result<()> {
        let Some(layer) = self.layer else {
            return Ok(());
        };
        if layer == 0 || layer > layers.len() {
            bail!(
                "--layer {layer}: the model has layers 1 to {}",
                layers.len()
            );
        }
        let heads = layers[layer - 1].len();
        match self.head {
            Some(head) if head == 0 || head > heads => {
                bail!("--head {head}: layer {layer} has heads 1 to {heads}")
            }
            _ => Ok(()),
        }
    }

    /// The chosen kind of attention of `sentence`.
    pub(super) fn panel<'a>(&self, sentence: &'a SentenceAttention) -> Result<&'a Panel> {
        let found = sentence.panels.iter().find(|panel| panel.kind == self.part);
        found.with_context(|| {
            format!(
                "--part {}: the model has no such attention",
                self.part.name()
            )
        })
    }
}
