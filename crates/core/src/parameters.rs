//! Parameters by name: the path of fields from the model's root, joined by dots.

use std::collections::BTreeMap;

use burn::module::{Module, ModuleMapper, ModuleVisitor, Param};
use burn::tensor::{Gradients, Tensor, TensorData};

/// Named values that do not fit the model.
#[derive(Debug, PartialEq, thiserror::Error)]
pub enum LoadError {
    /// The model has a parameter that the values lack.
    #[error("parameter {name} is missing")]
    Missing {
        /// Name of the parameter.
        name: String,
    },
    /// The values hold a name that the model does not have.
    #[error("parameter {name} does not exist in this model")]
    Unknown {
        /// The name found.
        name: String,
    },
    /// The shapes differ.
    #[error("parameter {name} has shape {found:?}, the model needs {expected:?}")]
    Shape {
        /// Name of the parameter.
        name: String,
        /// Shape of the value.
        found: Vec<usize>,
        /// Shape in the model.
        expected: Vec<usize>,
    },
}

/// The fields to where a traversal stands, each with the kind and type of what holds it.
#[derive(Default)]
struct Path(Vec<(String, String)>);

impl Path {
    fn enter(&mut self, name: &str, container: &str) {
        self.0.push((name.to_string(), container.to_string()));
    }

    fn exit(&mut self) {
        self.0.pop();
    }

    /// The fields joined by dots. Which variant of an enum a module is, such as that of a model of any architecture,
    /// is no part of a name, and embeddings belong to the model that holds [`SharedEmbeddings`](crate::SharedEmbeddings).
    fn name(&self) -> String {
        let mut names: Vec<&str> = Vec::new();
        for (name, container) in &self.0 {
            match container.as_str() {
                kind if kind.starts_with("Enum:") => continue,
                "Struct:SharedEmbeddings" => drop(names.pop()),
                _ => {}
            }
            names.push(name);
        }
        names.join(".")
    }
}

/// Collects one value a parameter: itself, or its gradient.
struct Collector<'a> {
    path: Path,
    found: BTreeMap<String, TensorData>,
    gradients: Option<&'a Gradients>,
}

impl ModuleVisitor for Collector<'_> {
    fn enter_module(&mut self, name: &str, container: &str) {
        self.path.enter(name, container);
    }

    fn exit_module(&mut self, _name: &str, _container: &str) {
        self.path.exit();
    }

    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let value = match self.gradients {
            None => Some(param.val()),
            Some(gradients) => param.val().grad(gradients),
        };
        if let Some(value) = value {
            self.found.insert(self.path.name(), data_now(value));
        }
    }
}

fn collect<M: Module>(module: &M, gradients: Option<&Gradients>) -> BTreeMap<String, TensorData> {
    let mut collector = Collector { path: Path::default(), found: BTreeMap::new(), gradients };
    module.visit(&mut collector);
    collector.found
}

/// The values of `x` as they are now. What Burn's `into_data` gives of a tensor on a GPU is copied only when it is
/// looked at, and by then an update in place may have changed it.
pub fn data_now<const D: usize>(x: Tensor<D>) -> TensorData {
    let data = x.into_data();
    // Looks at it.
    let _ = data.bytes().first();
    data
}

/// Every parameter's value, sorted by name.
pub fn named_parameters<M: Module>(module: &M) -> BTreeMap<String, TensorData> {
    collect(module, None)
}

/// Name and number of elements of every parameter, in visiting order.
pub fn parameter_sizes<M: Module>(module: &M) -> Vec<(String, usize)> {
    #[derive(Default)]
    struct Sizes(Path, Vec<(String, usize)>);
    impl ModuleVisitor for Sizes {
        fn enter_module(&mut self, name: &str, container: &str) {
            self.0.enter(name, container);
        }
        fn exit_module(&mut self, _name: &str, _container: &str) {
            self.0.exit();
        }
        fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
            self.1.push((self.0.name(), param.val().shape().num_elements()));
        }
    }
    let mut sizes = Sizes::default();
    module.visit(&mut sizes);
    sizes.1
}

