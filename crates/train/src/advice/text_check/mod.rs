//! Checks of the texts before a run: swapped sides, shifted lines, unlike numbers, validation or
//! test text that is also training text, unknown tokens, and language tags in pieces.

mod alignment;
mod languages;
mod leak;
mod pairs;
mod tokens;

use std::path::PathBuf;

use burnformer_data::{PairSample, Utf8Policy};

use self::alignment::{misaligned, unlike_numbers};
pub(crate) use self::languages::other_direction;
use self::languages::{languages, swapped};
use self::leak::leaked;
use self::pairs::read;
pub(crate) use self::tokens::{divided_tag, unknown};
use crate::config::MIX;
use crate::run::Texts;

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
    let named_texts = [
        ("data.valid".to_owned(), valid),
        ("data.test".to_owned(), test),
    ];
    let others: Vec<Named> = named_texts.into_iter().chain(mixed).collect();
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
    let mut warnings: Vec<String> = misaligned(&train_key, &train).into_iter().collect();
    if warnings.is_empty() {
        warnings.extend(unlike_numbers(&train_key, &train));
    }
    for (key, paths) in others {
        let text = read(paths, utf8);
        warnings.extend(misaligned(key, &text));
        warnings.extend(swapped(key, &text, languages, &train_key));
        if key != MIX {
            warnings.extend(leaked(key, &text, trained));
        }
    }
    warnings
}

#[cfg(test)]
mod tests;
