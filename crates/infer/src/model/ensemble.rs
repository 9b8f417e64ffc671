use burnformer_kernels::softmax;

use super::{Decoding, SpecialIds, StepModel};
use crate::attention::HeadWeights;

/// Several models that decode as one: the distribution of the next token is their average.
///
/// Probabilities are averaged, not log-probabilities, as in fairseq and OpenNMT: a token that one
/// member rules out can still win. The members share their vocabularies and may have different
/// architectures.
pub struct Ensemble {
    members: Vec<Box<dyn StepModel>>,
}

/// The reasons why models do not fit into an ensemble.
#[derive(thiserror::Error)]
pub enum EnsembleError {
    /// An ensemble has no models.
    #[error("an ensemble needs at least one model; name one")]
    Empty,
    /// The members of an ensemble do not share their vocabularies.
    #[error(
        "model {member} of the ensemble has another {what} than model 1; ensemble models of one vocabulary"
    )]
    Differs {
        /// The number of the member, from 1.
        member: usize,
        /// The difference.
        what: &'static str,
    },
}

burnformer_text::debug_as_message!(EnsembleError);

impl Ensemble {
    /// An ensemble of `members`.
    ///
    /// # Errors
    /// Returns [`EnsembleError::Empty`] if there are no members, and [`EnsembleError::Differs`] if
    /// their vocabulary sizes or special ids differ.
    pub fn new(members: Vec<Box<dyn StepModel>>) -> Result<Self, EnsembleError> {
        let first = members.first().ok_or(EnsembleError::Empty)?;
        for (index, member) in members.iter().enumerate() {
            let what = if member.source_vocab() != first.source_vocab() {
                "source vocabulary"
            } else if member.target_vocab() != first.target_vocab() {
                "target vocabulary"
            } else if member.special() != first.special() {
                "set of special ids"
            } else {
                continue;
            };
            return Err(EnsembleError::Differs {
                member: index + 1,
                what,
            });
        }
        Ok(Self { members })
    }
}

impl StepModel for Ensemble {
    fn source_vocab(&self) -> usize {
        self.members[0].source_vocab()
    }

    fn target_vocab(&self) -> usize {
        self.members[0].target_vocab()
    }

    fn special(&self) -> SpecialIds {
        self.members[0].special()
    }

    fn max_positions(&self) -> Option<usize> {
        self.members
            .iter()
            .filter_map(|member| member.max_positions())
            .min()
    }

    fn parallelism(&self) -> Option<usize> {
        self.members
            .iter()
            .map(|member| member.parallelism())
            .min()
            .flatten()
    }

    fn start(&self, sources: &[&[u32]]) -> Box<dyn Decoding + '_> {
        let members = self
            .members
            .iter()
            .map(|member| member.start(sources))
            .collect();
        Box::new(EnsembleDecoding {
            members,
            widths: vec![self.target_vocab(); sources.len()],
        })
    }

    /// Each member's distribution is normalised over the list.
    fn start_listed(&self, sources: &[&[u32]], lists: &[&[u32]]) -> Box<dyn Decoding + '_> {
        let members = self
            .members
            .iter()
            .map(|member| member.start_listed(sources, lists));
        let widths = lists.iter().map(|list| list.len()).collect();
        Box::new(EnsembleDecoding {
            members: members.collect(),
            widths,
        })
    }

    fn target_log_probs(&self, sources: &[&[u32]], targets: &[&[u32]]) -> Vec<Vec<f32>> {
        let members = self
            .members
            .iter()
            .map(|member| member.target_log_probs(sources, targets));
        let members: Vec<Vec<Vec<f32>>> = members.collect();
        let mut all = Vec::new();
        for (row, target) in targets.iter().enumerate() {
            let means = (0..target.len()).map(|index| {
                log_mean_exp(members.iter().map(|scored| f64::from(scored[row][index])))
            });
            all.push(means.collect());
        }
        all
    }

    fn cross_attention(&self, source: &[u32], target: &[u32]) -> Option<HeadWeights> {
        let members = self.members.iter();
        let all: Option<Vec<HeadWeights>> = members
            .map(|member| member.cross_attention(source, target))
            .collect();
        all.map(|all| HeadWeights::mean(&all))
    }
}

/// The logarithm of the mean of e^x, without underflow.
fn log_mean_exp(values: impl ExactSizeIterator<Item = f64> + Clone) -> f32 {
    let count = values.len() as f64;
    let top = values.clone().fold(f64::NEG_INFINITY, f64::max);
    (top + (values.map(|x| (x - top).exp()).sum::<f64>() / count).ln()) as f32
}

struct EnsembleDecoding<'a> {
    members: Vec<Box<dyn Decoding + 'a>>,
    /// The number of logits in each row of each sentence.
    widths: Vec<usize>,
}

impl EnsembleDecoding<'_> {
    /// Turns the logits of each of `count` rows into probabilities.
    fn softmax_rows(&self, count: usize, mut logits: &mut [f32]) {
        let rows = count / self.widths.len();
        for &width in self
            .widths
            .iter()
            .flat_map(|width| std::iter::repeat_n(width, rows))
        {
            let (row, others) = logits.split_at_mut(width);
            softmax(row);
            logits = others;
        }
    }
}

impl Decoding for EnsembleDecoding<'_> {
    fn step(&mut self, tokens: &[u32]) -> Vec<f32> {
        let mut each = self.members.iter_mut().map(|member| member.step(tokens));
        let mut mean = each.next().expect("an ensemble has a member");
        let others: Vec<Vec<f32>> = each.collect();
        if others.is_empty() {
            return mean;
        }
        self.softmax_rows(tokens.len(), &mut mean);
        let share = 1.0 / (1 + others.len()) as f32;
        for mut probabilities in others {
            self.softmax_rows(tokens.len(), &mut probabilities);
            mean.iter_mut()
                .zip(probabilities)
                .for_each(|(sum, p)| *sum += p);
        }
        mean.iter_mut().for_each(|p| *p = (*p * share).ln());
        mean
    }

    fn reorder(&mut self, rows: &[usize], sentences: Option<&[usize]>) {
        self.members
            .iter_mut()
            .for_each(|member| member.reorder(rows, sentences));
        if let Some(sentences) = sentences {
            self.widths = sentences
                .iter()
                .map(|&sentence| self.widths[sentence])
                .collect();
        }
    }
}
