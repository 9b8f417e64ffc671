//! Parameters by name. A name is the path of fields from the root of the model, joined by dots. The
//! variant of an enum is not part of it.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use burn::module::{Module, ModuleMapper, ModuleVisitor, Param, ParamId};
use burn::tensor::{Device, Gradients, Shape, Tensor, TensorData};
use burnformer_kernels::{QuantizedRows, quantize_rows};

/// An error in loading named values into a model.
#[derive(Debug, PartialEq, thiserror::Error)]
pub enum LoadError {
    /// A parameter of the model has no value.
    #[error("parameter {0} is missing")]
    Missing(String),
    /// A value has a name that the model does not have.
    #[error("parameter {0} does not exist in this model")]
    Unknown(String),
    /// A value has another shape than the parameter.
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

/// Tensors by the names of their parameters, PyTorch's `state_dict`.
pub type StateDict = BTreeMap<String, TensorData>;

/// A tensor of a file.
#[derive(Clone, Debug)]
pub(crate) enum StoredTensor {
    /// Float32 numbers.
    Float32(TensorData),
    /// A quantised matrix of this shape.
    Quantized(QuantizedRows, [usize; 2]),
}

impl StoredTensor {
    pub fn shape(&self) -> &[usize] {
        match self {
            Self::Float32(data) => data.shape(),
            Self::Quantized(_, shape) => shape,
        }
    }

    /// Returns the numbers in float32: integers times the scales of their rows.
    pub fn into_data(self) -> TensorData {
        match self {
            Self::Float32(data) => data,
            Self::Quantized(rows, shape) => TensorData::new(rows.dequantized(shape[1]), shape),
        }
    }
}

/// The quantised matrices of a model that was just loaded, by the ids of their parameters. Packing
/// them takes their memory.
#[derive(Debug, Default)]
pub struct QuantizedParameters {
    rows: HashMap<ParamId, Arc<QuantizedRows>>,
    /// If true, packing in 8-bit integers may round the weights of linear maps themselves.
    pub(crate) replaces_weights: bool,
}

impl QuantizedParameters {
    /// Quantises `weight`, if it may be replaced and is not quantised yet.
    pub(crate) fn quantize(&mut self, weight: &Param<Tensor<2>>) {
        if self.replaces_weights && !self.rows.contains_key(&weight.id) {
            let columns = weight.lazy_shape()[1];
            let values = weight.val().into_data_as::<f32>();
            let values = values
                .as_slice::<f32>()
                .expect("the data was read as float32");
            let rows = quantize_rows(values, columns);
            self.rows.insert(weight.id, Arc::new(rows));
        }
    }

    /// Removes the matrix of a parameter, if there is one.
    pub fn remove(&mut self, id: ParamId) -> Option<Arc<QuantizedRows>> {
        self.rows.remove(&id)
    }
}

/// A parameter of any number of dimensions. Flat tensors hold its numbers in one dimension.
pub trait Parameter {
    /// Returns the size of each dimension.
    fn shape(&self) -> Vec<usize>;
    /// Returns the device that holds the parameter.
    fn device(&self) -> Device;
    /// Returns whether gradients are computed for the parameter.
    fn is_trained(&self) -> bool;
    /// Returns the values of the parameter on the host.
    fn value(&self) -> TensorData;
    /// Returns the values of the parameter, flat, on the device without autodiff.
    fn flat(&self) -> Tensor<1>;
    /// Returns the gradient of the parameter; `None` if the parameter took no part in the loss.
    fn gradient(&self, gradients: &Gradients) -> Option<TensorData>;
    /// Returns the gradient of the parameter, flat, which is removed from `gradients`; `None` if
    /// the parameter took no part in the loss.
    fn take_gradient(&self, gradients: &mut Gradients) -> Option<Tensor<1>>;
    /// Replaces the values `x` of the parameter by `change(x)`, both [flat](Self::flat), in place
    /// if nothing else shares their memory.
    fn update(&mut self, change: Box<dyn FnOnce(Tensor<1>) -> Tensor<1> + '_>);
    /// Replaces the values of the parameter by `data`, which has the same shape.
    fn set(&mut self, data: TensorData);
    /// Returns the id of the parameter.
    fn id(&self) -> ParamId;
    /// Replaces the values of the parameter by `rows`, which have `shape`. They are dequantised
    /// when the parameter is read.
    fn set_quantized(&mut self, rows: Arc<QuantizedRows>, shape: Shape);
    /// Freezes the parameter: no gradient is computed for it.
    fn freeze(&mut self);
}

impl<const D: usize> Parameter for Param<Tensor<D>> {
    fn shape(&self) -> Vec<usize> {
        self.lazy_shape().to_vec()
    }

    fn device(&self) -> Device {
        self.lazy_device()
    }

    fn is_trained(&self) -> bool {
        self.val().is_require_grad()
    }

    fn value(&self) -> TensorData {
        data_now(self.val())
    }

    fn flat(&self) -> Tensor<1> {
        self.val().inner().reshape([-1])
    }

