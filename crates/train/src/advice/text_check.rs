//! Checks of the texts before a run begins: swapped sides, lines that do not belong together,
//! validation or test text that is also training text, and unknown tokens.

use std::collections::BTreeSet;
use std::path::PathBuf;

use burn::tensor::Device;
use burnformer_core::{Mode, Model};
use burnformer_data::{
    Batch, DataError, PairSample, ParallelReader, SpecialIds, TokenizedCorpus, Tokenizer,
    Tokenizers, Utf8Policy,
};
use whatlang::{Lang, detect};

use crate::config::{MIX, corpus_paths};
use crate::run::Texts;
use crate::update::Recipe;
use crate::validation::as_saved;

/// The largest number of pairs of a text that are checked.
const MOST_PAIRS: usize = 100_000;
/// The number of lines from which the language of a side is detected.
const LANGUAGE_LINES: usize = 200;
/// The number of pairs whose alignment is judged together: a text may be shifted from some line on.
const BLOCK: usize = 500;
/// The smallest number of pairs whose alignment is judged.
const FEWEST_PAIRS: usize = 100;
/// The lines of a shifted text belong to lines at most this far away.
const FARTHEST: isize = 2;
/// The correlation above which lines belong together. (Measured per block of four texts: 0.69 to
/// 0.97.)
const TOGETHER: f64 = 0.35;
/// Lines of the same number do not belong together if their correlation is below this share of the
/// best one.
const APART: f64 = 0.5;
/// The smallest number of lines with a mark, and without, for its correlation to count.
const FEWEST_MARKS: usize = 10;
/// The number of pairs on which a model is tried in both orders.
const TRIED: usize = 64;
/// The largest number of tokens per side of such a pair.
const LONGEST_TRIED: usize = 100;
/// The factor by which the other order has to be better before the user is warned.
const BETTER: f64 = 1.2;

/// The share of a text's pairs that may also be in the training text, as short sentences often are.
const SHARED: f64 = 0.2;
/// The smallest number of pairs from which the share is estimated.
const MIN_TOLD: usize = 30;
/// From this share of unknown tokens on, the message is a warning.
const MANY_UNKNOWN: f64 = 0.01;
/// The largest number of unknown characters that are shown.
const SHOWN: usize = 12;

/// Source and target.
type Pair = (String, String);

/// Warnings about `texts`, of which `trained` are samples of the training texts. They may be wrong.
pub(crate) fn warnings(texts: &Texts, trained: &[PairSample], utf8: Utf8Policy) -> Vec<String> {
    let train = read(&texts.train, utf8);
    let languages = languages(&train);
    let others = [("data.valid", &texts.valid), ("data.test", &texts.test)];
    let mixed = texts.mix.iter().map(|paths| (MIX, paths));
    let mut found: Vec<String> = misaligned("data.train", &train).into_iter().collect();
    for (key, paths) in others.into_iter().chain(mixed) {
        let text = read(paths, utf8);
        found.extend(misaligned(key, &text));
        found.extend(swapped(key, &text, languages));
        if key != MIX {
            found.extend(learned(key, &text, trained));
        }
    }
    found
}

/// A warning about a validation or test text with many pairs that are in the training text, too.
fn learned(key: &str, text: &[Pair], trained: &[PairSample]) -> Option<String> {
    let told: Vec<&Pair> = text.iter().filter(|pair| is_told(pair, trained)).collect();
    let seen = told.iter().filter(|pair| is_in(pair, trained)).count();
    let share = seen as f64 / told.len().max(1) as f64;
    // A few pairs of a large text tell nothing about the others.
    let is_enough = told.len() == text.len() || told.len() >= MIN_TOLD;
    (is_enough && share > SHARED).then(|| {
        format!(
            "warning: {:.0} % of the pairs of {key} are in the training text, too. Its scores then tell how well the model has \
             learned them by heart, not how well it translates. Name a text that is not trained on, or take these pairs out of \
             data.train",
            100.0 * share
        )
    })
}

