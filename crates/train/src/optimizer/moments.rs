//! The moments of every trained parameter, in the order in which a module is visited.

use std::collections::BTreeMap;

use burn::module::{Module, ModuleMapper, Param};
use burn::tensor::{Device, Tensor, TensorData};
use burnformer_core::data_now;
use burnformer_kernels::{Moving, is_fused_on};
use rayon::iter::{IntoParallelIterator, ParallelIterator};

use super::gradients::FlatGradients;
use super::muon::Matrix;
use super::settings::Algorithm;

const EXPECTED: &str = "a gradient and moments for each trained parameter";

/// The names of what Adam keeps of a parameter between two steps: the running means of its gradient
/// and of its square.
const ADAM: &[&str] = &["first", "second"];
/// The name of what Muon keeps: the running sum of the gradients.
const MUON: &[&str] = &["momentum"];

/// What is kept of one parameter between two steps, flat.
#[derive(Clone, Debug)]
struct Moment {
    kinds: &'static [&'static str],
    tensors: Vec<Tensor<1>>,
}

/// The moments of the trained parameters of a module.
#[derive(Clone, Debug)]
pub(super) struct Moments {
    names: Vec<String>,
    moments: Vec<Moment>,
}

impl Moments {
    /// Moments of zeros for parameters of these names and shapes.
    pub fn new(shapes: Vec<(String, Vec<usize>)>, algorithm: Algorithm, device: &Device) -> Self {
        let moment = |(name, shape): &(String, Vec<usize>)| {
            let zeros = Tensor::<1>::zeros([shape.iter().product::<usize>()], device).inner();
            let by_muon = algorithm == Algorithm::Muon && is_matrix_of_a_stack(name, shape);
            let kinds = if by_muon { MUON } else { ADAM };
            Moment { kinds, tensors: vec![zeros; kinds.len()] }
        };
        let moments = shapes.iter().map(moment).collect();
        Self { names: shapes.into_iter().map(|(name, _)| name).collect(), moments }
    }

    /// Changes each trained parameter of `module` and its moments by `adam` or by `muon`, in the
    /// order in which the module visits them. On a CPU the steps of Muon are made side by side:
    /// each is a chain of products too small for several cores.
    pub fn map<M: Module>(
        &mut self,
        module: M,
        gradients: FlatGradients,
        adam: impl FnMut(Moving<1>, Tensor<1>) -> Moving<1>,
        muon: impl Fn(Matrix, Tensor<1>) -> Matrix + Sync,
    ) -> M {
        let mut mapper = StepMapper {
            gradients: gradients.into_inner().into_iter(),
            before: std::mem::take(&mut self.moments).into_iter(),
            after: Vec::with_capacity(self.names.len()),
            adam,
            matrices: Vec::new(),
        };
        let module = module.map(&mut mapper);
        let StepMapper { after, matrices, .. } = mapper;
        self.moments = after;
        if matrices.is_empty() {
            return module;
        }
        let on_cpu = is_fused_on(&matrices[0].1.device());
        let step = |(matrix, gradient)| muon(matrix, gradient);
        let moved: Vec<Matrix> = match on_cpu {
            true => matrices.into_par_iter().map(step).collect(),
            false => matrices.into_iter().map(step).collect(),
        };
        module.map(&mut MatrixMapper { moved: moved.into_iter(), moments: self.moments.iter_mut() })
    }

    /// Whether all of them are finite.
    pub fn are_finite(&self) -> bool {
        self.moments.iter().flat_map(|moment| moment.tensors.clone()).all(is_finite)
    }

    /// The moments by name, flat.
    pub fn named(&self) -> BTreeMap<String, TensorData> {
        let named = |(name, Moment { kinds, tensors }): (&String, &Moment)| {
            let all = kinds.iter().zip(tensors.clone());
            all.map(|(kind, own)| (format!("{kind}.{name}"), data_now(own))).collect::<Vec<_>>()
        };
        self.names.iter().zip(&self.moments).flat_map(named).collect()
    }

    /// The moments of these names in the place of the present ones; `None` if a name or a size
    /// differs.
    pub fn restore(
        mut self,
        mut all: BTreeMap<String, TensorData>,
        device: &Device,
    ) -> Option<Self> {
        for (name, Moment { kinds, tensors }) in self.names.iter().zip(&mut self.moments) {
            for (kind, own) in kinds.iter().zip(tensors) {
                let data = all.remove(&format!("{kind}.{name}"))?;
                let fits = data.shape().to_vec() == own.dims();
                *own = fits.then(|| Tensor::<1>::from_data(data, device).inner())?;
            }
        }
        all.is_empty().then_some(self)
    }
}

/// Whether all entries of `x` are finite.
pub(crate) fn is_finite<const D: usize>(x: Tensor<D>) -> bool {
    x.is_finite().all().into_scalar::<bool>()
}

/// Whether a parameter is a matrix of the encoder or the decoder. Embeddings, positions and the
/// output layer, whose rows belong to single tokens, are none.
fn is_matrix_of_a_stack(name: &str, shape: &[usize]) -> bool {
    shape.len() == 2 && (name.starts_with("encoder.") || name.starts_with("decoder."))
}

/// Makes a step of each parameter that Adam moves, in turn, and collects those that Muon moves.
struct StepMapper<F> {
    gradients: std::vec::IntoIter<Tensor<1>>,
    before: std::vec::IntoIter<Moment>,
    after: Vec<Moment>,
    adam: F,
    /// The matrices that Muon is to move, with their gradients.
    matrices: Vec<(Matrix, Tensor<1>)>,
}

impl<F: FnMut(Moving<1>, Tensor<1>) -> Moving<1>> ModuleMapper for StepMapper<F> {
    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        if !param.val().is_require_grad() {
            return param;
        }
        let gradient = self.gradients.next().expect(EXPECTED);
        let Moment { kinds, tensors } = self.before.next().expect(EXPECTED);
        let [first, second] = match <[Tensor<1>; 2]>::try_from(tensors) {
            Ok(both) => both,
            Err(tensors) => {
                let value = param.val().inner();
                let dims = value.dims();
                let (parameter, momentum) = (value.reshape([-1]), tensors[0].clone());
                let matrix = Matrix { parameter, momentum, shape: [dims[0], dims[1]] };
                self.after.push(Moment { kinds, tensors });
                self.matrices.push((matrix, gradient));
                return param;
            }
        };
        param.map(|old| {
            let shape = old.dims();
            let parameter = old.inner().reshape([-1]);
            let moved = (self.adam)(Moving { parameter, first, second }, gradient);
            self.after.push(Moment { kinds, tensors: vec![moved.first, moved.second] });
            Tensor::from_inner(moved.parameter.reshape(shape)).require_grad()
        })
    }
}

/// Puts matrices that Muon has moved, and their moments, in the place of the old ones.
struct MatrixMapper<'a> {
    moved: std::vec::IntoIter<Matrix>,
    moments: std::slice::IterMut<'a, Moment>,
}

impl ModuleMapper for MatrixMapper<'_> {
    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        if !param.val().is_require_grad() {
            return param;
        }
        let moment = self.moments.next().expect(EXPECTED);
        if moment.kinds != MUON {
            return param;
        }
        let moved = self.moved.next().expect(EXPECTED);
        moment.tensors = vec![moved.momentum];
        param.map(|old| Tensor::from_inner(moved.parameter.reshape(old.dims())).require_grad())
    }
}
