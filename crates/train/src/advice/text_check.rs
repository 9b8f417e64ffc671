//! Checks of the texts before a run: swapped sides, shifted lines, unlike numbers, validation or
//! test text that is also training text, unknown tokens, and language tags in pieces.

use std::collections::BTreeSet;
use std::path::PathBuf;

use burn::tensor::Device;
use burnformer_core::{Mode, Model};
use burnformer_data::corpus::LinePair;
use burnformer_data::{
    Batch, CorpusPaths, DataError, PairSample, ParallelReader, SpecialIds, TokenizedCorpus,
    Tokenizer, Tokenizers, Utf8Policy, has_unlike_numbers,
};
use whatlang::{Lang, detect};

use crate::config::{MIX, corpus_paths};
use crate::run::Texts;
use crate::update::Recipe;
use crate::validation::as_saved;

/// The largest number of checked pairs of a text.
const MAX_PAIRS: usize = 100_000;
/// The number of lines for language detection.
const LANGUAGE_LINES: usize = 200;
/// The number of pairs in a block. Alignment is tested per block, as a shift may begin at any line.
const BLOCK_PAIRS: usize = 500;
/// The smallest block.
const MIN_BLOCK_PAIRS: usize = 100;
/// The largest shift that is tested, in lines.
const MAX_SHIFT: isize = 2;
/// The correlation above which lines belong together. (Measured per block of four texts: 0.69 to
/// 0.97.)
const MIN_ALIGNED_CORRELATION: f64 = 0.35;
/// Lines are shifted if their correlation is below this share of the best one.
const MAX_SHIFTED_SHARE: f64 = 0.5;
/// The smallest number of lines with a mark, and without it, for a valid correlation.
const MIN_MARKS: usize = 10;
/// The number of pairs that test the direction of a model.
const DIRECTION_PAIRS: usize = 64;
/// The largest number of tokens per side of such a pair.
const MAX_DIRECTION_TOKENS: usize = 100;
/// The other direction must be better by this factor for a warning.
const MIN_DIRECTION_RATIO: f64 = 1.2;

/// The share of a text's pairs that may also be in the training text, as short sentences often are.
const MAX_SHARED_PAIRS: f64 = 0.2;
/// The share of the pairs with numbers whose numbers may differ: translators spell numbers out, and
/// the comparison misses some.
const MAX_UNLIKE_SHARE: f64 = 0.05;
/// The smallest number of pairs from which the share is estimated.
const MIN_NUMBERED_PAIRS: usize = 30;
/// The smallest share of unknown tokens for a warning.
const MIN_UNKNOWN_SHARE: f64 = 0.01;
/// The share of the lines that begin with a language tag, and the most tokens that a tag may have.
const MIN_TAGGED_SHARE: f64 = 0.2;
const MAX_TAG_TOKENS: usize = 2;
/// The longest language tag, in bytes.
const MAX_TAG_BYTES: usize = 16;
/// The largest number of unknown characters in the message.
const MAX_SHOWN_CHARS: usize = 12;

/// Source and target.
type Pair = (String, String);

/// Warnings about `texts`, of which `trained` are samples of the training texts. They may be wrong.
pub(crate) fn warnings(texts: &Texts, trained: &[PairSample], utf8: Utf8Policy) -> Vec<String> {
    let Texts {
        train,
        valid,
        test,
        mix,
        pairs,
        ..
    } = texts;
    let pair_warnings = (1..).zip(pairs).flat_map(|(number, pair)| {
        let key = |part: &str| format!("data.pairs ({part} of the pair number {number})");
        let others = vec![(key("valid"), &pair.valid), (key("test"), &pair.test)];
        warnings_of((key("train"), &pair.train), &others, trained, utf8)
    });
    if !pairs.is_empty() {
        return pair_warnings.collect();
    }
    let mixed = mix.iter().map(|paths| (MIX.to_owned(), paths));
    let named = [
        ("data.valid".to_owned(), valid),
        ("data.test".to_owned(), test),
    ];
    let others: Vec<Named> = named.into_iter().chain(mixed).collect();
    warnings_of(("data.train".to_owned(), train), &others, trained, utf8)
}

/// The name of a text, and its files.
type Named<'a> = (String, &'a Vec<PathBuf>);