    fn gradient(&self, gradients: &Gradients) -> Option<TensorData> {
        self.val().grad(gradients).map(data_now)
    }

    fn take_gradient(&self, gradients: &mut Gradients) -> Option<Tensor<1>> {
        self.val()
            .grad_remove(gradients)
            .map(|gradient| gradient.reshape([-1]))
    }

    fn update(&mut self, change: Box<dyn FnOnce(Tensor<1>) -> Tensor<1> + '_>) {
        replace(self, |param| {
            param.map(|old| {
                let shape = old.dims();
                let is_trained = old.is_require_grad();
                let new = change(old.inner().reshape([-1]));
                Tensor::from_inner(new.reshape(shape)).set_require_grad(is_trained)
            })
        });
    }

    fn set(&mut self, data: TensorData) {
        if !self.is_initialized() {
            // The initial values of the parameter are never drawn.
            *self = Param::from_tensor(Tensor::from_data(data, &self.lazy_device()));
            return;
        }
        replace(self, |param| {
            param.map(|old| {
                let new = Tensor::from_data(data, &old.device());
                new.set_require_grad(old.is_require_grad())
            })
        });
    }

    fn id(&self) -> ParamId {
        self.id
    }

    fn set_quantized(&mut self, rows: Arc<QuantizedRows>, shape: Shape) {
        let value_shape = shape.clone();
        let values = move |device: &Device, is_trained: bool| {
            let columns = value_shape[value_shape.num_dims() - 1];
            let numbers = TensorData::new(rows.dequantized(columns), value_shape);
            let values = Tensor::from_data(numbers, device);
            if is_trained {
                values.require_grad()
            } else {
                values
            }
        };
        *self = Param::uninitialized(self.id, values, self.lazy_device(), true, shape);
    }

    fn freeze(&mut self) {
        replace(self, |param| param.set_require_grad(false));
    }
}

/// Replaces the parameter in `slot` by the result of `change`. Meanwhile the slot holds a parameter
/// without values.
fn replace<const D: usize>(
    slot: &mut Param<Tensor<D>>,
    change: impl FnOnce(Param<Tensor<D>>) -> Param<Tensor<D>>,
) {
    let empty = Param::uninitialized(
        ParamId::new(),
        |_: &Device, _: bool| unreachable!("nothing reads it before it is replaced"),
        slot.lazy_device(),
        false,
        [0; D].into(),
    );
    *slot = change(std::mem::replace(slot, empty));
}

/// A function that is called with each parameter and its name.
pub type Look<'a> = &'a mut dyn FnMut(&str, &dyn Parameter);
/// A function that is called with each parameter and its name, and may change the parameter.
pub type Change<'a> = &'a mut dyn FnMut(&str, &mut dyn Parameter);

/// The parameters of a model or of any other Burn module, in the order of its fields. The ranks of
/// the parameters are not part of the types, so that it works for trait objects too.
pub trait Parameters {
    /// Calls `look` with every parameter.
    fn each_parameter(&self, look: Look<'_>);

    /// Calls `change` with every parameter, and returns the changed module.
    fn map_parameters(self, change: Change<'_>) -> Self
    where
        Self: Sized;
}

impl<M: Module> Parameters for M {
    fn each_parameter(&self, look: Look<'_>) {
        self.visit(&mut Named(Path::default(), look));
    }

    fn map_parameters(self, change: Change<'_>) -> Self {
        self.map(&mut Named(Path::default(), change))
    }
}

/// A visitor of Burn that gives a function the name of each parameter.
struct Named<F>(Path, F);

impl ModuleVisitor for Named<Look<'_>> {
    fn enter_module(&mut self, name: &str, container: &str) {
        self.0.enter(name, container);
    }

    fn exit_module(&mut self, _name: &str, _container: &str) {
        self.0.exit();
    }

    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        (self.1)(&self.0.name(), param);
    }
}

impl ModuleMapper for Named<Change<'_>> {
    fn enter_module(&mut self, name: &str, container: &str) {
        self.0.enter(name, container);
    }

    fn exit_module(&mut self, _name: &str, _container: &str) {
        self.0.exit();
    }

