//! The moments of every trained parameter, in the order in which a module is visited.

use std::collections::BTreeMap;

use burn::module::{Module, ModuleMapper, Param};
use burn::tensor::{Device, Tensor, TensorData};
use burnformer_core::data_now;
use burnformer_kernels::Moving;

use super::Algorithm;
use super::muon::Matrix;
use crate::gradients::FlatGradients;

/// What is kept of one parameter between two steps, flat.
#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant)] // tensors are small handles, and there is one such value per parameter
enum Moment {
    /// Adam's first and second moment.
    Adam([Tensor<1>; 2]),
    /// Muon's running sum of the gradients.
    Muon(Tensor<1>),
}

/// A parameter with its moments, before or after a step.
#[allow(clippy::large_enum_variant)] // one at a time
pub(super) enum Step {
    /// One that Adam moves.
    Adam(Moving<1>),
    /// One that Muon moves.
    Muon(Matrix),
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
            let zeros = || Tensor::<1>::zeros([shape.iter().product::<usize>()], device).inner();
            match algorithm == Algorithm::Muon && is_matrix_of_a_stack(name, shape) {
                true => Moment::Muon(zeros()),
                false => Moment::Adam([zeros(), zeros()]),
            }
        };
        let moments = shapes.iter().map(moment).collect();
        Self { names: shapes.into_iter().map(|(name, _)| name).collect(), moments }
    }

    /// Changes each trained parameter of `module` and its moments by `step`, in the order in which the module visits them.
    pub fn map<M: Module>(
        &mut self,
        module: M,
        gradients: FlatGradients,
        step: impl FnMut(Step, Tensor<1>) -> Step,
    ) -> M {
        let mut mapper = StepMapper {
            gradients: gradients.into_inner().into_iter(),
            before: std::mem::take(&mut self.moments).into_iter(),
            after: Vec::with_capacity(self.names.len()),
            step,
        };
        let module = module.map(&mut mapper);
        self.moments = mapper.after;
        module
    }

    /// The moments by name, flat.
    pub fn named(&self) -> BTreeMap<String, TensorData> {
        let named = |(name, moment): (&String, &Moment)| match moment.clone() {
            Moment::Adam([first, second]) => vec![
                (format!("first.{name}"), data_now(first)),
                (format!("second.{name}"), data_now(second)),
            ],
            Moment::Muon(momentum) => vec![(format!("momentum.{name}"), data_now(momentum))],
        };
        self.names.iter().zip(&self.moments).flat_map(named).collect()
    }

    /// The moments of these names in the place of the present ones; `None` if a name or a size differs.
    pub fn restore(
        mut self,
        mut all: BTreeMap<String, TensorData>,
        device: &Device,
    ) -> Option<Self> {
        let mut take = |kind: &str, name: &str, old: &Tensor<1>| {
            let data = all.remove(&format!("{kind}.{name}"))?;
            let fits = data.shape().to_vec() == old.dims();
            fits.then(|| Tensor::<1>::from_data(data, device).inner())
        };
        for (name, moment) in self.names.iter().zip(&mut self.moments) {
            *moment = match &*moment {
                Moment::Adam([first, second]) => {
                    Moment::Adam([take("first", name, first)?, take("second", name, second)?])
                }
                Moment::Muon(momentum) => Moment::Muon(take("momentum", name, momentum)?),
            };
        }
        all.is_empty().then_some(self)
    }
}

/// Whether a parameter is a matrix of the encoder or the decoder. Embeddings, positions and the output layer, whose rows
/// belong to single tokens, are none.
fn is_matrix_of_a_stack(name: &str, shape: &[usize]) -> bool {
    shape.len() == 2 && (name.starts_with("encoder.") || name.starts_with("decoder."))
}

/// Makes a step of each trained parameter in turn, and moves its moments from one list to the other.
struct StepMapper<F> {
    gradients: std::vec::IntoIter<Tensor<1>>,
    before: std::vec::IntoIter<Moment>,
    after: Vec<Moment>,
    step: F,
}

impl<F: FnMut(Step, Tensor<1>) -> Step> ModuleMapper for StepMapper<F> {
    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        if !param.val().is_require_grad() {
            return param;
        }
        let expected = "a gradient and moments for each trained parameter";
        let gradient = self.gradients.next().expect(expected);
        let moment = self.before.next().expect(expected);
        param.map(|old| {
            let shape = old.dims();
            let parameter = old.inner().reshape([-1]);
            let (parameter, moment) =
                match (self.step)(with_moments(parameter, &shape, moment), gradient) {
                    Step::Adam(Moving { parameter, first, second }) => {
                        (parameter, Moment::Adam([first, second]))
                    }
                    Step::Muon(Matrix { parameter, momentum, .. }) => {
                        (parameter, Moment::Muon(momentum))
                    }
                };
            self.after.push(moment);
            Tensor::from_inner(parameter.reshape(shape)).require_grad()
        })
    }
}

fn with_moments(parameter: Tensor<1>, shape: &[usize], moment: Moment) -> Step {
    match moment {
        Moment::Adam([first, second]) => Step::Adam(Moving { parameter, first, second }),
        Moment::Muon(momentum) => {
            Step::Muon(Matrix { parameter, momentum, shape: [shape[0], shape[1]] })
        }
    }
}
