//! The layers of both stacks. Marian's matrices are `[in, out]`, those of a model directory `[out, in]`.

use burnformer_core::{NormPosition, TargetHistory, TransformerConfig};

use super::vector;
use super::yaml::Options;
use crate::error::Result;
use crate::tensors::{Taken, Tensors};

/// Takes weights out of a file and stores them under the names of a model directory.
struct Mover<'a> {
    tensors: &'a mut Taken,
    weights: Tensors,
    d_model: usize,
    norm_suffix: &'static str,
}

impl Mover<'_> {
    fn matrix(&mut self, there: &str, here: &str, [input, output]: [usize; 2]) -> Result<()> {
        let tensor = self.tensors.take(there, &[input, output])?;
        self.weights.insert(format!("{here}.weight"), tensor.transposed());
        Ok(())
    }

    fn vector(&mut self, there: &str, here: &str, len: usize) -> Result<()> {
        let tensor = self.tensors.take_any(there).ok_or_else(|| self.tensors.missing(there))?;
        let tensor = vector(self.tensors, there, tensor, len)?;
        self.weights.insert(here.to_string(), tensor);
        Ok(())
    }

    fn linear(&mut self, [weight, bias]: [String; 2], here: &str, sizes: [usize; 2]) -> Result<()> {
        self.matrix(&weight, here, sizes)?;
        self.vector(&bias, &format!("{here}.bias"), sizes[1])
    }

    fn norm(&mut self, there: &str, here: &str, suffix: &str) -> Result<()> {
        for (kind, own) in [("scale", "weight"), ("bias", "bias")] {
            let there = format!("{there}_ln_{kind}{suffix}");
            self.vector(&there, &format!("{here}.{own}"), self.d_model)?;
        }
        Ok(())
    }

    fn attention(&mut self, there: &str, here: &str) -> Result<()> {
        for (letter, own) in [("q", "query"), ("k", "key"), ("v", "value"), ("o", "output")] {
            let names = [format!("{there}_W{letter}"), format!("{there}_b{letter}")];
            self.linear(names, &format!("{here}.{own}"), [self.d_model; 2])?;
        }
        self.norm(&format!("{there}_Wo"), &format!("{here}_norm"), self.norm_suffix)
    }

    fn ssru(&mut self, there: &str, here: &str) -> Result<()> {
        self.matrix(&format!("{there}_W"), &format!("{here}.ssru.candidate"), [self.d_model; 2])?;
        let names = [format!("{there}_Wf"), format!("{there}_bf")];
        self.linear(names, &format!("{here}.ssru.gate"), [self.d_model; 2])?;
        // Its norm before the unit is named by the unit, that behind it by a network that is not there.
        let norm =
            if self.norm_suffix.is_empty() { format!("{there}_ffn") } else { there.to_string() };
        self.norm(&norm, &format!("{here}.self_attention_norm"), self.norm_suffix)
    }

    fn feed_forward(&mut self, there: &str, here: &str, d_ff: usize) -> Result<()> {
        let names = |n: usize| [format!("{there}_W{n}"), format!("{there}_b{n}")];
        self.linear(names(1), &format!("{here}.inner"), [self.d_model, d_ff])?;
        self.linear(names(2), &format!("{here}.outer"), [d_ff, self.d_model])?;
        self.norm(&format!("{there}_ffn"), &format!("{here}_norm"), self.norm_suffix)
    }
}

/// The weights of all layers of a model of `config`.
pub(super) fn take(
    config: &TransformerConfig,
    options: &Options,
    tensors: &mut Taken,
) -> Result<Tensors> {
    let pre = config.norm == NormPosition::Pre;
    let norm_suffix = if pre { "_pre" } else { "" };
    let mut mover =
        Mover { tensors, weights: Tensors::new(), d_model: config.d_model, norm_suffix };
    for n in 0..config.encoder_layers {
        let (there, here) = (format!("encoder_l{}", n + 1), format!("encoder.layers.{n}"));
        mover.attention(&format!("{there}_self"), &format!("{here}.self_attention"))?;
        mover.feed_forward(
            &format!("{there}_ffn"),
            &format!("{here}.feed_forward"),
            config.d_ff,
        )?;
    }
    for n in 0..config.decoder_layers {
        let (there, here) = (format!("decoder_l{}", n + 1), format!("decoder.layers.{n}"));
        match config.conventions.target_history {
            TargetHistory::SelfAttention => {
                mover.attention(&format!("{there}_self"), &format!("{here}.self_attention"))?;
            }
            TargetHistory::Ssru => mover.ssru(&format!("{there}_rnn"), &here)?,
        }
        mover.attention(&format!("{there}_context"), &format!("{here}.cross_attention"))?;
        mover.feed_forward(
            &format!("{there}_ffn"),
            &format!("{here}.feed_forward"),
            config.d_ff,
        )?;
    }
    if pre {
        for side in ["encoder", "decoder"] {
            mover.norm(&format!("{side}_top"), &format!("{side}.norm"), "")?;
        }
    }
    // A factor for activations in int8, of a matrix that is none.
    if options.get("version").is_some() {
        mover.tensors.take_any("none_QuantMultA");
    }
    Ok(mover.weights)
}
