//! The languages of the two sides, and the direction that a start model translates in.

use burn::tensor::Device;
use burnformer_core::{Mode, Model};
use burnformer_data::{Batch, SpecialIds, Tokenizers, Utf8Policy};
use whatlang::{Lang, detect};

use super::pairs::{Pair, read};
use crate::run::Texts;
use crate::update::Recipe;
use crate::validation::as_saved;

/// The number of lines for language detection.
const LANGUAGE_LINES: usize = 200;
/// The number of pairs that test the direction of a model.
const DIRECTION_PAIRS: usize = 64;
/// The largest number of tokens per side of such a pair.
const MAX_DIRECTION_TOKENS: usize = 100;
/// The other direction must be better by this factor for a warning.
const MIN_DIRECTION_RATIO: f64 = 1.2;

/// The languages of source and target; `None` if detection is not reliable.
pub(super) fn languages(text: &[Pair]) -> [Option<Lang>; 2] {
    [
        language(text, |pair| &pair.0),
        language(text, |pair| &pair.1),
    ]
}

/// The language of one side; `None` if detection is not reliable.
fn language(text: &[Pair], side: fn(&Pair) -> &str) -> Option<Lang> {
    let lines = spread(text, LANGUAGE_LINES)
        .map(side)
        .collect::<Vec<_>>()
        .join("\n");
    detect(&lines)
        .filter(|found| found.is_reliable())
        .map(|found| found.lang())
}

/// A warning if the languages of `text` are the training languages in the other order.
pub(super) fn swapped(
    key: &str,
    text: &[Pair],
    train: [Option<Lang>; 2],
    train_key: &str,
) -> Option<String> {
    let ([Some(from), Some(into)], [Some(source), Some(target)]) = (train, languages(text)) else {
        return None;
    };
    let [from, into, source, target] = [from, into, source, target].map(Lang::eng_name);
    (from != into && [source, target] == [into, from]).then(|| {
        format!(
            "warning: the sides of {key} look swapped: its source is {source} and its target {target}, but {train_key} is \
             from {from} into {into}. Name its two files in the other order"
        )
    })
}

/// A warning if the start model predicts the source of the training text from its target much
/// better than the target from the source.
pub(crate) fn other_direction(
    model: &Model,
    texts: &Texts,
    utf8: Utf8Policy,
    tokenizers: &Tokenizers,
    special: SpecialIds,
    device: &Device,
) -> Option<String> {
    let text = read(&texts.train, utf8);
    let model = as_saved(model);
    let device = device.clone().inner();
    let mut forward = Vec::new();
    let mut backward = Vec::new();
    for (a, b) in spread(&text, DIRECTION_PAIRS) {
        let given_ids = encoded(tokenizers, a, b);
        let swapped = encoded(tokenizers, b, a);
        if is_short(&given_ids) && is_short(&swapped) {
            forward.push(given_ids);
            backward.push(swapped);
        }
    }
    if forward.is_empty() {
        return None;
    }
    let given_nll = mean_nll(&model, &forward, special, &device);
    let other = mean_nll(&model, &backward, special, &device);
    (given_nll > MIN_DIRECTION_RATIO * other).then(|| {
        format!(
            "warning: the model that the run starts from (training.from) seems to translate in the other direction: it \
             predicts a target of data.train from its source with {given_nll:.0} nats, and a source from its target with \
             {other:.0}. Start from a model of the other direction, or name the files of each text in the other order"
        )
    })
}

/// The ids of source and target.
fn encoded(tokenizers: &Tokenizers, source: &str, target: &str) -> (Vec<u32>, Vec<u32>) {
    (
        tokenizers.source.encode(source),
        tokenizers.target.encode(target),
    )
}

fn is_short((source, target): &(Vec<u32>, Vec<u32>)) -> bool {
    source.len().max(target.len()) <= MAX_DIRECTION_TOKENS
}

/// The mean negative log-likelihood of a target, in nats.
fn mean_nll(
    model: &Model,
    rows: &[(Vec<u32>, Vec<u32>)],
    special: SpecialIds,
    device: &Device,
) -> f64 {
    let numbers = (0..rows.len() as u32).collect();
    let batch = Batch::with_special_ids(numbers, rows, 1, special);
    let sums = Recipe::default().loss(model, &batch, Mode::Inference, device);
    f64::from(sums.nll.into_scalar::<f32>()) / rows.len() as f64
}

/// About `count` elements of `all`, at equal distances.
fn spread<T>(all: &[T], count: usize) -> impl Iterator<Item = &T> {
    all.iter().step_by(all.len().div_ceil(count).max(1))
}