/// Warnings about the training text `train`, and about `others` that belong to it.
fn warnings_of(
    (train_key, train): Named,
    others: &[Named],
    trained: &[PairSample],
    utf8: Utf8Policy,
) -> Vec<String> {
    let train = read(train, utf8);
    let languages = languages(&train);
    let mut found: Vec<String> = misaligned(&train_key, &train).into_iter().collect();
    if found.is_empty() {
        found.extend(unlike_numbers(&train_key, &train));
    }
    for (key, paths) in others {
        let text = read(paths, utf8);
        found.extend(misaligned(key, &text));
        found.extend(swapped(key, &text, languages, &train_key));
        if key != MIX {
            found.extend(learned(key, &text, trained));
        }
    }
    found
}

/// A warning about a training text with many pairs whose numbers differ.
fn unlike_numbers(key: &str, train: &[Pair]) -> Option<String> {
    let with_numbers: Vec<&Pair> = train
        .iter()
        .filter(|(source, _)| source.contains(char::is_numeric))
        .collect();
    let unlike: Vec<&&Pair> = with_numbers
        .iter()
        .filter(|(source, target)| has_unlike_numbers(source, target))
        .collect();
    let share = unlike.len() as f64 / with_numbers.len().max(1) as f64;
    let (source, target) = unlike.first()?;
    let is_enough = with_numbers.len() >= MIN_NUMBERED_PAIRS;
    (is_enough && share > MAX_UNLIKE_SHARE).then(|| {
        format!(
            "warning: {:.0} % of the pairs of {key} with numbers have other numbers in their target (such as \"{source}\" – \
             \"{target}\"): the model learns to change numbers. Leave these pairs out with data.drop_unlike_numbers = true",
            100.0 * share
        )
    })
}