/// Returns whether the samples tell if training has `pair`.
fn is_told((source, target): &Pair, trained: &[PairSample]) -> bool {
    trained.iter().all(|sample| sample.covers(source, target))
}

fn is_in((source, target): &Pair, trained: &[PairSample]) -> bool {
    trained.iter().any(|sample| sample.contains(source, target))
}

/// A message with the shares of unknown tokens in the training text and some of the unknown
/// characters; `None` if all tokens are known.
///
/// # Errors
/// Returns an error if the corpus can no longer be read.
pub(crate) fn unknown(
    corpus: &TokenizedCorpus,
    Tokenizers { source, target }: &Tokenizers,
    texts: &Texts,
    utf8: Utf8Policy,
) -> Result<Option<String>, DataError> {
    let unk = [source, target].map(|side| side.special_ids().unk);
    let (mut all, mut unknown) = ([0, 0], [0, 0]);
    for i in (0..corpus.len()).step_by(corpus.len().div_ceil(MOST_PAIRS).max(1)) {
        let (source, target) = corpus.pair(i)?;
        for (side, ids) in [source, target].iter().enumerate() {
            all[side] += ids.len();
            unknown[side] += ids.iter().filter(|id| **id == unk[side]).count();
        }
    }
    if unknown == [0, 0] {
        return Ok(None);
    }
    let [of_source, of_target] = [0, 1].map(|side| unknown[side] as f64 / all[side].max(1) as f64);
    let text = read(&texts.train, utf8);
    let characters = |side: fn(&Pair) -> &str| text.iter().flat_map(move |pair| side(pair).chars());
    let characters = [characters(|pair| &pair.0), characters(|pair| &pair.1)];
    let lacks = |tokenizer: &Tokenizer, c: &char| {
        tokenizer
            .encode(&c.to_string())
            .contains(&tokenizer.special_ids().unk)
    };
    let sides = [source, target].into_iter().zip(characters);
    let shown: BTreeSet<char> = sides
        .flat_map(|(side, all)| {
            all.collect::<BTreeSet<_>>()
                .into_iter()
                .filter(|c| lacks(side, c))
        })
        .collect();
    let shown: String = shown
        .into_iter()
        .take(SHOWN)
        .flat_map(|c| [' ', c])
        .collect();
    let warning = if of_source.max(of_target) < MANY_UNKNOWN {
        ""
    } else {
        "warning: "
    };
    Ok(Some(format!(
        "{warning}{:.2} % of the source tokens and {:.2} % of the target tokens are unknown to the tokeniser (among them:{shown}): \
         the model can neither read nor write them. A tokeniser that is trained here (without tokenizer.files) knows all",
        100.0 * of_source,
        100.0 * of_target
    )))
}

/// The first pairs of a text.
fn read(paths: &[PathBuf], utf8: Utf8Policy) -> Vec<Pair> {
    pairs(paths, utf8).take(MOST_PAIRS).collect()
}

/// The pairs of a text, without invisible characters. Reading stops at an error, which preparing
/// the corpus reports.
fn pairs(paths: &[PathBuf], utf8: Utf8Policy) -> impl Iterator<Item = Pair> {
    let corpus = corpus_paths("data", paths).ok();
    let pairs = corpus.and_then(|corpus| ParallelReader::open(&corpus, utf8).ok());
    let pairs = pairs.into_iter().flatten().map_while(Result::ok);
    let visible = |text: String| burnformer_text::visible(&text).into_owned();
    pairs
        .filter(|pair| pair.valid)
        .map(move |pair| (visible(pair.source), visible(pair.target)))
}

/// About `count` elements of `all`, at equal distances.
fn spread<T>(all: &[T], count: usize) -> impl Iterator<Item = &T> {
    all.iter().step_by(all.len().div_ceil(count).max(1))
}

/// The languages of source and target; `None` where the lines leave doubt.
fn languages(text: &[Pair]) -> [Option<Lang>; 2] {
    let of = |side: fn(&Pair) -> &str| {
        let lines = spread(text, LANGUAGE_LINES)
            .map(side)
            .collect::<Vec<_>>()
            .join("\n");
        detect(&lines)
            .filter(|found| found.is_reliable())
            .map(|found| found.lang())
    };
    [of(|pair| &pair.0), of(|pair| &pair.1)]
}

