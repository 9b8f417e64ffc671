//! Parameters that a run leaves as they are.

use burnformer_core::{Parameters, freeze_parameters, parameter_sizes};

use crate::config::{ConfigFileError, nearest};

/// Stops training of the parameters of `module` that `patterns` name (`training.freeze`): they get
/// no gradient, and the optimiser passes them by.
///
/// A pattern is the name of a parameter or the first parts of one, `decoder.layers.0`; a part `*`
/// stands for any.
///
/// # Errors
/// [`ConfigFileError::Freeze`] for a pattern that names no parameter, [`ConfigFileError::Value`] if
/// nothing is left to train.
pub(crate) fn freeze<M: Parameters>(module: M, patterns: &[String]) -> Result<M, ConfigFileError> {
    if patterns.is_empty() {
        return Ok(module);
    }
    let names: Vec<String> = parameter_sizes(&module).into_iter().map(|(name, _)| name).collect();
    if let Some(pattern) = patterns.iter().find(|p| !names.iter().any(|name| names_it(p, name))) {
        let known = known(&names);
        let nearest = nearest(pattern, known.iter().map(String::as_str));
        return Err(ConfigFileError::Freeze { pattern: pattern.clone(), nearest });
    }
    let is_frozen = |name: &str| patterns.iter().any(|pattern| names_it(pattern, name));
    if names.iter().all(|name| is_frozen(name)) {
        let remedy = "a list that leaves something to train".into();
        let value = patterns.join(", ");
        return Err(ConfigFileError::Value { key: "training.freeze", value, remedy });
    }
    Ok(freeze_parameters(module, is_frozen))
}

/// Returns whether the parts of `pattern` are the first parts of `name`.
fn names_it(pattern: &str, name: &str) -> bool {
    let mut parts = name.split('.');
    pattern
        .split('.')
        .all(|wanted| parts.next().is_some_and(|part| wanted == "*" || wanted == part))
}

/// Every name and every beginning of one.
fn known(names: &[String]) -> Vec<String> {
    let beginnings = names.iter().flat_map(|name| {
        let dots = name.match_indices('.').map(|(at, _)| name[..at].to_string());
        dots.chain([name.clone()])
    });
    let mut known: Vec<String> = beginnings.collect();
    known.sort();
    known.dedup();
    known
}

#[cfg(test)]
mod tests {
    use burn::tensor::Device;
    use burnformer_core::{TransformerConfig, trained_parameter_shapes};

    use super::*;

    fn trained(patterns: &[&str]) -> Result<Vec<String>, ConfigFileError> {
        let patterns: Vec<String> = patterns.iter().map(ToString::to_string).collect();
        let model = TransformerConfig::tiny(20).init(1, &Device::default().autodiff()).unwrap();
        let sizes = trained_parameter_shapes(&freeze(model, &patterns)?);
        Ok(sizes.into_iter().map(|(name, _)| name).collect())
    }

    #[test]
    fn a_pattern_names_a_parameter_or_all_below_it() {
        let all = trained(&[]).unwrap();
        let without = |start: &str| {
            all.iter().filter(|name| !name.starts_with(start)).cloned().collect::<Vec<_>>()
        };
        assert_eq!(trained(&["encoder"]).unwrap(), without("encoder."));
        assert_eq!(trained(&["embedding.weight"]).unwrap(), without("embedding.weight"));
        assert_eq!(trained(&["decoder.layers.1"]).unwrap(), without("decoder.layers.1."));
        let stars = trained(&["*.layers.*.feed_forward"]).unwrap();
        let left: Vec<_> = all.iter().filter(|n| !n.contains(".feed_forward.")).cloned().collect();
        assert_eq!(stars, left);
    }

    #[test]
    fn a_pattern_that_names_nothing_is_an_error_with_the_nearest_name() {
        for (pattern, nearest) in [
            ("encodr", "\"encoder\""),
            ("embeding", "\"embedding\""),
            ("enc", "\"encoder\""),
            ("decoder.layers.7", "\"decoder.layers."),
        ] {
            let message = trained(&[pattern]).unwrap_err().to_string();
            assert!(message.contains(pattern) && message.contains(nearest), "{message}");
        }
        let message = trained(&["*"]).unwrap_err().to_string();
        assert!(message.contains("training.freeze is *"), "{message}");
    }
}
