//! Whether the sides of a text belong together: shifted lines and unlike numbers.

use burnformer_data::has_unlike_numbers;

use super::pairs::{MIN_SAMPLED_PAIRS, Pair};

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
/// The share of the pairs with numbers whose numbers may differ: translators spell numbers out, and
/// the comparison misses some.
const MAX_UNLIKE_SHARE: f64 = 0.05;

/// A warning about a training text with many pairs whose numbers differ.
pub(super) fn unlike_numbers(key: &str, train: &[Pair]) -> Option<String> {
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
    let is_enough = with_numbers.len() >= MIN_SAMPLED_PAIRS;
    (is_enough && share > MAX_UNLIKE_SHARE).then(|| {
        format!(
            "warning: {:.0} % of the pairs of {key} with numbers have other numbers in their target (such as \"{source}\" – \
             \"{target}\"): the model learns to change numbers. Leave these pairs out with data.drop_unlike_numbers = true",
            100.0 * share
        )
    })
}

/// A warning about the first block of `text` that looks shifted.
pub(super) fn misaligned(key: &str, text: &[Pair]) -> Option<String> {
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
