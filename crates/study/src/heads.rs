//! BLEU with each attention head switched off, one at a time (Michel et al., 2019, *Are Sixteen
//! Heads Really Better than One?*).
//!
//! Multi-head attention adds up what its heads say: the output projection W^O (paper §3.2.2) has
//! `d_v` rows for each head. In a copy of the model in which these rows are zero, the head says
//! nothing, and all else is as it was. (Weights lie in memory as `[out, in]`, so that the rows of
//! W^O are columns there.)

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use burn::tensor::{Device, TensorData};
use burnformer_core::model_dir::{self, ModelDirError};
use burnformer_core::{ComputeType, ModelConfig, TransformerConfig, with_parameters};
use burnformer_infer::{NeuralModel, TranslateOptions, Translator, load_settings, load_tokenizers};
use burnformer_metrics::{
    Bleu, Bootstrap, Metric as _, References, Statistics, as_strs, confidence, resampled,
};
use derive_more::Display;
use serde::Serialize;

use crate::error::StudyError;

/// The three uses of attention (paper §3.2.3).
#[derive(Clone, Copy, Debug, Display, PartialEq, Eq, Serialize)]
#[display(rename_all = "lowercase")]
#[serde(rename_all = "kebab-case")]
pub enum AttentionUse {
    /// Self-attention of the encoder.
    Encoder,
    /// Self-attention of the decoder.
    Decoder,
    /// Attention of the decoder to the source.
    Cross,
}

/// An attention head.
#[derive(Clone, Copy, Debug, Display, PartialEq, Eq, Serialize)]
#[display("{part}, layer {layer}, head {head}")]
pub struct Head {
    /// The use of its attention.
    pub part: AttentionUse,
    /// The index of the layer, from 1.
    pub layer: usize,
    /// The index in the layer, from 1.
    pub head: usize,
}

impl Head {
    /// The name of the output projection of its layer.
    fn projection(&self) -> String {
        let (stack, attention) = match self.part {
            AttentionUse::Encoder => ("encoder", "self_attention"),
            AttentionUse::Decoder => ("decoder", "self_attention"),
            AttentionUse::Cross => ("decoder", "cross_attention"),
        };
        format!("{stack}.layers.{}.{attention}.output.weight", self.layer - 1)
    }
}

/// A model whose single heads can be switched off.
pub struct HeadStudy {
    dir: PathBuf,
    device: Device,
    compute: ComputeType,
    config: ModelConfig,
    parameters: BTreeMap<String, TensorData>,
    heads: Vec<(Head, usize)>,
}

impl HeadStudy {
    /// Reads the model directory `dir`, to compute on `device`, in the type `compute` or otherwise
    /// in that of the directory.
    ///
    /// # Errors
    /// [`StudyError::ModelDir`]; [`StudyError::NoHeads`] if the model is not a Transformer.
    pub fn open(
        dir: &Path,
        device: &Device,
        compute: Option<ComputeType>,
    ) -> Result<Self, StudyError> {
        model_dir::verify_before_load(dir)?;
        let (config, parameters) = model_dir::load_parameters(dir)?;
        let compute = compute.map_or_else(|| model_dir::load_compute_type(dir), Ok)?;
        let heads = heads(&config, &parameters);
        if heads.is_empty() {
            let architecture = config.architecture();
            return Err(StudyError::NoHeads { path: dir.to_path_buf(), architecture });
        }
        let (dir, device) = (dir.to_path_buf(), device.clone());
        Ok(Self { dir, device, compute, config, parameters, heads })
    }