/// A warning about a validation or test text with many pairs that are in the training text, too.
fn learned(key: &str, text: &[Pair], trained: &[PairSample]) -> Option<String> {
    let told: Vec<&Pair> = text.iter().filter(|pair| is_told(pair, trained)).collect();
    let seen = told.iter().filter(|pair| is_in(pair, trained)).count();
    let share = seen as f64 / told.len().max(1) as f64;
    // A few pairs of a large text tell nothing about the others.
    let is_enough = told.len() == text.len() || told.len() >= MIN_NUMBERED_PAIRS;
    (is_enough && share > MAX_SHARED_PAIRS).then(|| {
        format!(
            "warning: {:.0} % of the pairs of {key} are in the training text, too. Its scores then tell how well the model has \
             memorised them, not how well it translates. Name a text that is not trained on, or take these pairs out of \
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
    let mut all = [0, 0];
    let mut unknown = [0, 0];
    for i in (0..corpus.len()).step_by(corpus.len().div_ceil(MAX_PAIRS).max(1)) {
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
    let text: Vec<Pair> = texts
        .training()
        .flat_map(|paths| read(paths, utf8))
        .collect();
    let mut shown = unknown_characters(source, text.iter().map(|pair| pair.0.as_str()));
    shown.extend(unknown_characters(
        target,
        text.iter().map(|pair| pair.1.as_str()),
    ));
    let shown: String = shown
        .into_iter()
        .take(MAX_SHOWN_CHARS)
        .flat_map(|c| [' ', c])
        .collect();
    let warning = if of_source.max(of_target) < MIN_UNKNOWN_SHARE {
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

/// A message about a language tag, such as `>>deu<<` or `<2de>`, that begins many lines and that the
/// tokeniser divides.
pub(crate) fn divided_tag(
    tokenizers: &Tokenizers,
    texts: &Texts,
    utf8: Utf8Policy,
) -> Option<String> {
    let text = read(&texts.train, utf8);
    let sources = text.iter().map(|pair| &*pair.0).collect();
    let targets = text.iter().map(|pair| &*pair.1).collect();
    let sides: [(_, Vec<&str>, _); 2] = [
        ("sources", sources, &tokenizers.source),
        ("targets", targets, &tokenizers.target),
    ];
    sides
        .into_iter()
        .find_map(|(name, lines, tokenizer)| divided_tag_of(name, &lines, tokenizer))
}

fn divided_tag_of(name: &str, lines: &[&str], tokenizer: &Tokenizer) -> Option<String> {
    let tagged: Vec<&str> = lines.iter().filter_map(|line| tag(line)).collect();
    let share = tagged.len() as f64 / lines.len().max(1) as f64;
    let tag = tagged.first().filter(|_| share > MIN_TAGGED_SHARE)?;
    let tokens = tokenizer.encode(tag).len();
    (tokens > MAX_TAG_TOKENS).then(|| {
        format!(
            "warning: {:.0} % of the {name} of data.train begin with a language tag such as {tag}, which the tokeniser divides into \
             {tokens} tokens. Training takes longer than needed. Add the tags to its tokenizer.json as tokens of their own \
             (`add_tokens` of Python's `tokenizers`), and name that file in tokenizer.files",
            100.0 * share
        )
    })
}

/// The language tag at the beginning of `line`: a word of letters and digits between signs.
fn tag(line: &str) -> Option<&str> {
    let (word, _) = line.split_once(' ')?;
    let inner = word.trim_matches(|c: char| c.is_ascii_punctuation());
    let is_name = inner
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || "_-".contains(c));
    let is_tag = word.len() <= MAX_TAG_BYTES
        && inner.len() >= 2
        && is_name
        && inner.contains(|c: char| c.is_ascii_lowercase())
        && [">>", "<", "__", "[", "{", "@"]
            .iter()
            .any(|open| word.starts_with(open))
        && word.ends_with(|c: char| c.is_ascii_punctuation());
    is_tag.then_some(word)
}

/// The characters of `lines` that `tokenizer` encodes as unknown.
fn unknown_characters<'a>(
    tokenizer: &Tokenizer,
    lines: impl Iterator<Item = &'a str>,
) -> BTreeSet<char> {
    let unk = tokenizer.special_ids().unk;
    let mut characters: BTreeSet<char> = lines.flat_map(str::chars).collect();
    characters.retain(|c| tokenizer.encode(&c.to_string()).contains(&unk));
    characters
}

/// The first pairs of a text.
fn read(paths: &[PathBuf], utf8: Utf8Policy) -> Vec<Pair> {
    pairs(paths, utf8).take(MAX_PAIRS).collect()
}

/// The pairs of a text, without invisible characters. Reading stops at an error; preparing the
/// corpus reports it.
fn pairs(paths: &[PathBuf], utf8: Utf8Policy) -> impl Iterator<Item = Pair> {
    let corpus = corpus_paths("data", paths).ok();
    let pairs = corpus.and_then(|corpus| opened(corpus, utf8));
    let pairs = pairs.into_iter().flatten().map_while(Result::ok);
    // Empty pairs may divide documents.
    let is_blank = |text: &str| text.trim().is_empty();
    let is_text =
        move |pair: &LinePair| pair.valid && !(is_blank(&pair.source) && is_blank(&pair.target));
    pairs.filter(is_text).map(|pair| {
        let source = burnformer_text::visible(&pair.source).into_owned();
        let target = burnformer_text::visible(&pair.target).into_owned();
        (source, target)
    })
}

/// A reader of `corpus`, whose lines may name their documents in a third column.
fn opened(corpus: CorpusPaths, utf8: Utf8Policy) -> Option<ParallelReader> {
    let is_plain = ParallelReader::open(&corpus, utf8)
        .ok()?
        .next_pair()
        .is_ok();
    let corpus = if is_plain {
        corpus
    } else {
        corpus.in_documents()
    };
    ParallelReader::open(&corpus, utf8).ok()
}

/// About `count` elements of `all`, at equal distances.
fn spread<T>(all: &[T], count: usize) -> impl Iterator<Item = &T> {
    all.iter().step_by(all.len().div_ceil(count).max(1))
}

/// The languages of source and target; `None` if detection is not reliable.
fn languages(text: &[Pair]) -> [Option<Lang>; 2] {
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
fn swapped(key: &str, text: &[Pair], train: [Option<Lang>; 2], train_key: &str) -> Option<String> {
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

/// A warning about the first block of `text` that looks shifted.
fn misaligned(key: &str, text: &[Pair]) -> Option<String> {
    let blocks = text
        .chunks(BLOCK_PAIRS)
        .filter(|block| block.len() >= MIN_BLOCK_PAIRS);
    let (block_index, lag) = blocks
        .enumerate()
        .find_map(|(block_index, block)| Some((block_index, shift(block)?)))?;
    let line = block_index * BLOCK_PAIRS + 1;
    let lines = lag.abs();
    let way = if lag > 0 { "down" } else { "up" };
    Some(format!(
        "warning: the sides of {key} look shifted: from about line {line} on, a source line seems to belong to the target \
         line {lines} further {way}, as if one side had a line too many. Compare its two files there"
    ))
}

/// The number of lines by which targets are shifted down; `None` if they are not.
fn shift(block: &[Pair]) -> Option<isize> {
    signals(block).into_iter().find_map(|[source, target]| {
        let (best, lag) = (-MAX_SHIFT..=MAX_SHIFT)
            .map(|lag| (correlation(&source, &target, lag), lag))
            .max_by(|a, b| a.0.total_cmp(&b.0))?;
        let unshifted = correlation(&source, &target, 0);
        (lag != 0 && best > MIN_ALIGNED_CORRELATION && unshifted < MAX_SHIFTED_SHARE * best)
            .then_some(lag)
    })
}

/// Features that lines share with their translations, for each line of source and target: the
/// difference in length to the line before (in a sorted text, neighbours have similar lengths),
/// whether it is a question, and whether it has a number.
fn signals(block: &[Pair]) -> Vec<[Vec<f64>; 2]> {
    let lengths = on_both_sides(block, |line| ((1 + line.chars().count()) as f64).ln());
    let growth = lengths.map(|side| side.windows(2).map(|pair| pair[1] - pair[0]).collect());
    let asks = on_both_sides(block, |line| {
        f64::from(line.trim_end().ends_with(['?', '？', '؟']))
    });
    let counts = on_both_sides(block, |line| {
        f64::from(line.contains(|c: char| c.is_ascii_digit()))
    });
    let marks = [asks, counts]
        .into_iter()
        .filter(|sides| sides.iter().all(|side| has_enough_marks(side)));
    std::iter::once(growth).chain(marks).collect()
}

/// The `signal` of each line, for source and target.
fn on_both_sides(block: &[Pair], signal: fn(&str) -> f64) -> [Vec<f64>; 2] {
    let source = block.iter().map(|pair| signal(&pair.0)).collect();
    let target = block.iter().map(|pair| signal(&pair.1)).collect();
    [source, target]
}

/// Returns whether enough lines have the mark, and enough have not.
fn has_enough_marks(side: &[f64]) -> bool {
    let marked = side.iter().filter(|&&mark| mark > 0.0).count();
    marked.min(side.len() - marked) >= MIN_MARKS
}

/// The correlation of each value of `source` with the value of `target` at the distance `lag`; 0 if
/// either side does not vary.
fn correlation(source: &[f64], target: &[f64], lag: isize) -> f64 {
    let before = (-lag).max(0) as usize;
    let after = lag.max(0) as usize;
    let count = source.len() - lag.unsigned_abs();
    let source = &source[before..before + count];
    let target = &target[after..after + count];
    let variances = covariance(source, source) * covariance(target, target);
    if variances > 0.0 {
        covariance(source, target) / variances.sqrt()
    } else {
        0.0
    }
}

/// The sum of the products of the deviations from both means.
fn covariance(x: &[f64], y: &[f64]) -> f64 {
    let x_mean = mean(x);
    let y_mean = mean(y);
    x.iter()
        .zip(y)
        .map(|(x, y)| (x - x_mean) * (y - y_mean))
        .sum()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
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
        let given = encoded(tokenizers, a, b);
        let swapped = encoded(tokenizers, b, a);
        if is_short(&given) && is_short(&swapped) {
            forward.push(given);
            backward.push(swapped);
        }
    }
    if forward.is_empty() {
        return None;
    }
    let given = mean_nll(&model, &forward, special, &device);
    let other = mean_nll(&model, &backward, special, &device);
    (given > MIN_DIRECTION_RATIO * other).then(|| {
        format!(
            "warning: the model that the run starts from (training.from) seems to translate in the other direction: it \
             predicts a target of data.train from its source with {given:.0} nats, and a source from its target with \
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

    /// Pairs made of the sentences above, with lengths and marks in no order.
    fn text(pairs: usize) -> Vec<Pair> {
        (0..pairs)
            .map(|i| (side(GERMAN, i), side(ENGLISH, i)))
            .collect()
    }

    /// Side `i` of the text, made of `lines`.
    fn side(lines: [&str; 6], i: usize) -> String {
        let a = lines[i * i % 6];
        let b = lines[(7 * i * i + i / 3) % 6];
        let mark = if i * i % 7 == 1 { "?" } else { "." };
        match (i * i * i) % 5 {
            0 | 3 => format!("{a}, {b}{mark}"),
            1 => format!("{a}{mark}"),
            _ => format!("{b}: {a} {b}{mark}"),
        }
    }

    /// A hundred pairs. The first `unlike` have other numbers in their targets.
    fn with_unlike(unlike: usize) -> Vec<Pair> {
        let pairs = (20..120).map(|number| {
            let other = if number < 20 + unlike {
                number + 1
            } else {
                number
            };
            (format!("Haus {number}"), format!("house {other}"))
        });
        pairs.collect()
    }

    #[test]
    fn unlike_numbers_are_reported_with_their_share_and_an_example() {
        assert_eq!(unlike_numbers("data.train", &with_unlike(0)), None);
        assert_eq!(unlike_numbers("data.train", &with_unlike(5)), None);
        assert_eq!(unlike_numbers("data.train", &with_unlike(100)[..20]), None);
        let said = unlike_numbers("data.train", &with_unlike(10)).unwrap();
        assert!(
            said.contains("10 % of the pairs") && said.contains("\"Haus 20\" – \"house 21\""),
            "{said}"
        );
    }

    #[test]
    fn a_language_tag_in_pieces_is_reported_with_its_side() {
        for word in [">>deu<<", "<2de>", "__de__", "[de]", "<de_DE>"] {
            assert_eq!(tag(&format!("{word} The house")), Some(word));
        }
        for word in ["\"Yes\"", "(so)", "The", "<", "[12]", "don't", "-"] {
            assert_eq!(tag(&format!("{word} The house")), None, "{word}");
        }
        let settings = TokenizerSettings {
            vocab_size: 300,
            allow_smaller: true,
            ..TokenizerSettings::default()
        };
        let tokenizer = Tokenizer::train(ENGLISH, &settings).unwrap();
        assert_eq!(divided_tag(20, &tokenizer), None);
        let message = divided_tag(50, &tokenizer).unwrap();
        assert!(
            message.contains("50 % of the sources") && message.contains(">>deu<<"),
            "{message}"
        );
        // As a token of its own it is one.
        let mut json: serde_json::Value = serde_json::from_slice(&tokenizer.to_bytes()).unwrap();
        let added = serde_json::json!({"id": tokenizer.vocab_size(), "content": ">>deu<<", "single_word": false,
            "lstrip": false, "rstrip": false, "normalized": false, "special": false});
        json["added_tokens"].as_array_mut().unwrap().push(added);
        let bytes = serde_json::to_vec(&json).unwrap();
        let whole = Tokenizer::from_bytes("tagged.json".as_ref(), &bytes).unwrap();
        assert_eq!(divided_tag(100, &whole), None);
    }

    /// The warning about a hundred sources. The first `tagged` have a tag.
    fn divided_tag(tagged: usize, tokenizer: &Tokenizer) -> Option<String> {
        let lines: Vec<String> = (0..100)
            .map(|i| {
                let tag = if i < tagged { ">>deu<< " } else { "" };
                format!("{tag}{}", ENGLISH[i % 6])
            })
            .collect();
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        divided_tag_of("sources", &lines, tokenizer)
    }

    /// `text` with targets moved down by `lag` lines from line `from` on.
    fn shifted(text: &[Pair], from: usize, lag: usize) -> Vec<Pair> {
        (0..text.len())
            .map(|i| {
                let target = if i < from {
                    i
                } else {
                    (i + text.len() - lag) % text.len()
                };
                (text[i].0.clone(), text[target].1.clone())
            })
            .collect()
    }

    #[test]
    fn an_aligned_text_has_no_warning_sorted_or_not() {
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

    fn numbered(i: usize) -> Pair {
        (format!("Quelle {i}"), format!("source {i}"))
    }

    #[test]
    fn a_validation_text_of_which_more_than_a_fifth_is_trained_on_is_told_with_the_share() {
        let train: Vec<Pair> = (0..300).map(numbered).collect();
        let trained = [sample(&train[..150]), sample(&train[150..])];
        for (shared, share) in [
            (100, Some("100 %")),
            (21, Some("21 %")),
            (20, None),
            (0, None),
        ] {
            let valid: Vec<Pair> = (300 - shared..400 - shared).map(numbered).collect();
            let said = learned("data.valid", &valid, &trained);
            assert_eq!(said.is_some(), share.is_some(), "{shared}");
            assert!(said.is_none_or(|said| said.contains(share.unwrap())));
        }
        // The same source with another translation is another pair.
        let valid: Vec<Pair> = train
            .iter()
            .map(|(a, b)| (a.clone(), format!("{b}!")))
            .collect();
        assert_eq!(learned("data.valid", &valid, &trained), None);
    }

    #[test]
    fn a_shift_is_reported_with_its_line_and_size() {
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
    fn swapped_sides_are_detected_by_language() {
        let text = text(300);
        let train = languages(&text);
        assert_eq!(train, [Some(Lang::Deu), Some(Lang::Eng)]);
        assert_eq!(swapped("data.valid", &text, train, "data.train"), None);
        let other: Vec<Pair> = text.into_iter().map(|(a, b)| (b, a)).collect();
        let said = swapped("data.valid", &other, train, "data.train").unwrap();
        assert!(
            said.contains("its source is English and its target German"),
            "{said}"
        );
        // Numbers have no language.
        let none: Vec<Pair> = (0..300).map(|i| (format!("{i}"), format!("{i}"))).collect();
        assert_eq!(
            swapped("data.valid", &other, languages(&none), "data.train"),
            None
        );
    }
}
