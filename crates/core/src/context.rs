use std::cell::RefCell;

use burn::tensor::Tensor;
use burnformer_kernels::RandomKey;

/// The context of a forward pass: its mode, and the recorder of attention weights, if there is one.
/// A [`Mode`] can be passed instead.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use burnformer_core::{Context, MhaInput, Mode, MultiHeadAttentionConfig, Recorder};
///
/// let device = Device::default();
/// let attention = MultiHeadAttentionConfig::new(32, 4).init(&device);
/// let x = Tensor::<3>::ones([2, 5, 32], &device);
/// let recorder = Recorder::default();
/// let context = Context::from(Mode::Inference).recorded_by(&recorder);
/// attention.forward(MhaInput::self_attention(x), context);
/// assert_eq!(recorder.weights(AttentionKind::SelfAttention)[0].dims(), [2, 4, 5, 5]);
/// # use burnformer_core::AttentionKind;
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Context<'a> {
    /// The mode of the pass: training, with the key of its random numbers, or inference.
    pub mode: Mode,
    /// The attention that a layer computes.
    pub kind: AttentionKind,
    pub(crate) recorder: Option<&'a Recorder>,
}

/// The two uses of attention in a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttentionKind {
    /// Attention among the positions of one sequence.
    SelfAttention,
    /// Attention of the decoder to the source.
    Cross,
}

/// A recorder of attention weights, with their queries, keys and values, and of both terms of each
/// residual connection. Recorded weights are computed in plain tensors, because the fused
/// operations return none.
#[derive(Debug, Default)]
pub struct Recorder {
    weights: RefCell<Vec<(AttentionKind, [Tensor<4>; 4])>>,
    residuals: RefCell<Vec<[Tensor<2>; 2]>>,
}

impl Recorder {
    /// Returns the weights of one kind, in the order of the layers,
    /// `[batch, heads, query_len, key_len]` each.
    pub fn weights(&self, kind: AttentionKind) -> Vec<Tensor<4>> {
        self.recorded(kind, |[weights, ..]| weights)
    }

    /// Returns the queries and keys of one kind that give these weights, and the values that are
    /// weighted, in the order of the layers: `[batch, heads, query_len, d_k]`, `[batch, heads,
    /// key_len, d_k]` and `[batch, heads, key_len, d_v]` each.
    pub fn projections(&self, kind: AttentionKind) -> Vec<[Tensor<4>; 3]> {
        self.recorded(kind, |[_, queries, keys, values]| [queries, keys, values])
    }

    fn recorded<T>(&self, kind: AttentionKind, part: fn([Tensor<4>; 4]) -> T) -> Vec<T> {
        let all = self.weights.borrow();
        let tensors_of_kind = all.iter().filter(|(recorded, _)| *recorded == kind);
        tensors_of_kind
            .map(|(_, tensors)| part(tensors.clone()))
            .collect()
    }

    /// Returns the terms of each residual connection, in the order of the sub-layers: its input and
    /// the output of the sub-layer, `[positions, d_model]` each.
    pub fn residuals(&self) -> Vec<[Tensor<2>; 2]> {
        self.residuals.borrow().clone()
    }
}

impl From<Mode> for Context<'_> {
    fn from(mode: Mode) -> Self {
        Self {
            mode,
            kind: AttentionKind::SelfAttention,
            recorder: None,
        }
    }
}

impl<'a> Context<'a> {
    /// This context, with attention weights recorded by `recorder`.
    pub fn recorded_by(self, recorder: &'a Recorder) -> Self {
        Self {
            recorder: Some(recorder),
            ..self
        }
    }

    /// Returns the context for part number `index` of a module; see [`Mode::fold`].
    pub fn fold(self, index: u64) -> Self {
        Self {
            mode: self.mode.fold(index),
            ..self
        }
    }

    /// Records weights, queries, keys and values, if there is a recorder.
    pub(crate) fn record(&self, tensors: [Tensor<4>; 4]) {
        if let Some(recorder) = self.recorder {
            recorder.weights.borrow_mut().push((self.kind, tensors));
        }
    }

    /// Records both terms of a residual connection, if there is a recorder.
    pub(crate) fn record_residual<const D: usize>(&self, x: &Tensor<D>, y: &Tensor<D>) {
        if let Some(recorder) = self.recorder {
            let terms = [x, y].map(|x| x.clone().reshape([-1, x.dims()[D - 1] as i32]));
            recorder.residuals.borrow_mut().push(terms);
        }
    }
}

/// The mode of a forward pass: training, with the key of its random numbers, or inference.
///
/// Dropout acts only under [`Mode::Training`]. Each part of the model derives its own key with
/// [`fold`](Self::fold), so every dropout mask is a function of the seed, the update and the
/// position in the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// No dropout.
    Inference,
    /// Dropout masks are a function of this key.
    Training(RandomKey),
}

impl Mode {
    /// Returns the mode of update number `update` in a run with the given `seed`.
    pub fn training(seed: u64, update: u64) -> Self {
        Self::Training(RandomKey::new(seed).fold(update))
    }

    /// Returns the mode for part number `index` of a module; parts with different numbers get
    /// unrelated random numbers.
    pub fn fold(self, index: u64) -> Self {
        match self {
            Self::Inference => Self::Inference,
            Self::Training(key) => Self::Training(key.fold(index)),
        }
    }
}
