//! Parameters by name. A name is the path of fields from the root of the model, joined by dots. The
//! variant of an enum is not part of it.

use std::collections::BTreeMap;

use burn::module::{Module, ModuleMapper, ModuleVisitor, Param};
use burn::tensor::{Gradients, Tensor, TensorData};

use crate::names::Path;

/// Why named values cannot be loaded into a model.
#[derive(Debug, PartialEq, thiserror::Error)]
pub enum LoadError {
    /// A parameter of the model has no value.
    #[error("parameter {name} is missing")]
    Missing {
        /// Name of the parameter.
        name: String,
    },
    /// There is a value for a name that the model does not have.
    #[error("parameter {name} does not exist in this model")]
    Unknown {
        /// The unknown name.
        name: String,
    },
    /// The shape of a value is not that of the parameter.
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

/// A parameter of any number of dimensions.
trait Parameter {
    fn value(&self) -> TensorData;
    fn gradient(&self, gradients: &Gradients) -> Option<TensorData>;
    fn shape(&self) -> Vec<usize>;
    fn is_trained(&self) -> bool;
}

impl<const D: usize> Parameter for Param<Tensor<D>> {
    fn value(&self) -> TensorData {
        data_now(self.val())
    }

    fn gradient(&self, gradients: &Gradients) -> Option<TensorData> {
        self.val().grad(gradients).map(data_now)
    }

    fn shape(&self) -> Vec<usize> {
        self.lazy_shape().to_vec()
    }

    fn is_trained(&self) -> bool {
        self.val().is_require_grad()
    }
}

/// Shows a function every parameter with its name.
struct Visitor<F>(Path, F);

impl<F: FnMut(String, &dyn Parameter)> ModuleVisitor for Visitor<F> {
    fn enter_module(&mut self, name: &str, container: &str) {
        self.0.enter(name, container);
    }

    fn exit_module(&mut self, _name: &str, _container: &str) {
        self.0.exit();
    }

    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        (self.1)(self.0.name(), param);
    }
}

/// What `of` says of every parameter, in the order of the fields.
fn collect<M: Module, T>(module: &M, of: impl Fn(String, &dyn Parameter) -> T) -> Vec<T> {
    let mut found = Vec::new();
    module.visit(&mut Visitor(Path::default(), |name, param: &dyn Parameter| {
        found.push(of(name, param));
    }));
    found
}

/// Reads the values of `x` at once. On a GPU, the data that Burn's `into_data` returns is copied
/// only when it is first looked at. By then an update in place may have changed the tensor.
pub fn data_now<const D: usize>(x: Tensor<D>) -> TensorData {
    let data = x.into_data();
    // Looking at the first byte makes Burn copy the data now.
    let _ = data.bytes().first();
    data
}

/// The values of all parameters, sorted by name.
pub fn named_parameters<M: Module>(module: &M) -> BTreeMap<String, TensorData> {
    collect(module, |name, param| (name, param.value())).into_iter().collect()
}

/// The gradients of all parameters, sorted by name. A parameter that did not take part in the loss
/// has no entry.
pub fn named_gradients<M: Module>(
    module: &M,
    gradients: &Gradients,
) -> BTreeMap<String, TensorData> {
    let found = collect(module, |name, param| Some((name, param.gradient(gradients)?)));
    found.into_iter().flatten().collect()
}

/// Name and number of elements of every parameter, in the order of the fields.
pub fn parameter_sizes<M: Module>(module: &M) -> Vec<(String, usize)> {
    collect(module, |name, param| (name, param.shape().iter().product()))
}

/// Name and shape of every trained parameter, in the order of the fields: of all but the
/// [frozen](freeze_parameters) ones, on a device with autodiff. The shape of a
/// [`Linear`](crate::Linear) layer is `[out, in]`, in memory as in files.
pub fn trained_parameter_shapes<M: Module>(module: &M) -> Vec<(String, Vec<usize>)> {
    let found = collect(module, |name, param| param.is_trained().then(|| (name, param.shape())));
    found.into_iter().flatten().collect()
}

/// `module` with every parameter frozen whose name `is_frozen` accepts: no gradient is computed for
/// it.
pub fn freeze_parameters<M: Module>(module: M, is_frozen: impl Fn(&str) -> bool) -> M {
    struct Freezer<F>(Path, F);
    impl<F: Fn(&str) -> bool> ModuleMapper for Freezer<F> {
        fn enter_module(&mut self, name: &str, container: &str) {
            self.0.enter(name, container);
        }
        fn exit_module(&mut self, _name: &str, _container: &str) {
            self.0.exit();
        }
        fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
            match (self.1)(&self.0.name()) {
                true => param.set_require_grad(false),
                false => param,
            }
        }
    }
    module.map(&mut Freezer(Path::default(), is_frozen))
}

/// Replaces each parameter by the value with its name.
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
        let Some(data) = self.take(param.lazy_shape().to_vec()) else {
            return param;
        };
        if !param.is_initialized() {
            // Its initial values are never drawn.
            return Param::from_tensor(Tensor::from_data(data, &param.lazy_device()));
        }
        param.map(|old| {
            let new = Tensor::from_data(data, &old.device());
            new.set_require_grad(old.is_require_grad())
        })
    }
}

/// Replaces every parameter of `module` by the value with its name.
///
/// # Errors
/// A [`LoadError`] if a parameter has no value, if a name is unknown, or if a shape differs.
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

    /// Drawing them takes longer than reading a model.
    #[test]
    fn no_initial_vectors_of_tokens_are_drawn_before_they_are_asked_for() {
        let embedding = tiny().embeddings.embedding.expect("all matrices are one");
        assert!(!embedding.weight.is_initialized());
        embedding.weight.val();
        assert!(embedding.weight.is_initialized());
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