    fn map_float<const D: usize>(&mut self, mut param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        (self.1)(&self.0.name(), &mut param);
        param
    }
}

/// The results of `of` for every parameter, in the order of the fields.
fn collect<T>(module: &impl Parameters, of: impl Fn(String, &dyn Parameter) -> T) -> Vec<T> {
    let mut results = Vec::new();
    module.each_parameter(&mut |name, param| results.push(of(name.to_owned(), param)));
    results
}

/// Reads the values of `x` immediately. On a GPU, the data that Burn's `into_data` returns is
/// copied only at the first access. By then an update in place may have changed the tensor.
pub fn data_now<const D: usize>(x: Tensor<D>) -> TensorData {
    let data = x.into_data();
    // Looking at the first byte makes Burn copy the data now.
    let _ = data.bytes().first();
    data
}

/// Returns the values of all parameters, sorted by name.
pub fn named_parameters(module: &impl Parameters) -> StateDict {
    collect(module, |name, param| (name, param.value()))
        .into_iter()
        .collect()
}

/// Returns the gradients of all parameters, sorted by name. A parameter that did not take part in
/// the loss has no entry.
pub fn named_gradients(module: &impl Parameters, gradients: &Gradients) -> StateDict {
    let gradients_by_name = collect(module, |name, param| {
        Some((name, param.gradient(gradients)?))
    });
    gradients_by_name.into_iter().flatten().collect()
}

/// Name and number of elements of every parameter, in the order of the fields.
pub fn parameter_sizes(module: &impl Parameters) -> Vec<(String, usize)> {
    collect(module, |name, param| (name, param.shape().iter().product()))
}

/// Returns the name and the shape of every trained parameter, in the order of the fields. On a
/// device with autodiff, all parameters but the [frozen](freeze_parameters) ones are trained. The
/// shape of a [`Linear`](crate::Linear) layer is `[out, in]`, in memory as in files.
pub fn trained_parameter_shapes(module: &impl Parameters) -> Vec<(String, Vec<usize>)> {
    let shapes = collect(module, |name, param| {
        param.is_trained().then(|| (name, param.shape()))
    });
    shapes.into_iter().flatten().collect()
}

/// Returns `module` with the parameters frozen for which `is_frozen` returns true, given their
/// names: no gradients are computed for them.
pub fn freeze_parameters<M: Parameters>(module: M, is_frozen: impl Fn(&str) -> bool) -> M {
    module.map_parameters(&mut |name, param| {
        if is_frozen(name) {
            param.freeze();
        }
    })
}

/// Replaces every parameter of `module` by the value with its name.
///
/// # Errors
/// Returns a [`LoadError`] if a parameter has no value, if a name is unknown, or if a shape
/// differs.
pub fn with_parameters<M: Parameters>(module: M, values: StateDict) -> Result<M, LoadError> {
    let values = values.into_iter();
    let stored = values.map(|(name, data)| (name, StoredTensor::Float32(data)));
    Ok(with_stored(module, stored.collect())?.0)
}

/// Replaces every parameter of `module` by the tensor with its name. Quantised matrices are not
/// dequantised before they are read.
pub(crate) fn with_stored<M: Parameters>(
    module: M,
    mut values: BTreeMap<String, StoredTensor>,
) -> Result<(M, QuantizedParameters), LoadError> {
    let mut error = None;
    let mut quantized = QuantizedParameters::default();
    let module = module.map_parameters(&mut |name, param| match taken(&mut values, name, param) {
        Ok(StoredTensor::Float32(data)) => param.set(data),
        Ok(StoredTensor::Quantized(rows, shape)) => {
            let rows = Arc::new(rows);
            param.set_quantized(rows.clone(), shape.into());
            quantized.rows.insert(param.id(), rows);
        }
        Err(wrong) => error = error.take().or(Some(wrong)),
    });
    match (error, values.into_keys().next()) {
        (Some(error), _) => Err(error),
        (None, Some(name)) => Err(LoadError::Unknown(name)),
        (None, None) => Ok((module, quantized)),
    }
}

/// Takes the value of the parameter `name` out of `values`.
fn taken(
    values: &mut BTreeMap<String, StoredTensor>,
    name: &str,
    param: &dyn Parameter,
) -> Result<StoredTensor, LoadError> {
    let Some(data) = values.remove(name) else {
        return Err(LoadError::Missing(name.to_owned()));
    };
    let found = data.shape().to_vec();
    let expected = param.shape();
    if found != expected {
        return Err(LoadError::Shape {
            name: name.to_owned(),
            found,
            expected,
        });
    }
    Ok(data)
}

/// The type of a marker field `named_as_NAME`, the first field of a module. In parameter names, the
/// module is then called NAME instead of the name of the field that holds it. With `named_as_`, the
/// module's name is left out.
#[derive(Module, Debug)]
pub(crate) struct NamedAs {}

/// The path of fields at the current point of a traversal.
#[derive(Default)]
pub(crate) struct Path(Vec<String>);

impl Path {
    /// Enters the field `name` of a module. The variant of an enum is not part of names.
    pub fn enter(&mut self, name: &str, container: &str) {
        let holder = self.0.iter_mut().rev().find(|field| !field.is_empty());
        if let (Some(name), Some(holder)) = (name.strip_prefix("named_as_"), holder) {
            *holder = name.to_owned();
        }
        let is_variant = container.starts_with("Enum:");
        self.0.push(if is_variant {
            String::new()
        } else {
            name.to_owned()
        });
    }

    /// Leaves the field that was entered last.
    pub fn exit(&mut self) {
        self.0.pop();
    }

    /// Returns the fields joined by dots.
    pub fn name(&self) -> String {
        let fields = self.0.iter().map(String::as_str);
        let fields: Vec<&str> = fields.filter(|field| !field.is_empty()).collect();
        fields.join(".")
    }
}
