use crate::{Precision, RandomKey};
use burn::module::Module;
use burn::tensor::{Bool, Device, Tensor};

use crate::rnn::config::RnnConfig;
use crate::rnn::gru::{Direction, Gru};

/// The bidirectional encoder. The annotation of a position depends on the positions before and
/// after it.
#[derive(Module, Debug)]
pub struct RnnEncoder {
    /// The unit that reads from the first position to the last.
    pub left_to_right: Gru,
    /// The unit that reads from the last position to the first.
    pub right_to_left: Gru,
}

impl RnnEncoder {
    /// An encoder with the sizes of `config`; its initial weights are a function of `key`.
    pub fn new(config: &RnnConfig, key: RandomKey, device: &Device) -> Self {
        let gru = |index| Gru::new(config.d_model, config.d_hidden, key.fold(index), device);
        Self { left_to_right: gru(0), right_to_left: gru(1) }
    }

    /// The states of both directions at each position.
    ///
    /// # Shapes
    /// `x`: `[batch, len, d_model]`, `padding`: `[batch, len]`, `true` hides → two tensors
    /// `[batch, len, d_hidden]`
    pub fn forward(&self, x: Tensor<3>, padding: Tensor<2, Bool>) -> [Tensor<3>; 2] {
        let forward = self.left_to_right.forward(x.clone(), padding.clone(), Direction::Forward);
        [forward, self.right_to_left.forward(x, padding, Direction::Backward)]
    }

    pub(super) fn set_precision(&mut self, precision: Precision) {
        self.left_to_right.precision = precision;
        self.right_to_left.precision = precision;
    }
}
