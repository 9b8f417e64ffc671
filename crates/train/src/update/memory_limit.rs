//! The memory of a run, and the available memory.

use burnformer_core::{ModelConfig, Precision};
use burnformer_data::{BatchSampler, EpochPlan, PlannedRows, SamplerSettings};
use burnformer_kernels::MAX_LOGITS;
use sysinfo::{Pid, ProcessRefreshKind, ProcessesToUpdate, System};

use crate::config::TrainingSettings;

/// The number of rows and of source and target columns of a batch.
type Shape = [usize; 3];

/// Estimates the memory, in bytes, of an update over batches of `rows` sentences of `source` and
/// `target` tokens: weights, gradients, two moments, and the activations of one batch for the
/// backward pass.
///
/// Activations are the float32 values of [`Cost`](burnformer_core::cost::Cost) at each position,
/// the logits and their gradient. (Measured: 0.77 GB, estimated 0.85, `small` on Multi30k.) A
/// `precision` of 16 bits adds rounded weights. (Measured at d 256, 2,048 tokens per side: 0.42 GB,
/// estimated 0.43, for sentences of 32 tokens; 1.17 GB, estimated 1.31, for 1,024. At the size of
/// OPUS-MT's models: 2.5 to 2.8 GB, estimated 2.6, for 1,960 tokens per side; 3.4, estimated 3.9,
/// for 4,096.)
pub fn update_bytes(
    config: &ModelConfig,
    [rows, source, target]: Shape,
    accumulate: usize,
    precision: Precision,
) -> u64 {
    let cost = config.cost(source, target, precision);
    let [of_source, of_target] = cost.map(|cost| cost.activations as u64);
    let [source, target] = [source, target].map(|columns| (rows * columns) as u64);
    let logits = logit_values(target * config.tokens().target_vocab as u64);
    let batch = 4 * (source * of_source + target * of_target + logits);
    parameter_bytes(config, accumulate, precision) + batch
}

/// The float32 values that the loss of `logits` needs: the logits and their gradient, or a part of
/// the logits with the gradients of the output matrix.
fn logit_values(logits: u64) -> u64 {
    let part = MAX_LOGITS as u64;
    if logits > part { 4 * part } else { 2 * logits }
}

/// Weights, gradients and two moments, in bytes. Accumulation adds the sum of gradients, and a
/// precision of 16 bits a copy of the weights.
fn parameter_bytes(config: &ModelConfig, accumulate: usize, precision: Precision) -> u64 {
    let sum = if accumulate > 1 { 4 } else { 0 };
    let rounded = if precision == Precision::Float32 {
        0
    } else {
        2
    };
    (16 + sum + rounded) * config.parameter_count() as u64
}

/// The batch of `plan` with the largest memory, and its shape; `None` for an empty plan.
pub(crate) fn worst_batch<'a>(
    config: &ModelConfig,
    plan: &'a EpochPlan,
    precision: Precision,
) -> Option<(&'a [u32], Shape)> {
    let shapes = plan.batches().iter().map(
        |PlannedRows {
             pairs,
             columns: [source, target],
         }| { (pairs.as_slice(), [pairs.len(), *source, *target]) },
    );
    shapes.max_by_key(|(_, shape)| update_bytes(config, *shape, 1, precision))
}

/// The shape with the largest memory within the limits of `sampler` and of at most `columns` source
/// and target columns.
pub(crate) fn worst_shape(
    config: &ModelConfig,
    sampler: &BatchSampler,
    columns: [usize; 2],
    precision: Precision,
) -> Shape {
    let SamplerSettings {
        budget, multiple, ..
    } = *sampler.settings();
    let longest = columns[0].max(columns[1]);
    // The worst batch has as many sentences of the full length as the budget holds, or one more
    // sentence with all a little shorter. More and shorter sentences need less.
    let rows = [budget / longest, budget.div_ceil(longest)];
    let shapes = rows.map(|rows| {
        let rows = rows.max(1);
        let [source, target] =
            columns.map(|most| most.min(budget / rows / multiple * multiple).max(1));
        [rows, source, target]
    });
    shapes
        .into_iter()
        .max_by_key(|shape| update_bytes(config, *shape, 1, precision))
        .expect("two shapes")
}

