use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use burnformer_data::{LineReader, Utf8Policy};
use burnformer_infer::{LengthPenalty, Translator};
use burnformer_metrics::{
    Bleu, BleuTokenizer, Bootstrap, Chrf, CompoundBleu, Metric, MosesLanguage, References, Score,
    Smoothing, Ter, as_strs,
};
use serde_json::Value;

use crate::device::DeviceName;

/// Arguments of `eval-bleu`.
#[derive(clap::Args)]
pub struct Args {
    /// Translate --source with this model and score that; several models form an ensemble
    #[arg(long, requires = "source", conflicts_with = "hypothesis")]
    model: Vec<PathBuf>,
    /// Text to translate, one sentence a line; plain, .gz or .zst
    #[arg(long, requires = "model")]
    source: Option<PathBuf>,
    /// Score this file of translations; `-` is standard input
    #[arg(long, required_unless_present = "model")]
    hypothesis: Option<PathBuf>,
    /// Reference translations; several files are several references for each line
    #[arg(long, required = true, num_args = 1..)]
    reference: Vec<PathBuf>,
    /// What to compute; several are allowed. `compound` is the paper's own measure (tokenised BLEU
    /// with German compounds split), not comparable with the others
    #[arg(long, num_args = 1.., default_value = "bleu")]
    metric: Vec<MetricName>,
    /// BLEU's words: 13a, intl, char, zh or none
    #[arg(long, default_value = "13a")]
    tokenize: BleuTokenizer,
    /// Compare lower-cased text
    #[arg(long)]
    lowercase: bool,
    /// BLEU's smoothing: exp, floor, add-k or none
    #[arg(long, default_value = "exp")]
    smooth: Smoothing,
    /// Leave orders longer than the hypothesis out of BLEU
    #[arg(long)]
    effective_order: bool,
    /// The language whose words `compound` splits: de or en
    #[arg(long, default_value = "de")]
    language: MosesLanguage,
    /// Give a 95 % interval by bootstrap resampling
    #[arg(long)]
    confidence: bool,
    /// Resamplings
    #[arg(long, default_value_t = 1000)]
    confidence_n: usize,
    /// Digits after the point, as sacreBLEU's --width
    #[arg(long, short = 'w', default_value_t = 1)]
    width: usize,
    /// Print sacreBLEU's JSON
    #[arg(long)]
    json: bool,
    /// Hypotheses of the beam search; 1 is greedy
    #[arg(long, default_value_t = 4)]
    beam: usize,
    /// Length penalty α (Wu et al., 2016)
    #[arg(long, default_value_t = 0.6)]
    alpha: f64,
    /// Write the translations to this file
    #[arg(long)]
    output: Option<PathBuf>,
    /// Where to compute
    #[arg(long, default_value = "auto")]
    device: DeviceName,
}

/// What can be computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum MetricName {
    Bleu,
    Chrf,
    #[value(name = "chrf++")]
    ChrfPlusPlus,
    Ter,
    Compound,
}

/// Translates if a model is given, then scores.
pub fn run(args: Args) -> Result<()> {
    let references = args.reference.iter().map(|path| lines(path)).collect::<Result<Vec<_>>>()?;
    let hypotheses = match &args.hypothesis {
        Some(path) => lines(path)?,
        None => translate(&args)?,
    };
    let streams: Vec<Vec<&str>> = references.iter().map(|r| as_strs(r)).collect();
    let references = References::new(&streams);
    let hypotheses = as_strs(&hypotheses);
    let mut scores = Vec::new();
    for &name in &args.metric {
        let metric = metric(name, &args);
        let score = match args.confidence {
            false => metric.evaluate(&hypotheses, &references)?,
            true => {
                let bootstrap = Bootstrap { samples: args.confidence_n, ..Bootstrap::default() };
                metric.evaluate_with_confidence(&hypotheses, &references, bootstrap)?
            }
        };
        scores.push(score);
    }
    print(&args, &scores)
}

fn print(args: &Args, scores: &[Score]) -> Result<()> {
    if !args.json {
        scores.iter().for_each(|score| println!("{}", score.text(args.width)));
        return Ok(());
    }
    let values: Vec<Value> = scores.iter().map(|score| score.json(args.width)).collect();
    match values.as_slice() {
        [one] => println!("{}", serde_json::to_string_pretty(one)?),
        _ => println!("{}", serde_json::to_string_pretty(&values)?),
    }
    Ok(())
}

fn metric(name: MetricName, args: &Args) -> Box<dyn Metric> {
    let lowercase = args.lowercase;
    match name {
        MetricName::Bleu => Box::new(Bleu {
            tokenizer: args.tokenize,
            lowercase,
            smoothing: args.smooth,
            effective_order: args.effective_order,
            ..Bleu::default()
        }),
        MetricName::Chrf => Box::new(Chrf { lowercase, ..Chrf::default() }),
        MetricName::ChrfPlusPlus => Box::new(Chrf { lowercase, ..Chrf::plus_plus() }),
        MetricName::Ter => Box::new(Ter::default()),
        MetricName::Compound => Box::new(CompoundBleu { language: args.language }),
    }
}

/// Every line of a file; invalid UTF-8 is an error, since it would change the score.
fn lines(path: &Path) -> Result<Vec<String>> {
    let mut reader = LineReader::open(path, Utf8Policy::Error)?;
    let mut lines = Vec::new();
    while let Some(line) = reader.next_line()? {
        lines.push(line.text);
    }
    Ok(lines)
}

fn translate(args: &Args) -> Result<Vec<String>> {
    let Some(source) = &args.source else { bail!("--model needs --source") };
    let translator = Translator::load_ensemble(&args.model, &args.device.open())?;
    let mut options = translator.options();
    options.search.beam_size = args.beam;
    options.search.length_penalty = LengthPenalty::Gnmt(args.alpha);
    let translations = translator.translate(&lines(source)?, &options)?;
    let texts: Vec<String> = translations.into_iter().map(|t| t.text).collect();
    if let Some(path) = &args.output {
        std::fs::write(path, texts.join("\n") + "\n")?;
    }
    Ok(texts)
}
