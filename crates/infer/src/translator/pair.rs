//! The pair of languages of a model, by its name.

use std::path::Path;

/// The two languages of a model whose folder has the name of its pair (`opus-mt-de-en`, or
/// `de-en/best` in it).
pub(super) fn pair_of(folder: &Path) -> Option<[String; 2]> {
    let mut names = folder.iter().rev().filter_map(|name| name.to_str());
    let name = names.find(|name| !["best", "last", "model"].contains(name))?;
    let is_hash = |part: &str| part.len() == 8 && part.bytes().all(|c| c.is_ascii_hexdigit());
    let name = name.rsplit_once('-').filter(|(_, end)| is_hash(end)).map_or(name, |(name, _)| name);
    let (rest, target) = name.rsplit_once('-')?;
    let source = rest.rsplit(['-', '_', ':', '.']).next()?;
    let is_code = |code: &str| code.len() == 2 && code.bytes().all(|c| c.is_ascii_lowercase());
    [source, target].into_iter().all(is_code).then(|| [source.into(), target.into()])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_model_tells_its_languages() {
        let pair = |name: &str| pair_of(Path::new(name)).map(|pair| pair.join(" "));
        for name in ["opus-mt-de-fr", "a/de-fr", "de-fr-01234abc", "runs/de-fr/best"] {
            assert_eq!(pair(name).as_deref(), Some("de fr"), "{name}");
        }
        for name in ["runs/mine/best", "m2m-100", "my-model", "en", "", "de-fr/mine"] {
            assert_eq!(pair(name), None, "{name}");
        }
    }
}