/// The memory of this process, its limit, and the worst batch.
pub(crate) struct MemoryLimit {
    system: System,
    process: Option<Pid>,
    /// `training.max_memory`, in bytes.
    limit: Option<u64>,
    model: ModelConfig,
    training: TrainingSettings,
    worst: Shape,
}

/// The memory of the process, used or estimated, is above the limit.
#[derive(Debug, thiserror::Error)]
#[error("{what} {:.2} GB, above {limit_name} {:.2} GB; {advice}", *bytes as f64 / 1e9, *limit as f64 / 1e9)]
pub struct MemoryError {
    /// The use of the memory.
    pub what: &'static str,
    /// The memory, in bytes.
    pub bytes: u64,
    /// The name of the limit.
    pub limit_name: &'static str,
    /// The limit, in bytes.
    pub limit: u64,
    /// The setting to lower.
    pub advice: String,
}

/// The name of the limit in messages.
const LIMIT: &str = "training.max_memory (--max-memory)";

impl MemoryLimit {
    pub(crate) fn new(training: &TrainingSettings, model: &ModelConfig, worst: Shape) -> Self {
        let limit = (training.max_memory * 1e9) as u64;
        let limit = (limit > 0).then_some(limit);
        let system = System::new();
        let process = sysinfo::get_current_pid().ok();
        let model = model.clone();
        let training = training.clone();
        Self {
            system,
            process,
            limit,
            model,
            training,
            worst,
        }
    }

    /// Checks the estimate of the worst batch before any of it is allocated.
    ///
    /// # Errors
    /// Returns a [`MemoryError`] if it is above the limit, or without one above the free memory.
    pub(crate) fn check_estimate(&mut self) -> Result<(), MemoryError> {
        let (limit_name, limit) = match self.limit {
            Some(limit) => (LIMIT, limit),
            None => ("what this machine has free,", self.available()),
        };
        let bytes = self.estimate();
        if bytes <= limit {
            return Ok(());
        }
        let what = "an update of the worst batch needs about";
        let advice = self.advice(limit);
        Err(MemoryError {
            what,
            bytes,
            limit_name,
            limit,
            advice,
        })
    }

    /// Checks the memory of the process against `training.max_memory`.
    ///
    /// # Errors
    /// Returns a [`MemoryError`] if it is above the limit.
    pub(crate) fn check_process(&mut self) -> Result<(), MemoryError> {
        let Some(limit) = self.limit else {
            return Ok(());
        };
        let Some(bytes) = self.resident().filter(|&bytes| bytes > limit) else {
            return Ok(());
        };
        // The limit also covers memory outside of the estimate (the text, buffers of the device).
        let beside = bytes.saturating_sub(self.estimate());
        let what = "the process holds";
        let advice = self.advice(limit.saturating_sub(beside));
        Err(MemoryError {
            what,
            bytes,
            limit_name: LIMIT,
            limit,
            advice,
        })
    }

    /// The memory of the process in bytes, if the system reports it.
    pub(crate) fn resident(&mut self) -> Option<u64> {
        let process = self.process?;
        let kind = ProcessRefreshKind::nothing().with_memory();
        self.system
            .refresh_processes_specifics(ProcessesToUpdate::Some(&[process]), false, kind);
        self.system.process(process).map(|process| process.memory())
    }

    /// The free memory of the machine or the container, in bytes; unlimited if the system does not
    /// report it.
    fn available(&mut self) -> u64 {
        self.system.refresh_memory();
        let machine = match self.system.available_memory() {
            0 => u64::MAX,
            bytes => bytes,
        };
        // A container can free its file cache, but not the memory of its processes.
        let container = self.system.cgroup_limits();
        let container = container.map(|limits| limits.total_memory.saturating_sub(limits.rss));
        machine.min(container.unwrap_or(u64::MAX))
    }

    /// The estimated bytes of an update of the worst batch.
    fn estimate(&self) -> u64 {
        let TrainingSettings {
            accumulate,
            precision,
            ..
        } = self.training;
        update_bytes(&self.model, self.worst, accumulate, precision.number_type())
    }

