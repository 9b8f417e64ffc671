//! The languages of Moses' tokeniser, and their words whose period does not end a sentence:
//! `nonbreaking_prefix.de` and `.en`, in the edition of sacremoses (MIT).

use std::str::FromStr;

use derive_more::Display;

use crate::MetricError;

/// The role of a period after a word: it may end the sentence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Breaking {
    /// The period does not end a sentence: the word is an abbreviation.
    Never,
    /// The period ends a sentence, unless a number follows (`No. 5`).
    UnlessNumber,
    /// The period ends a sentence.
    Always,
}

/// A language with its own tokenisation rules.
#[derive(Debug, Clone, Copy, Display, PartialEq, Eq, Hash)]
#[display("{}", self.code())]
pub enum MosesLanguage {
    /// German, `de`.
    German,
    /// English, `en`.
    English,
}

impl MosesLanguage {
    /// The two-letter code.
    pub fn code(self) -> &'static str {
        match self {
            Self::German => "de",
            Self::English => "en",
        }
    }

    /// The role of a period after `word`.
    pub(super) fn breaking(self, word: &str) -> Breaking {
        let never = match self {
            Self::German => {
                is_letter(word) || is_ordinal(word) || listed(word, &[COMMON, GERMAN, GERMAN_ROMAN])
            }
            Self::English => is_initial(word) || listed(word, &[COMMON, ENGLISH]),
        };
        match self {
            _ if never => Breaking::Never,
            Self::English if listed(word, &[ENGLISH_BEFORE_NUMBERS]) => Breaking::UnlessNumber,
            _ => Breaking::Always,
        }
    }
}

impl FromStr for MosesLanguage {
    type Err = MetricError;

    fn from_str(name: &str) -> Result<Self, MetricError> {
        match name {
            "de" => Ok(Self::German),
            "en" => Ok(Self::English),
            _ => Err(MetricError::UnknownLanguage { name: name.into() }),
        }
    }
}

/// Titles and similar words that are in both lists.
const COMMON: &str = "
    Adj Adm Adv Asst Bart Bldg Brig Bros Capt Cmdr Col Comdr Con Corp Cpl DR Dr Ens Gen Gov Hon Hosp Insp Lt
    MM MR MRS MS Maj Messrs Mlle Mme Mr Mrs Ms Msgr Op Ord Pfc Ph Prof Pvt Rep Reps Res Rev Rt Sen Sens Sfc
    Sgt Sr St Supt Surg vs Nos Nr
";

// Abbreviations with a period inside (z.B., u.a.) need no entry: letters around a period are never
// split.
const GERMAN: &str = "
    Mio Mrd bzw usw etc MwSt ggf vgl sogen ff Buchst sog Std evtl Zt Chr Ltd spp sen SA jun dgl dergl Co zzt
    usf Dkr bzgl BSE No Art pp ca Ca
";

const GERMAN_ROMAN: &str = "
    i ii iii iv v vi vii viii ix x xi xii xiii xiv xv xvi xvii xviii xix xx
    I II III IV V VI VII VIII IX X XI XII XIII XIV XV XVI XVII XVIII XIX XX
";

const ENGLISH: &str = "Drs Hr v rev Rs Jan Feb Mar Apr Jun Jul Aug Sep Oct Nov Dec";

const ENGLISH_BEFORE_NUMBERS: &str = "No Art pp";

fn listed(word: &str, lists: &[&str]) -> bool {
    lists.iter().any(|list| list.split_ascii_whitespace().any(|entry| entry == word))
}

fn is_initial(word: &str) -> bool {
    matches!(word.as_bytes(), [b'A'..=b'Z'])
}

fn is_letter(word: &str) -> bool {
    matches!(word.as_bytes(), [b'A'..=b'Z' | b'a'..=b'z'])
}

/// Returns whether the word is a number from 1 to 99: German writes ordinals with a period.
fn is_ordinal(word: &str) -> bool {
    matches!(word.as_bytes(), [b'1'..=b'9'] | [b'1'..=b'9', b'0'..=b'9'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn abbreviations_depend_on_the_language() {
        let (de, en) = (MosesLanguage::German, MosesLanguage::English);
        assert_eq!(de.breaking("Dr"), Breaking::Never);
        assert_eq!(en.breaking("bzw"), Breaking::Always);
        assert_eq!(de.breaking("XIV"), Breaking::Never);
        assert_eq!(de.breaking("31"), Breaking::Never);
        assert_eq!(de.breaking("100"), Breaking::Always);
        assert_eq!(en.breaking("No"), Breaking::UnlessNumber);
        assert_eq!(de.breaking("No"), Breaking::Never);
        assert_eq!(en.breaking("q"), Breaking::Always);
    }

    #[test]
    fn a_language_without_rules_is_an_error() {
        assert_eq!(
            "fr".parse::<MosesLanguage>(),
            Err(MetricError::UnknownLanguage { name: "fr".into() })
        );
        assert_eq!("de".parse(), Ok(MosesLanguage::German));
    }
}
