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
        let Some(place) = tokens.iter().position(|own| own == token).filter(|&own| own != id)
        else {
            continue;
        };
        tokens.swap(place, id);
        for weight in weights {
            package.weights.get_mut(*weight).into_iter().for_each(|rows| rows.exchange(place, id));
        }
        if weights.contains(&"target_embedding.weight") {
            let moved = |own: u32| match own as usize {
                own if own == place => id as u32,
                own if own == id => place as u32,
                _ => own,
            };
            package.config.bos = moved(package.config.bos);
            package.search.suppress.iter_mut().for_each(|own| *own = moved(*own));
            package.search.suppress.sort_unstable();
        }
    }
    if tokens != before {
        package.texts.insert(name.into(), vocabulary::json(&tokens));
    }
    Ok(())
}