    /// The setting to lower for an update within `limit` bytes, and its new value.
    fn advice(&self, limit: u64) -> String {
        let TrainingSettings {
            budget: now,
            accumulate,
            ..
        } = self.training;
        let model = &self.model;
        let parameters = parameter_bytes(model, accumulate, self.training.precision.number_type());
        if parameters >= limit {
            return format!(
                "the {:.1}M parameters with their gradients and moments alone need {:.2} GB: lower model.d_model, \
                 model.d_ff, the number of layers or tokenizer.train.vocab_size",
                model.parameter_count() as f64 / 1e6,
                parameters as f64 / 1e9,
            );
        }
        let activations = self.estimate() - parameters;
        let share = ((limit - parameters) as f64 / activations.max(1) as f64).min(1.0);
        // If a single sentence needs as much, only shorter sentences help.
        let budget = (0.9 * share * now as f64) as usize;
        let longest = self.worst[1].max(self.worst[2]);
        if budget >= longest {
            format!(
                "lower training.budget, now {now}: about {budget} fits, and training.accumulate={} keeps the size of an update",
                accumulate * now.div_ceil(budget.max(1)),
            )
        } else {
            format!(
                "the longest sentences have {longest} tokens: lower data.max_source_len and data.max_target_len, then \
                 training.budget, now {now}"
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use burnformer_core::TransformerConfig;

    use super::*;
    use crate::config::TrainConfig;

    fn tiny(vocab: usize) -> ModelConfig {
        TransformerConfig::tiny(vocab).into()
    }

    fn bytes(rows: usize, vocab: usize, accumulate: usize) -> u64 {
        update_bytes(
            &tiny(vocab),
            [rows, 100, 100],
            accumulate,
            Precision::Float32,
        )
    }

    #[test]
    fn memory_grows_with_the_batch_the_vocabulary_and_accumulation() {
        assert!(bytes(80, 6000, 1) > bytes(40, 6000, 1));
        assert!(bytes(40, 12_000, 1) > bytes(40, 6000, 1));
        assert!(bytes(40, 6000, 2) > bytes(40, 6000, 1));
    }

    fn config(settings: &[&str]) -> TrainConfig {
        let settings: Vec<String> = settings.iter().map(|s| s.to_string()).collect();
        TrainConfig::resolve(Some("tiny"), None, &settings).unwrap()
    }

    #[test]
    fn the_advice_names_a_budget_that_fits() {
        let model = tiny(6000);
        let config = config(&["training.budget=4000", "training.max_memory=0.2"]);
        let error = MemoryLimit::new(&config.training, &model, [40, 100, 100]).check_estimate();
        let MemoryError {
            bytes,
            limit,
            advice,
            ..
        } = error.unwrap_err();
        assert!(bytes > limit && limit == 200_000_000);
        let budget = advice
            .split("about ")
            .nth(1)
            .unwrap()
            .split(' ')
            .next()
            .unwrap();
        let budget: usize = budget.parse().unwrap();
        let bytes = update_bytes(&model, [budget / 100, 100, 100], 1, Precision::Float32);
        assert!(bytes <= limit, "{advice}");
        assert!(advice.contains("training.budget, now 4000"), "{advice}");
    }

    #[test]
    fn a_model_too_large_for_any_batch_is_reported() {
        let model = TransformerConfig::base(37_000).into();
        let config = config(&["training.max_memory=0.5"]);
        let error = MemoryLimit::new(&config.training, &model, [40, 100, 100]).check_estimate();
        assert!(
            error
                .unwrap_err()
                .to_string()
                .contains("lower model.d_model")
        );
    }

    #[test]
    fn the_memory_of_the_process_is_measured() {
        let low = config(&["training.max_memory=0.001"]);
        let error = MemoryLimit::new(&low.training, &tiny(60), [1, 9, 9]).check_process();
        assert!(error.is_err());
        let free = config(&[]);
        let fine = MemoryLimit::new(&free.training, &tiny(60), [1, 9, 9]).check_process();
        assert!(fine.is_ok());
    }
}