/// Every parameter's gradient, sorted by name; a parameter that took no part has none.
pub fn named_gradients<M: Module>(
    module: &M,
    gradients: &Gradients,
) -> BTreeMap<String, TensorData> {
    collect(module, Some(gradients))
}

/// Replaces parameters by the values of their names.
struct Replacer {
    path: Path,
    values: BTreeMap<String, TensorData>,
    error: Option<LoadError>,
}

impl Replacer {
    fn take(&mut self, expected: Vec<usize>) -> Option<TensorData> {
        let name = self.path.name();
        let value = match self.values.remove(&name) {
            None => Err(LoadError::Missing { name }),
            Some(data) if data.shape().to_vec() != expected => {
                Err(LoadError::Shape { name, found: data.shape().to_vec(), expected })
            }
            Some(data) => Ok(data),
        };
        value.map_err(|error| self.error.get_or_insert(error)).ok()
    }
}

impl ModuleMapper for Replacer {
    fn enter_module(&mut self, name: &str, container: &str) {
        self.path.enter(name, container);
    }

    fn exit_module(&mut self, _name: &str, _container: &str) {
        self.path.exit();
    }

    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        let Some(data) = self.take(param.val().dims().to_vec()) else {
            return param;
        };
        param.map(|old| {
            let new = Tensor::from_data(data, &old.device());
            new.set_require_grad(old.is_require_grad())
        })
    }
}

/// `module` with every parameter replaced by the value of its name.
///
/// # Errors
/// A [`LoadError`] if a parameter is missing, unknown or of another shape.
pub fn with_parameters<M: Module>(
    module: M,
    values: BTreeMap<String, TensorData>,
) -> Result<M, LoadError> {
    let mut replacer = Replacer { path: Path::default(), values, error: None };
    let module = module.map(&mut replacer);
    if let Some(error) = replacer.error {
        return Err(error);
    }
    match replacer.values.into_keys().next() {
        Some(name) => Err(LoadError::Unknown { name }),
        None => Ok(module),
    }
}

#[cfg(test)]
mod tests {
    use burn::tensor::Device;

    use super::*;
    use crate::TransformerConfig;

    fn tiny() -> crate::Transformer {
        let config = TransformerConfig::tiny(20);
        config.init(1, &Device::default()).expect("a preset is valid")
    }

    fn load(change: impl FnOnce(&mut BTreeMap<String, TensorData>)) -> Result<(), LoadError> {
        let mut values = named_parameters(&tiny());
        change(&mut values);
        with_parameters(tiny(), values).map(drop)
    }

    #[test]
    fn names_are_the_documented_ones() {
        let names: Vec<String> = named_parameters(&tiny()).into_keys().collect();
        for name in [
            "embedding.weight",
            "encoder.layers.1.self_attention.query.bias",
            "decoder.layers.0.cross_attention_norm.weight",
            "decoder.layers.1.feed_forward.outer.weight",
        ] {
            assert!(names.iter().any(|n| n == name), "{name} not in {names:?}");
        }
    }

    #[test]
    fn values_go_out_and_come_back() {
        assert_eq!(load(|_| ()), Ok(()));
    }

    #[test]
    fn a_missing_an_unknown_and_a_misshapen_parameter_are_named() {
        let name = "embedding.weight".to_string();
        let missing = load(|values| drop(values.remove("embedding.weight")));
        assert_eq!(missing, Err(LoadError::Missing { name: name.clone() }));
        let extra = TensorData::new(vec![0f32], [1]);
        let unknown = load(|values| drop(values.insert("x.weight".into(), extra.clone())));
        assert_eq!(unknown, Err(LoadError::Unknown { name: "x.weight".into() }));
        let shape = load(|values| drop(values.insert(name, extra)));
        assert!(matches!(shape, Err(LoadError::Shape { .. })));
    }
}
