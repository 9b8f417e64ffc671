//! Training on the graphics card through WebGPU. A page cannot block on the card, so results are
//! read asynchronously.

use burn::tensor::Device;
use burnformer_core::{Mode, token_ids};
use wasm_bindgen::prelude::*;

use super::{EVALUATION_SEQUENCES, Lesson};
use crate::{Result, to_js};

#[wasm_bindgen]
impl Lesson {
    /// Creates an untrained model on the graphics card from choices in JSON. An instance of the
    /// module can open the card only once.
    ///
    /// # Errors
    /// Returns an error if there is no card, and the errors of [`new`](Self::new).
    pub async fn on_card(choices: String) -> Result<Lesson, JsError> {
        let device = Device::wgpu_options()
            .init_async()
            .await
            .map_err(Into::into);
        to_js(device.and_then(|device| Self::begin(&choices, device.autodiff())))
    }

    /// Returns the logits for the sequences of the evaluation.
    ///
    /// # Errors
    /// Returns an error if the card is lost.
    pub async fn outputs(&self) -> Result<Vec<f32>, JsError> {
        let batch = self.choices.batch(0, EVALUATION_SEQUENCES as u64);
        let device = self.replicas.first().clone().inner();
        let rows = batch.batch;
        let vocab = self.choices.model.source_vocab;
        let source = token_ids(&batch.source, [rows, batch.source_len], vocab, &device);
        let target = token_ids(
            &batch.target_input,
            [rows, batch.target_len],
            vocab,
            &device,
        );
        let logits = self.model.valid().forward(source, target, Mode::Inference);
        Ok(logits.into_data_async().await?.iter().collect())
    }
}
