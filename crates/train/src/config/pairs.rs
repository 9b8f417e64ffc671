//! The directions of a run with several pairs of languages, and the checks of its texts.

use burnformer_text::{find_language, language};

use super::data::{DataSettings, corpus_paths};
use super::error::{ConfigFileError, Result};
use super::language_pair::{Direction, LanguagePair, TEST, TRAIN, VALID};

impl DataSettings {
    /// The directions of all pairs: each pair, and the other way if it is used both ways.
    pub fn directions(&self) -> Vec<Direction> {
        let mut directions = Vec::new();
        for (pair, settings) in self.pairs.iter().enumerate() {
            let LanguagePair {
                source,
                target,
                both_ways,
                ..
            } = settings.clone();
            directions.push(Direction {
                languages: [source.clone(), target.clone()],
                pair,
                is_reversed: false,
            });
            if both_ways {
                directions.push(Direction {
                    languages: [target, source],
                    pair,
                    is_reversed: true,
                });
            }
        }
        directions
    }

    /// The codes of the languages of `data.train` and the texts that belong to it, if they are named.
    pub fn named_languages(&self) -> Option<[String; 2]> {
        self.languages.clone().try_into().ok()
    }

    /// The source and target languages of all training texts, as far as they are named.
    pub fn trained_directions(&self) -> Vec<[String; 2]> {
        let pair_languages = self.directions().into_iter();
        let pair_languages = pair_languages.map(|direction| direction.languages);
        pair_languages.chain(self.named_languages()).collect()
    }

    /// Checks the languages of the texts.
    ///
    /// # Errors
    /// Returns a [`ConfigFileError`] if there are other texts besides texts of pairs, a code names no
    /// language, a language has two codes, or a direction is given twice.
    pub fn check_languages(&self) -> Result<()> {
        match &self.languages[..] {
            [] => {}
            [source, target] => check_codes("data.languages", [source, target])?,
            _ => {
                return Err(ConfigFileError::Pairs(
                    "data.languages has not two entries; name the source and the target language"
                        .into(),
                ));
            }
        }
        if self.pairs.is_empty() {
            return Ok(());
        }
        self.check_other_texts()?;
        for pair in &self.pairs {
            corpus_paths(TRAIN, &pair.train)?;
            for (key, paths) in [(VALID, &pair.valid), (TEST, &pair.test)] {
                if !paths.is_empty() {
                    corpus_paths(key, paths)?;
                }
            }
            check_codes("data.pairs", [&pair.source, &pair.target])?;
        }
        self.check_spellings()?;
        self.check_twice()
    }

    fn check_other_texts(&self) -> Result<()> {
        let named = [
            ("data.train (--train)", !self.train.is_empty()),
            ("data.valid (--valid)", !self.valid.is_empty()),
            ("data.test (--test)", !self.test.is_empty()),
            ("data.mix (--mix)", !self.mix.is_empty()),
            ("data.languages (--languages)", !self.languages.is_empty()),
        ];
        match named.into_iter().find(|(_, is_given)| *is_given) {
            Some((key, _)) => Err(ConfigFileError::Pairs(format!(
                "data.pairs names the texts, and {key} others; put all texts and their languages into data.pairs, or leave it out"
            ))),
            None => Ok(()),
        }
    }

    /// Refuses two codes for one language, which would be two languages to the model.
    fn check_spellings(&self) -> Result<()> {
        let mut known: Vec<&str> = Vec::new();
        for code in self
            .pairs
            .iter()
            .flat_map(|pair| [&pair.source, &pair.target])
        {
            match find_language(code, known.iter().copied()) {
                Ok(found) if found == code => {}
                Ok(found) if is_variant(code) == is_variant(found) => {
                    return Err(ConfigFileError::Pairs(format!(
                        "data.pairs has the codes {found:?} and {code:?}, which are one language; write it in one way"
                    )));
                }
                _ => known.push(code),
            }
        }
        Ok(())
    }

    fn check_twice(&self) -> Result<()> {
        let directions = self.directions();
        for (index, direction) in directions.iter().enumerate() {
            let is_same = |other: &&Direction| other.languages == direction.languages;
            if directions[..index].iter().any(|other| is_same(&other)) {
                let [source, target] = &direction.languages;
                return Err(ConfigFileError::Pairs(format!(
                    "data.pairs has {source} → {target} twice; join the texts of both, or leave one out (both_ways = true \
                     adds the other direction of a pair)"
                )));
            }
        }
        Ok(())
    }
}

/// Returns whether the code names a script or a region.
fn is_variant(code: &str) -> bool {
    code.contains(['-', '_'])
}

