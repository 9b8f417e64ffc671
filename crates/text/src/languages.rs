//! Languages by their codes.

use isolang::Language;

/// Returns the code in `known` that means the same language as `code`, in any notation of both:
/// German is `de` (ISO 639-1), `deu` (639-3), `ger` (639-2), `de-DE` or `de_DE` (with a region) and
/// `deu_Latn` (with a script). A region or a script decides only among codes that have one.
///
/// ```
/// use burnformer_text::find_language;
///
/// assert_eq!(find_language("de-DE", ["en", "de"]), Ok("de"));
/// assert_eq!(find_language("ger", ["eng_Latn", "deu_Latn"]), Ok("deu_Latn"));
/// assert_eq!(find_language("pt", ["pt-BR", "pt-PT"]), Err(vec!["pt-BR", "pt-PT"]));
/// assert_eq!(find_language("fr", ["en", "de"]), Err(vec![]));
/// ```
///
/// # Errors
/// The codes that `code` could mean, if there is not exactly one.
pub fn find_language<'a>(
    code: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> Result<&'a str, Vec<&'a str>> {
    let wanted_code = Code::of(code);
    let fitting: Vec<&str> = known
        .into_iter()
        .filter(|known| Code::of(known).fits(&wanted_code))
        .collect();
    if let [one] = fitting[..] {
        return Ok(one);
    }
    let known = fitting.iter().copied();
    let same_text = known.clone().find(|&known| known == code);
    let same_code = known.clone().find(|known| Code::of(known) == wanted_code);
    let plain = known.clone().find(|known| Code::of(known).is_plain());
    same_text.or(same_code).or(plain).ok_or(fitting)
}

/// A language code in its parts, all in lower case.
#[derive(PartialEq)]
struct Code {
    /// The code of ISO 639-3, or the model's own name of the language.
    language: String,
    /// Four letters, such as `latn`.
    script: Option<String>,
    /// Two letters or three digits, such as `br` and `419`.
    region: Option<String>,
}

impl Code {
    fn of(code: &str) -> Self {
        let code = code.to_lowercase();
        let mut parts = code.split(['-', '_']);
        let language = parts.next().unwrap_or_default();
        let script = parts.clone().find(|part| part.len() == 4);
        let region = parts.find(|part| matches!(part.len(), 2 | 3));
        Self {
            language: language_of(language),
            script: script.map(str::to_owned),
            region: region.map(str::to_owned),
        }
    }

    /// Returns whether both can be the same: they name one language, and no different scripts or
    /// regions.
    fn fits(&self, other: &Self) -> bool {
        self.language == other.language
            && agree(&self.script, &other.script)
            && agree(&self.region, &other.region)
    }

    fn is_plain(&self) -> bool {
        self.script.is_none() && self.region.is_none()
    }
}

/// Returns whether two parts of codes are equal, or one of them is missing.
fn agree(a: &Option<String>, b: &Option<String>) -> bool {
    a.is_none() || b.is_none() || a == b
}

/// Returns the code of ISO 639-3 for a `code` of any part of ISO 639, for a macrolanguage the code
/// of its usual language; `code` itself if it is in none.
fn language_of(code: &str) -> String {
    let iso = language(code).map(|language| language.to_639_3());
    let code = iso.unwrap_or(code);
    entry(DEFAULTS_OF_MACROLANGUAGES, code)
        .unwrap_or(code)
        .to_owned()
}

/// Returns the language with the two-letter or three-letter `code`, in any part of ISO 639: `de`,
/// `deu` and `ger`.
pub fn language(code: &str) -> Option<Language> {
    let code = code.to_ascii_lowercase();
    let code = entry(BIBLIOGRAPHIC_CODES, &code).unwrap_or(&code);
    Language::from_639_1(code).or_else(|| Language::from_639_3(code))
}

/// Returns the meaning of `code` in `table`, a list of `code=meaning`.
fn entry(table: &'static str, code: &str) -> Option<&'static str> {
    let pairs = table.split_whitespace();
    let mut pairs = pairs.filter_map(|pair| pair.split_once('='));
    let (_, meaning) = pairs.find(|(known, _)| *known == code)?;
    Some(meaning)
}

/// The codes of ISO 639-2 for bibliographies that differ from ISO 639-3.
const BIBLIOGRAPHIC_CODES: &str = "alb=sqi arm=hye baq=eus bur=mya chi=zho cze=ces dut=nld fre=fra geo=kat ger=deu \
    gre=ell ice=isl mac=mkd mao=mri may=msa per=fas rum=ron slo=slk tib=bod wel=cym";

/// Macrolanguages of ISO 639-3, and the default language of each, as in NLLB.
const DEFAULTS_OF_MACROLANGUAGES: &str = "ara=arb aze=azj cmn=zho ekk=est fas=pes kur=kmr lav=lvs mlg=plt mon=khk msa=zsm \
    nep=npi nor=nob ori=ory orm=gaz pus=pbt sqi=als swa=swh uzb=uzn yid=ydd grn=gug \
    aym=ayr";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_language_is_found_by_any_form_of_its_code() {
        let small = ["en", "de", "pt", "pt-BR", "no", "cs"];
        for (code, found) in [
            ("de", "de"),
            ("DE", "de"),
            ("deu", "de"),
            ("ger", "de"),
            ("de-DE", "de"),
            ("de_at", "de"),
            ("deu_Latn", "de"),
            ("eng", "en"),
            ("en-US", "en"),
            ("pt", "pt"),
            ("pt_BR", "pt-BR"),
            ("pt-PT", "pt"),
            ("nb", "no"),
            ("cze", "cs"),
        ] {
            assert_eq!(find_language(code, small), Ok(found), "{code}");
        }
        let nllb = [
            "deu_Latn", "zho_Hans", "zho_Hant", "arb_Arab", "ary_Arab", "srp_Cyrl",
        ];
        for (code, found) in [
            ("de-DE", "deu_Latn"),
            ("zh-Hant", "zho_Hant"),
            ("zh-Hant-TW", "zho_Hant"),
            ("ar", "arb_Arab"),
            ("ary", "ary_Arab"),
            ("sr", "srp_Cyrl"),
        ] {
            assert_eq!(find_language(code, nllb), Ok(found), "{code}");
        }
        assert_eq!(find_language("zh", nllb), Err(vec!["zho_Hans", "zho_Hant"]));
        assert_eq!(find_language("sr-Latn", nllb), Err(vec![]));
        assert_eq!(find_language("klingon", ["klingon", "de"]), Ok("klingon"));
        for none in ["", "-", "fr", "d", "german"] {
            assert_eq!(find_language(none, small), Err(vec![]), "{none}");
        }
    }

    #[test]
    fn bibliographic_codes_name_no_other_language() {
        for (code, other) in BIBLIOGRAPHIC_CODES
            .split_whitespace()
            .map(|pair| pair.split_once('=').unwrap())
        {
            assert!(Language::from_639_3(other).is_some(), "{other}");
            assert!(
                Language::from_639_3(code).is_none(),
                "{code} is another language's"
            );
        }
    }
}