fn swapped(key: &str, text: &[Pair], train: [Option<Lang>; 2]) -> Option<String> {
    let ([Some(from), Some(into)], [Some(source), Some(target)]) = (train, languages(text)) else {
        return None;
    };
    let [from, into, source, target] = [from, into, source, target].map(Lang::eng_name);
    (from != into && [source, target] == [into, from]).then(|| {
        format!(
            "warning: the sides of {key} look swapped: its source is {source} and its target {target}, but data.train is \
             from {from} into {into}. Name its two files in the other order"
        )
    })
}

/// A warning about the first block of `text` whose lines seem to be shifted.
fn misaligned(key: &str, text: &[Pair]) -> Option<String> {
    let blocks = text
        .chunks(BLOCK)
        .filter(|block| block.len() >= FEWEST_PAIRS);
    let (block_index, lag) = blocks
        .enumerate()
        .find_map(|(block_index, block)| Some((block_index, shift(block)?)))?;
    let (line, lines) = (block_index * BLOCK + 1, lag.abs());
    let way = if lag > 0 { "down" } else { "up" };
    Some(format!(
        "warning: the sides of {key} look shifted: from about line {line} on, a source line seems to belong to the target \
         line {lines} further {way}, as if one side had a line too many. Compare its two files there"
    ))
}

/// The number of lines by which targets are shifted down; `None` if they are not.
fn shift(block: &[Pair]) -> Option<isize> {
    signals(block).into_iter().find_map(|[source, target]| {
        let at = |lag| (correlation(&source, &target, lag), lag);
        let best = (-FARTHEST..=FARTHEST)
            .map(at)
            .max_by(|a, b| a.0.total_cmp(&b.0))?;
        (best.1 != 0 && best.0 > TOGETHER && at(0).0 < APART * best.0).then_some(best.1)
    })
}

/// Features that lines share with their translations, for each line of source and target: the
/// difference between its length and the length of the line before it (in a sorted text, neighbours
/// have similar lengths), whether it is a question, and whether it has a number.
fn signals(block: &[Pair]) -> Vec<[Vec<f64>; 2]> {
    let both = |signal: fn(&str) -> f64| {
        let sides: (Vec<_>, Vec<_>) = block.iter().map(|(a, b)| (signal(a), signal(b))).unzip();
        [sides.0, sides.1]
    };
    let lengths = both(|line| ((1 + line.chars().count()) as f64).ln());
    let growth = lengths.map(|side| side.windows(2).map(|pair| pair[1] - pair[0]).collect());
    let asks = both(|line| f64::from(line.trim_end().ends_with(['?', '？', '؟'])));
    let counts = both(|line| f64::from(line.contains(|c: char| c.is_ascii_digit())));
    let is_telling = |side: &Vec<f64>| {
        let marked = side.iter().filter(|&&mark| mark > 0.0).count();
        marked.min(side.len() - marked) >= FEWEST_MARKS
    };
    let marks = [asks, counts]
        .into_iter()
        .filter(|sides| sides.iter().all(is_telling));
    std::iter::once(growth).chain(marks).collect()
}

/// The correlation of each value of `source` with the value of `target` that stands `lag` further
/// on; 0 if either side does not vary.
fn correlation(source: &[f64], target: &[f64], lag: isize) -> f64 {
    let (before, after) = ((-lag).max(0) as usize, lag.max(0) as usize);
    let count = source.len() - lag.unsigned_abs();
    let (source, target) = (
        &source[before..before + count],
        &target[after..after + count],
    );
    let mean = |side: &[f64]| side.iter().sum::<f64>() / count as f64;
    let (a, b) = (mean(source), mean(target));
    let product = |x: &[f64], x_mean: f64, y: &[f64], y_mean: f64| {
        x.iter()
            .zip(y)
            .map(|(x, y)| (x - x_mean) * (y - y_mean))
            .sum::<f64>()
    };
    let variances = product(source, a, source, a) * product(target, b, target, b);
    if variances > 0.0 {
        product(source, a, target, b) / variances.sqrt()
    } else {
        0.0
    }
}

