//! The moments of every trained parameter, in the order of the module.

use burn::tensor::{Device, Tensor};
use burnformer_core::{Parameters, StateDict, data_now};
use burnformer_kernels::{Moving, is_fused_on};
use rayon::iter::{IntoParallelIterator, ParallelIterator};

use super::gradients::FlatGradients;
use super::muon::Matrix;
use super::settings::Algorithm;

const EXPECTED: &str = "a gradient and moments for each trained parameter";

/// Adam's moments of a parameter: the running means of its gradient and of the square.
const ADAM: &[&str] = &["first", "second"];
/// Muon's moment: the running sum of the gradients.
const MUON: &[&str] = &["momentum"];

/// The moments of one parameter, flat.
#[derive(Clone, Debug)]
struct Moment {
    kinds: &'static [&'static str],
    tensors: Vec<Tensor<1>>,
}

/// The moments of the trained parameters of a module.
#[derive(Clone, Debug)]
pub(crate) struct Moments {
    names: Vec<String>,
    moments: Vec<Moment>,
}

impl Moments {
    /// Moments of zeros for parameters of these names and shapes.
    pub fn new(shapes: Vec<(String, Vec<usize>)>, algorithm: Algorithm, device: &Device) -> Self {
        let mut names = Vec::new();
        let mut moments = Vec::new();
        for (name, shape) in shapes {
            let zeros = Tensor::<1>::zeros([shape.iter().product::<usize>()], device).inner();
            let by_muon = algorithm == Algorithm::Muon && is_matrix_of_a_stack(&name, &shape);
            let kinds = if by_muon { MUON } else { ADAM };
            moments.push(Moment {
                kinds,
                tensors: vec![zeros; kinds.len()],
            });
            names.push(name);
        }
        Self { names, moments }
    }

    /// Changes each trained parameter of `module` and its moments by `adam` or `muon`, in the order
    /// of the module. On a CPU, steps of Muon run in parallel: each is a chain of products too
    /// small for several cores.
    pub(super) fn map<M: Parameters>(
        &mut self,
        module: M,
        gradients: FlatGradients,
        mut adam: impl FnMut(Moving<1>, Tensor<1>) -> Moving<1>,
        muon: impl Fn(Matrix, Tensor<1>) -> Matrix + Sync,
    ) -> M {
        let mut gradients = gradients.0.into_iter();
        let mut matrices = Vec::new();
        let mut moments = self.moments.iter_mut();
        let module = module.map_parameters(&mut |_, param| {
            if !param.is_trained() {
                return;
            }
            let gradient = gradients.next().expect(EXPECTED);
            let Moment { tensors, .. } = moments.next().expect(EXPECTED);
            match <[Tensor<1>; 2]>::try_from(std::mem::take(tensors)) {
                Ok([first, second]) => param.update(Box::new(|parameter| {
                    let moved = adam(
                        Moving {
                            parameter,
                            first,
                            second,
                        },
                        gradient,
                    );
                    *tensors = vec![moved.first, moved.second];
                    moved.parameter
                })),
                Err(mut tensors) => {
                    let parameter = param.flat();
                    let momentum = tensors.remove(0);
                    let shape = param.shape().try_into().expect("Muon moves matrices");
                    matrices.push((
                        Matrix {
                            parameter,
                            momentum,
                            shape,
                        },
                        gradient,
                    ));
                }
            }
        });
        if matrices.is_empty() {
            return module;
        }
        let on_cpu = is_fused_on(&matrices[0].1.device());
        let moved = if on_cpu {
            let matrices = matrices.into_par_iter();
            matrices
                .map(|(old, gradient)| muon(old, gradient))
                .collect()
        } else {
            let matrices = matrices.into_iter();
            matrices
                .map(|(old, gradient)| muon(old, gradient))
                .collect()
        };
        self.with_matrices(module, moved)
    }

    /// Replaces Muon's matrices in `module` and their moments by `moved`.
    fn with_matrices<M: Parameters>(&mut self, module: M, moved: Vec<Matrix>) -> M {
        let mut moments = self.moments.iter_mut();
        let mut moved = moved.into_iter();
        module.map_parameters(&mut |_, param| {
            if !param.is_trained() {
                return;
            }
            let moment = moments.next().expect(EXPECTED);
            if moment.kinds == MUON {
                let Matrix {
                    parameter,
                    momentum,
                    ..
                } = moved.next().expect(EXPECTED);
                moment.tensors = vec![momentum];
                param.update(Box::new(|_| parameter));
            }
        })
    }

    /// Returns whether all moments are finite.
    pub fn are_finite(&self) -> bool {
        self.moments
            .iter()
            .flat_map(|moment| moment.tensors.clone())
            .all(is_finite)
    }

    /// The number of bytes of all moments.
    pub fn bytes(&self) -> u64 {
        self.moments
            .iter()
            .flat_map(|moment| &moment.tensors)
            .map(|it| 4 * it.dims()[0] as u64)
            .sum()
    }

    /// The moments by name, flat.
    pub fn named(&self) -> StateDict {
        self.names
            .iter()
            .zip(&self.moments)
            .flat_map(|(name, Moment { kinds, tensors })| {
                let all = kinds.iter().zip(tensors.clone());
                all.map(|(kind, moment)| (format!("{kind}.{name}"), data_now(moment)))
                    .collect::<Vec<_>>()
            })
            .collect()
    }

    /// Replaces the moments by those in `all`. Returns `None` if a name or a size differs.
    pub fn restore(mut self, mut all: StateDict, device: &Device) -> Option<Self> {
        for (name, Moment { kinds, tensors }) in self.names.iter().zip(&mut self.moments) {
            for (kind, moment) in kinds.iter().zip(tensors) {
                let data = all.remove(&format!("{kind}.{name}"))?;
                let fits = data.shape().to_vec() == moment.dims();
                *moment = fits.then(|| Tensor::<1>::from_data(data, device).inner())?;
            }
        }
        all.is_empty().then_some(self)
    }
}

/// Returns whether all entries of `x` are finite.
pub(crate) fn is_finite<const D: usize>(x: Tensor<D>) -> bool {
    x.is_finite().all().into_scalar::<bool>()
}

/// Returns whether a parameter is a matrix of the encoder or the decoder. Embeddings, positions and
/// the output layer do not count: their rows belong to single tokens.
fn is_matrix_of_a_stack(name: &str, shape: &[usize]) -> bool {
    shape.len() == 2 && (name.starts_with("encoder.") || name.starts_with("decoder."))
}
