//! Separate vocabularies, in which a special token can have another id on each side.

use crate::error::Result;
use crate::package::Package;
use crate::vocabulary;

/// Exchanges rows of the embeddings, so that `</s>` and `<pad>` have the ids of the configuration
/// on both sides. `MarianTokenizer` writes those of each vocabulary, which are others where the
/// sizes differ; a model directory has one id for both sides.
pub(super) fn align(package: &mut Package) -> Result<()> {
    if !package.texts.contains_key("target_vocab.json") {
        return Ok(());
    }
    side(package, "vocab.json", package.config.source_vocab, &["source_embedding.weight"])?;
    let target = ["target_embedding.weight", "generator.weight", "output_bias"];
    side(package, "target_vocab.json", package.config.target_vocab, &target)
}

fn side(package: &mut Package, name: &str, rows: usize, weights: &[&str]) -> Result<()> {
    let Some(bytes) = package.texts.get(name) else { return Ok(()) };
    let mut tokens = vocabulary::of_file(name.as_ref(), bytes, rows)?;
    let before = tokens.clone();
    for (token, id) in [("</s>", package.config.eos), ("<pad>", package.config.pad)] {
        let id = id as usize;
        let Some(index) = tokens.iter().position(|t| t == token).filter(|&index| index != id)
        else {
            continue;
        };
        tokens.swap(index, id);
        for weight in weights {
            package.weights.get_mut(*weight).into_iter().for_each(|rows| rows.exchange(index, id));
        }
        if weights.contains(&"target_embedding.weight") {
            let moved = |token: u32| match token as usize {
                token if token == index => id as u32,
                token if token == id => index as u32,
                _ => token,
            };
            package.config.bos = moved(package.config.bos);
            package.search.suppress.iter_mut().for_each(|token| *token = moved(*token));
            package.search.suppress.sort_unstable();
        }
    }
    if tokens != before {
        package.texts.insert(name.into(), vocabulary::json(&tokens));
    }
    Ok(())
}