/// A warning if `model`, from which the run starts, predicts the source of the training text from
/// its target much better than the target from the source.
pub(crate) fn other_direction(
    model: &Model,
    texts: &Texts,
    utf8: Utf8Policy,
    tokenizers: &Tokenizers,
    special: SpecialIds,
    device: &Device,
) -> Option<String> {
    let text = read(&texts.train, utf8);
    let (model, device) = (as_saved(model), device.clone().inner());
    let ids = |source: &str, target: &str| {
        [
            tokenizers.source.encode(source),
            tokenizers.target.encode(target),
        ]
    };
    let is_short = |[a, b]: &[Vec<u32>; 2]| a.len().max(b.len()) <= LONGEST_TRIED;
    let both = spread(&text, TRIED).map(|(a, b)| [ids(a, b), ids(b, a)]);
    let both: Vec<_> = both.filter(|orders| orders.iter().all(is_short)).collect();
    let nats = |order: usize| {
        let rows: Vec<_> = both
            .iter()
            .map(|orders| (orders[order][0].clone(), orders[order][1].clone()))
            .collect();
        let numbers = (0..rows.len() as u32).collect();
        let batch = Batch::with_special_ids(numbers, &rows, 1, special);
        let sums = Recipe::default().loss(&model, &batch, Mode::Inference, &device);
        f64::from(sums.nll.into_scalar::<f32>()) / rows.len() as f64
    };
    if both.is_empty() {
        return None;
    }
    let [given, other] = [nats(0), nats(1)];
    (given > BETTER * other).then(|| {
        format!(
            "warning: the model that the run starts from (training.from) seems to translate in the other direction: it \
             predicts a target of data.train from its source with {given:.0} nats, and a source from its target with \
             {other:.0}. Start from a model of the other direction, or name the files of each text in the other order"
        )
    })
}

#[cfg(test)]
mod tests {
    use burnformer_data::{
        CleaningSettings, PrepareSettings, TokenizerSettings, TokenizerSource, prepare,
    };

    use super::*;

    const ENGLISH: [&str; 6] = [
        "The committee will meet again on Thursday to discuss the budget",
        "Where did you leave the keys of the house",
        "She has been working in the garden since early morning",
        "Nobody knew what had happened to the old fisherman",
        "I would like to order two cups of coffee and some cake",
        "They are going to visit their grandparents in the village",
    ];
    const GERMAN: [&str; 6] = [
        "Der Ausschuss tritt am Donnerstag wieder zusammen, um über den Haushalt zu beraten",
        "Wo hast du die Schlüssel des Hauses liegen lassen",
        "Sie arbeitet seit dem frühen Morgen im Garten",
        "Niemand wusste, was mit dem alten Fischer geschehen war",
        "Ich möchte bitte zwei Tassen Kaffee und etwas Kuchen bestellen",
        "Sie werden ihre Großeltern auf dem Land besuchen",
    ];

    /// Sentences of parts of those above, whose lengths and marks differ in no order.
    fn text(pairs: usize) -> Vec<Pair> {
        let pair = |i: usize| {
            let (a, b) = (i * i % 6, (7 * i * i + i / 3) % 6);
            let mark = if i * i % 7 == 1 { "?" } else { "." };
            let side = |lines: [&str; 6]| match (i * i * i) % 5 {
                0 | 3 => format!("{}, {}{mark}", lines[a], lines[b]),
                1 => format!("{}{mark}", lines[a]),
                _ => format!("{}: {} {}{mark}", lines[b], lines[a], lines[b]),
            };
            (side(GERMAN), side(ENGLISH))
        };
        (0..pairs).map(pair).collect()
    }

