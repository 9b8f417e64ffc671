//! Updates on the graphics card that the browser gives, by WebGPU. A page cannot wait for a card:
//! what is on it is read asynchronously.

use burn::tensor::Device;
use burnformer_core::{Mode, token_ids};
use wasm_bindgen::prelude::*;

use super::{JUDGED, Lesson};
use crate::{Result, said};

#[wasm_bindgen]
impl Lesson {
    /// A model before its first update on the card, for choices in JSON. An instance of the module
    /// can open the card once.
    ///
    /// # Errors
    /// No card, and the errors of a [new](Self::new) lesson.
    pub async fn on_card(choices: String) -> Result<Lesson, JsError> {
        let device = Device::wgpu_options().init_async().await;
        said(device.map_err(Into::into).and_then(|device| Self::begin(&choices, device.autodiff())))
    }

    /// The logits for the sequences by which the model is judged.
    ///
    /// # Errors
    /// The card is lost.
    pub async fn outputs(&self) -> Result<Vec<f32>, JsError> {
        let batch = self.choices.batch(0, JUDGED as u64);
        let device = self.replicas.first().clone().inner();
        let (rows, vocab) = (batch.batch, self.choices.model.source_vocab);
        let ids = |ids: &[u32], len| token_ids(ids, [rows, len], vocab, &device);
        let source = ids(&batch.source, batch.source_len);
        let target = ids(&batch.target_input, batch.target_len);
        let logits = self.model.valid().forward(source, target, Mode::Inference);
        Ok(logits.into_data_async().await?.iter().collect())
    }
}
