//! Unknown tokens, and language tags that the tokeniser divides.

use std::collections::BTreeSet;

use burnformer_data::{DataError, TokenizedCorpus, Tokenizer, Tokenizers, Utf8Policy};

use super::pairs::{MAX_PAIRS, Pair, read};
use crate::run::Texts;

/// The smallest share of unknown tokens for a warning.
const MIN_UNKNOWN_SHARE: f64 = 0.01;
/// The share of the lines that begin with a language tag, and the most tokens that a tag may have.
const MIN_TAGGED_SHARE: f64 = 0.2;
const MAX_TAG_TOKENS: usize = 2;
/// The longest language tag, in bytes.
const MAX_TAG_BYTES: usize = 16;
/// The largest number of unknown characters in the message.
const MAX_SHOWN_CHARS: usize = 12;

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

/// A message about a language tag, such as `>>deu<<` or `<2de>`, that begins many lines and that
/// the tokeniser divides.
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

pub(super) fn divided_tag_of(name: &str, lines: &[&str], tokenizer: &Tokenizer) -> Option<String> {
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
pub(super) fn tag(line: &str) -> Option<&str> {
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