    /// `text` with the target `lag` lines further down from line `from` on.
    fn shifted(text: &[Pair], from: usize, lag: usize) -> Vec<Pair> {
        let target = |i: usize| {
            if i < from {
                i
            } else {
                (i + text.len() - lag) % text.len()
            }
        };
        (0..text.len())
            .map(|i| (text[i].0.clone(), text[target(i)].1.clone()))
            .collect()
    }

    #[test]
    fn a_text_whose_lines_belong_together_is_left_alone_sorted_or_not() {
        let mut text = text(1200);
        assert_eq!(misaligned("data.train", &text), None);
        text.sort_by_key(|pair| pair.0.len());
        assert_eq!(misaligned("data.train", &text), None);
        assert_eq!(misaligned("data.train", &[]), None);
    }

    /// A sample of the pairs that training reads from a file of `pairs`.
    fn sample(pairs: &[Pair]) -> PairSample {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("train.tsv");
        let lines: String = pairs.iter().map(|(a, b)| format!("{a}\t{b}\n")).collect();
        std::fs::write(&path, lines).unwrap();
        let settings = PrepareSettings {
            corpus: corpus_paths("data.train", &[path]).unwrap(),
            tokenizer: TokenizerSource::Train(TokenizerSettings {
                vocab_size: 300,
                allow_smaller: true,
                ..TokenizerSettings::default()
            }),
            cleaning: CleaningSettings::default(),
            cache_dir: folder.path().join("cache"),
        };
        let [first, again] = [(); 2].map(|()| prepare(&settings, &mut |_| {}).unwrap().pairs);
        assert_eq!(first, again);
        first
    }

    #[test]
    fn a_validation_text_of_which_more_than_a_fifth_is_trained_on_is_told_with_the_share() {
        let pair = |i: usize| (format!("Quelle {i}"), format!("source {i}"));
        let train: Vec<Pair> = (0..300).map(pair).collect();
        let trained = [sample(&train[..150]), sample(&train[150..])];
        for (shared, share) in [
            (100, Some("100 %")),
            (21, Some("21 %")),
            (20, None),
            (0, None),
        ] {
            let valid: Vec<Pair> = (300 - shared..400 - shared).map(pair).collect();
            let said = learned("data.valid", &valid, &trained);
            assert_eq!(said.is_some(), share.is_some(), "{shared}");
            assert!(said.is_none_or(|said| said.contains(share.unwrap())));
        }
        // A source with another translation is not a pair that was learned.
        let valid: Vec<Pair> = train
            .iter()
            .map(|(a, b)| (a.clone(), format!("{b}!")))
            .collect();
        assert_eq!(learned("data.valid", &valid, &trained), None);
    }

    #[test]
    fn a_shift_is_told_with_its_line_and_size() {
        let text = text(1700);
        for (from, lag, line) in [(0, 1, 1), (0, 2, 1), (1000, 1, 1001)] {
            let said = misaligned("data.valid", &shifted(&text, from, lag)).unwrap();
            let lines = format!(
                "from about line {line} on, a source line seems to belong to the target line {lag} further down"
            );
            assert!(
                said.contains("data.valid") && said.contains(&lines),
                "{said}"
            );
        }
        let up: Vec<Pair> = shifted(&text, 0, 1)
            .into_iter()
            .map(|(a, b)| (b, a))
            .collect();
        assert!(
            misaligned("data.train", &up)
                .unwrap()
                .contains("1 further up")
        );
    }

    #[test]
    fn sides_in_the_other_order_than_those_of_the_training_text_are_told_by_their_languages() {
        let text = text(300);
        let train = languages(&text);
        assert_eq!(train, [Some(Lang::Deu), Some(Lang::Eng)]);
        assert_eq!(swapped("data.valid", &text, train), None);
        let other: Vec<Pair> = text.into_iter().map(|(a, b)| (b, a)).collect();
        let said = swapped("data.valid", &other, train).unwrap();
        assert!(
            said.contains("its source is English and its target German"),
            "{said}"
        );
        // Numbers have no language.
        let none: Vec<Pair> = (0..300).map(|i| (format!("{i}"), format!("{i}"))).collect();
        assert_eq!(swapped("data.valid", &other, languages(&none)), None);
    }
}