/// Refuses codes that name no language, and a pair of one language.
fn check_codes(key: &str, [source, target]: [&String; 2]) -> Result<()> {
    for code in [source, target] {
        if !is_code(code) {
            return Err(ConfigFileError::Pairs(format!(
                "{key} has the language {code:?}, which is no code of ISO 639; write one such as de, pt-BR or \
                 zh-Hant, or one from qaa to qtz for a language of your own"
            )));
        }
    }
    if source == target {
        return Err(ConfigFileError::Pairs(format!(
            "{key} translates {source:?} into itself; name two languages"
        )));
    }
    Ok(())
}

/// Returns whether `code` begins with a language of ISO 639 and has letters and digits only.
fn is_code(code: &str) -> bool {
    let mut parts = code.split(['-', '_']);
    let name = parts.next().unwrap_or_default();
    let is_private = name.len() == 3 && ("qaa"..="qtz").contains(&name);
    let is_plain = |part: &str| !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric());
    is_plain(name) && parts.all(is_plain) && (is_private || language(name).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::LanguageTokens;

    fn pair(source: &str, target: &str, both_ways: bool) -> LanguagePair {
        LanguagePair {
            source: source.into(),
            target: target.into(),
            train: vec!["a.tsv".into()],
            valid: vec![],
            test: vec![],
            weight: 1.0,
            both_ways,
        }
    }

    fn checked(pairs: Vec<LanguagePair>) -> Result<()> {
        let data = DataSettings {
            pairs,
            ..DataSettings::default()
        };
        data.check_languages()
    }

    #[test]
    fn a_pair_used_both_ways_has_two_directions() {
        let data = DataSettings {
            pairs: vec![pair("de", "en", true), pair("pt-BR", "en", false)],
            ..DataSettings::default()
        };
        let names: Vec<String> = data.directions().iter().map(Direction::name).collect();
        assert_eq!(names, ["de-en", "en-de", "pt-BR:en"]);
    }

    #[test]
    fn each_language_has_one_token_per_side() {
        let directions = [["de", "en"], ["en", "de"], ["fr", "en"]];
        let directions = directions.map(|pair| pair.map(String::from));
        let [source, target] = LanguageTokens::Source.of(&directions);
        assert_eq!(source, [">>en<<", ">>de<<"]);
        assert!(target.is_empty());
        let [source, target] = LanguageTokens::Target.of(&directions);
        assert_eq!(source, ["__de__", "__en__", "__fr__"]);
        assert_eq!(target, ["__en__", "__de__"]);
    }

    #[test]
    fn codes_of_languages_scripts_regions_and_private_use_are_taken() {
        let codes = [
            "de",
            "deu",
            "pt-BR",
            "zh-Hant",
            "zh_Hant_TW",
            "fra_Latn",
            "qaa",
            "es-419",
        ];
        for code in codes {
            assert!(checked(vec![pair(code, "en", true)]).is_ok(), "{code}");
        }
        let variants = vec![pair("zh-Hans", "en", false), pair("zh-Hant", "en", false)];
        assert!(checked(variants).is_ok());
        let with_plain = vec![pair("pt", "en", false), pair("pt-BR", "en", false)];
        assert!(checked(with_plain).is_ok());
    }

    #[test]
    fn wrong_pairs_are_refused_with_a_remedy() {
        for (pairs, needles) in [
            (vec![pair("xx", "en", false)], ["\"xx\"", "ISO 639"]),
            (vec![pair("", "en", false)], ["\"\"", "ISO 639"]),
            (vec![pair("de>", "en", false)], ["\"de>\"", "ISO 639"]),
            (
                vec![pair("de", "de", false)],
                ["into itself", "two languages"],
            ),
            (
                vec![pair("de", "en", true), pair("en", "de", false)],
                ["en → de twice", "join"],
            ),
            (
                vec![pair("de", "en", false), pair("de", "en", false)],
                ["de → en twice", "join"],
            ),
            (
                vec![pair("de", "en", false), pair("fr", "deu", false)],
                ["\"de\" and \"deu\"", "one way"],
            ),
        ] {
            let message = checked(pairs).unwrap_err().to_string();
            assert!(
                needles.iter().all(|needle| message.contains(needle)),
                "{message}"
            );
        }
    }

    #[test]
    fn other_texts_besides_pairs_are_refused() {
        let data = DataSettings {
            pairs: vec![pair("de", "en", true)],
            valid: vec!["v.tsv".into()],
            ..DataSettings::default()
        };
        let message = data.check_languages().unwrap_err().to_string();
        assert!(message.contains("data.valid (--valid)"), "{message}");
    }
}
