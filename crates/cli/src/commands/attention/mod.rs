//! `attention`: the attention weights of a model, as text, pages and tables.

mod args;

use std::path::Path;

use anyhow::{Context, Result};
use burnformer_data::{ParallelReader, Utf8Policy};
use burnformer_infer::view::{HeadHabits, HeadRole, SentenceAttention, blocks, heads_table, page};
use burnformer_infer::{TranslateOptions, Translator, pharaoh};

use crate::configuration::corpus;
use crate::embedded::DEFAULT_MODEL;
use crate::files_in_use::{FilesInUse, UsesFiles};
use crate::output::{Output, check_writable, note, write_whole};
pub use args::Args;

impl UsesFiles for Args {
    fn files_in_use(&self) -> Result<FilesInUse> {
        let models = self.model.iter().map(|(_, folder)| folder);
        Ok(FilesInUse::default()
            .reads(&self.input)
            .reads_models(models)
            .writes(&self.html))
    }
}

/// Prints or writes the attention of a model.
///
/// # Errors
/// Returns an error if the model or a text cannot be read, or the page cannot be written.
pub fn run(args: Args) -> Result<()> {
    let model = args.model.as_ref().map(|(_, folder)| folder.clone());
    let translator = args.computing.load(model.as_slice())?;
    args.html.as_deref().map_or(Ok(()), check_writable)?;
    let mut output = Output::standard();
    let mut kept = Vec::new();
    let mut habits = HeadHabits::default();
    // Text is printed sentence by sentence. Only a page needs all sentences at once.
    each(&args, &translator, |sentence| {
        if args.heads {
            habits.add(&sentence)
        } else {
            print(&args, &mut output, &sentence)?
        }
        kept.extend(args.html.is_some().then_some(sentence));
        Ok(())
    })?;
    if args.heads {
        print_heads(&args, &mut output, &habits)?;
    }
    output.flush()?;
    if let Some(path) = &args.html {
        let name = args
            .model
            .as_ref()
            .map_or(Path::new(DEFAULT_MODEL), |(name, _)| name);
        let title = format!("Attention of {}", name.display());
        write_whole(path, page(&title, &kept))?;
        note(format_args!("wrote {}", path.display()));
    }
    Ok(())
}

/// Calls `take` with every sentence, in order.
fn each(
    args: &Args,
    translator: &Translator,
    mut take: impl FnMut(SentenceAttention) -> Result<()>,
) -> Result<()> {
    let from = args.languages.source_language.as_deref();
    let options = TranslateOptions {
        languages: args.languages.of_model(translator, from)?,
        ..translator.options()
    };
    if let Some(source) = &args.sentence {
        let target = match &args.target {
            Some(target) => target.clone(),
            None => translator.translate(&[source], &options)?.remove(0).text,
        };
        return take(args.sentence(translator, &options, [source, &target])?);
    }
    for pair in ParallelReader::open(&corpus("--input", &args.input)?, Utf8Policy::Error)? {
        let pair = pair?;
        let found = args.sentence(translator, &options, [&pair.source, &pair.target]);
        take(found.with_context(|| format!("line {}", pair.line))?)?;
    }
    Ok(())
}

/// Writes the table of heads, and a note if heads rest on separators.
fn print_heads(args: &Args, output: &mut Output, habits: &HeadHabits) -> Result<()> {
    let habits = habits.means();
    if args.json {
        output.line(serde_json::to_string(&habits)?)?
    } else {
        output.line(heads_table(&habits).trim_end())?
    }
    let resting = habits
        .iter()
        .filter(|habit| habit.role == Some(HeadRole::Separator))
        .count();
    if resting > 0 {
        note(format_args!(
            "heads that rest on separators: {resting} of {}; such a head often does nothing there, and its weights say little \
             about what matters (Clark et al., 2019)",
            habits.len()
        ));
    }
    Ok(())
}

/// Writes the wanted output to standard output: nothing if only a page is wanted.
fn print(args: &Args, output: &mut Output, sentence: &SentenceAttention) -> Result<()> {
    if args.json {
        output.line(serde_json::to_string(sentence)?)?;
    } else if args.alignments {
        output.line(pharaoh(&sentence.alignment))?;
    } else if args.html.is_none() {
        output.line(terminal(args, sentence)?)?;
    }
    Ok(())
}

/// The sentence, its translation, and one attention map drawn with shades of characters.
fn terminal(args: &Args, sentence: &SentenceAttention) -> Result<String> {
    let panel = args.panel(sentence)?;
    let layer = args
        .layer
        .map_or(panel.layers.len().saturating_sub(1), |layer| layer - 1);
    let head = args.head.map(|head| head - 1);
    let weights = panel
        .weights(layer, head)
        .context("the layer has no heads")?;
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