    /// The heads of the model: those of the encoder, those of the decoder's self-attention, and
    /// those of the cross-attention, layer by layer.
    pub fn heads(&self) -> impl ExactSizeIterator<Item = Head> + '_ {
        self.heads.iter().map(|&(head, _)| head)
    }

    /// The model without the head `off`, or the whole one.
    ///
    /// # Errors
    /// The errors of the model directory.
    pub fn translator(&self, off: Option<Head>) -> Result<Translator, StudyError> {
        let mut parameters = self.parameters.clone();
        let known = |off: Head| self.heads.iter().find(|(head, _)| *head == off);
        if let Some((head, count)) = off.and_then(known)
            && let Some(weight) = parameters.get_mut(&head.projection())
        {
            *weight = without_head(weight, head.head - 1, *count);
        }
        let wrong = |source| ModelDirError::Parameters { path: self.dir.clone(), source };
        let model = self.config.build(0, &self.device)?;
        let model = with_parameters(model, parameters).map_err(wrong)?;
        let model =
            NeuralModel::with_compute(self.config.clone(), model, &self.device, self.compute);
        let tokenizers = load_tokenizers(&self.dir)?;
        Ok(Translator::new(Box::new(model), tokenizers, load_settings(&self.dir)?)?)
    }

    /// Measures the model without the head `off` on a text of `sources` and `references`, or the
    /// whole model.
    ///
    /// # Errors
    /// The errors of the model directory, of decoding and of scoring.
    pub fn measure(
        &self,
        off: Option<Head>,
        options: &TranslateOptions,
        sources: &[String],
        references: &[String],
    ) -> Result<HeadMeasure, StudyError> {
        let texts = self.translator(off)?.translate(sources, options)?;
        let texts: Vec<String> = texts.into_iter().map(|translation| translation.text).collect();
        let streams = [as_strs(references)];
        Ok(HeadMeasure(Bleu::default().statistics(&as_strs(&texts), &References::new(&streams))?))
    }
}

/// The statistics of BLEU of a model's translations.
pub struct HeadMeasure(Statistics);

impl HeadMeasure {
    /// BLEU.
    pub fn bleu(&self) -> f64 {
        Bleu::default().value(&self.0.sum())
    }

    /// The result of switching `head` off, if `whole` is the measure of the whole model on the same
    /// lines. The interval is that of the difference in a paired bootstrap (Koehn, 2004).
    ///
    /// # Errors
    /// [`StudyError::Metric`] if there are no lines.
    pub fn against(&self, whole: &Self, head: Head) -> Result<HeadResult, StudyError> {
        let metric = Bleu::default();
        let scores =
            |of: &Self| resampled(&of.0, Bootstrap::default(), |sums: &[f64]| metric.value(sums));
        let differences = scores(self)?.into_iter().zip(scores(whole)?).map(|(a, b)| a - b);
        let interval = confidence(differences.collect()).interval;
        Ok(HeadResult { head, bleu: self.bleu(), change: self.bleu() - whole.bleu(), interval })
    }
}

/// BLEU without one head.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HeadResult {
    /// The head that is off.
    #[serde(flatten)]
    pub head: Head,
    /// BLEU without it.
    pub bleu: f64,
    /// Minus the BLEU of the whole model.
    pub change: f64,
    /// Half the width of the 95 % interval of that change.
    pub interval: f64,
}

impl HeadResult {
    /// Returns whether the interval of the change excludes 0.
    pub fn matters(&self) -> bool {
        self.change.abs() > self.interval
    }
}

/// The `results` as a Markdown table, after the BLEU of the `whole` model.
pub fn heads_table(whole: f64, results: &[HeadResult]) -> String {
    let mut table =
        format!("| head that is off | BLEU | change |\n|---|---|---|\n| none | {whole:.2} | |\n");
    for result in results {
        let HeadResult { head, bleu, change, interval } = result;
        let mark = if result.matters() { "" } else { " (may be chance)" };
        writeln!(table, "| {head} | {bleu:.2} | {change:+.2} ± {interval:.2}{mark} |")
            .expect("writing to a string succeeds");
    }
    table
}

