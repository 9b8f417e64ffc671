use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::Result;
use burnformer::output;
use burnformer::values::model;
use burnformer_infer::Translator;
use serde_json::json;

use crate::options::Common;
use crate::record;

/// The list: a line per input with its category, the input in German and in English, and the
/// accepted translations into German and into English, separated by `|`; where a line has none, the
/// input in that language is the one accepted.
const LIST: &str = include_str!("../../../assets/models/challenge.tsv");

/// Arguments of the benchmark `challenge`.
#[derive(clap::Args)]
pub struct Args {
    /// The model directory
    #[arg(long, short, value_parser = model(), default_value = "embedded:de-en", value_name = "DIR")]
    model: PathBuf,
    /// Translate the list from English into German
    #[arg(long)]
    from_english: bool,
    /// Print each translation that is not accepted, too
    #[arg(long)]
    misses: bool,
    #[command(flatten)]
    common: Common,
}

/// An input and its accepted translations.
struct Case {
    category: &'static str,
    source: &'static str,
    accepted: Vec<&'static str>,
}

/// Translates the list by one model, and counts the accepted translations.
pub fn run(args: Args) -> Result<()> {
    let translator = Translator::load(&args.model, &args.common.open()?)?;
    let cases = cases(args.from_english);
    let sources: Vec<&str> = cases.iter().map(|case| case.source).collect();
    let translations = translator.translate(&sources, &translator.options())?;
    let (mut accepted, mut stops) = (BTreeMap::<&str, [usize; 2]>::new(), 0);
    for (case, translation) in cases.iter().zip(&translations) {
        let text = plain(&translation.text);
        let right = case.accepted.iter().any(|answer| plain(answer) == text);
        for category in [case.category, "all"] {
            let [of, all] = accepted.entry(category).or_default();
            (*of, *all) = (*of + usize::from(right), *all + 1);
        }
        stops += usize::from(adds_a_stop(case.source, &text));
        if args.misses && !right {
            let (source, text) = (case.source, &translation.text);
            output::print(format_args!("{}: {source} → {text}", case.category))?;
        }
    }
    let shown = |(name, [of, all]): (_, [usize; 2])| (name, json!(format!("{of} of {all}")));
    let mut record: BTreeMap<&str, _> = accepted.into_iter().map(shown).collect();
    record.insert("full stops added", json!(stops));
    record::print(&json!(record), args.common.json)
}

/// The list with inputs in one language, and answers in the other.
fn cases(from_english: bool) -> Vec<Case> {
    let case = |line: &'static str| {
        let [category, german, english, into_german, into_english] =
            line.split('\t').collect::<Vec<_>>().try_into().ok()?;
        let (source, answer, accepted) = match from_english {
            true => (english, german, into_german),
            false => (german, english, into_english),
        };
        let accepted = if accepted.is_empty() { answer } else { accepted };
        Some(Case { category, source, accepted: accepted.split('|').collect() })
    };
    LIST.lines().filter(|line| !line.starts_with('#')).filter_map(case).collect()
}

/// `text` in small letters, with single spaces, straight apostrophes and short forms written out.
fn plain(text: &str) -> String {
    let text = text.to_lowercase().replace('’', "'");
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let short = "can't=cannot,won't=will not,n't= not,'m= am,'re= are,'ll= will,'ve= have,\
                 'd like= would like,what's=what is";
    let pairs = short.split(',').filter_map(|pair| pair.split_once('='));
    pairs.fold(text, |text, (short, long)| text.replace(short, long))
}

/// Returns whether `translation` ends with a full stop, and `source` ends with a letter or a digit.
fn adds_a_stop(source: &str, translation: &str) -> bool {
    source.ends_with(char::is_alphanumeric) && translation.ends_with('.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_list_is_a_case_in_both_directions() {
        for from_english in [false, true] {
            let cases = cases(from_english);
            assert_eq!(cases.len(), 200);
            assert!(cases.iter().all(|case| case.accepted.iter().all(|answer| !answer.is_empty())));
        }
    }

    #[test]
    fn short_forms_and_capitals_are_other_ways_to_write_a_translation() {
        assert_eq!(plain("I’m  sorry, I DON'T know."), plain("I am sorry, I do not know."));
        assert_ne!(plain("hospital."), plain("hospital"));
        assert!(adds_a_stop("Krankenhaus", "hospital.") && !adds_a_stop("Ja.", "Yes."));
    }
}