/// Every head of a Transformer, with the number of heads in its layer.
fn heads(config: &ModelConfig, parameters: &BTreeMap<String, TensorData>) -> Vec<(Head, usize)> {
    let Some(config) = config.downcast_ref::<TransformerConfig>() else { return Vec::new() };
    let of_decoder = (config.decoder_layers, config.of_decoder().heads);
    let parts = [
        (AttentionUse::Encoder, (config.encoder_layers, config.heads)),
        (AttentionUse::Decoder, of_decoder),
        (AttentionUse::Cross, of_decoder),
    ];
    let of_part = |(part, (layers, count))| {
        let heads = (1..=layers).flat_map(move |layer| (1..=count).map(move |head| (layer, head)));
        heads.map(move |(layer, head)| (Head { part, layer, head }, count))
    };
    // A layer with a recurrent unit has no heads.
    let is_there = |(head, _): &(Head, usize)| parameters.contains_key(&head.projection());
    parts.into_iter().flat_map(of_part).filter(is_there).collect()
}

/// The output projection `weight` (`[d_model, heads·d_v]`) of `count` heads, with zeros for the
/// head `index` (from 0).
fn without_head(weight: &TensorData, index: usize, count: usize) -> TensorData {
    let shape = weight.shape().to_vec();
    let inputs = shape[1];
    let width = inputs / count;
    let mut values: Vec<f32> = weight.iter::<f32>().collect();
    for row in values.chunks_exact_mut(inputs) {
        row[index * width..(index + 1) * width].fill(0.0);
    }
    TensorData::new(values, shape)
}

#[cfg(test)]
mod tests {
    use burnformer_core::{Mode, MultiHeadAttentionConfig};

    use super::*;

    /// The heads of a layer are added up, so the outputs without one head, and with this head
    /// alone, add up to the whole one.
    #[test]
    fn a_head_that_is_off_says_nothing_and_the_others_say_what_they_said() {
        use burn::module::Param;
        use burn::tensor::Tensor;
        let device = Device::default();
        let whole = MultiHeadAttentionConfig::new(12, 3).init(&device);
        let x = Tensor::<3>::random([2, 5, 12], burn::tensor::Distribution::Default, &device);
        let output = |off: &[usize]| {
            let mut layer = whole.clone();
            let weight = whole.output.weight.val().into_data();
            let weight = off.iter().fold(weight, |w, &index| without_head(&w, index, 3));
            layer.output.weight = Param::from_data(weight, &device);
            layer.forward(x.clone(), x.clone(), None, Mode::Inference)
        };
        let parts = output(&[1]) + output(&[0, 2]);
        let difference = (parts - output(&[])).abs().max().into_scalar::<f32>();
        assert!(difference < 1e-5, "{difference}");
        let nothing = output(&[0, 1, 2]).abs().max().into_scalar::<f32>();
        assert!(nothing < 1e-6, "the bias is 0: {nothing}");
        assert!(output(&[1]).sub(output(&[])).abs().max().into_scalar::<f32>() > 1e-3);
    }

    #[test]
    fn every_head_of_the_three_uses_is_listed_once() {
        let config = TransformerConfig::tiny(20);
        let model = config.init(1, &Device::default()).unwrap();
        let parameters = burnformer_core::named_parameters(&model);
        let all = heads(&config.clone().into(), &parameters);
        let expected = config.heads * (config.encoder_layers + 2 * config.decoder_layers);
        assert_eq!(all.len(), expected);
        assert_eq!(all[0].0.to_string(), "encoder, layer 1, head 1");
        assert_eq!(all[expected - 1].0.part, AttentionUse::Cross);
        assert_eq!(all[expected - 1].0.head, config.heads);
    }

    #[test]
    fn the_table_says_which_changes_may_be_chance() {
        let head = Head { part: AttentionUse::Cross, layer: 2, head: 3 };
        let result = |change| HeadResult { head, bleu: 30.0 + change, change, interval: 0.5 };
        let table = heads_table(30.0, &[result(-4.0), result(0.25)]);
        assert!(table.contains("| none | 30.00 | |\n"), "{table}");
        assert!(table.contains("| cross, layer 2, head 3 | 26.00 | -4.00 ± 0.50 |\n"), "{table}");
        assert!(table.contains("| 30.25 | +0.25 ± 0.50 (may be chance) |\n"), "{table}");
    }
}
