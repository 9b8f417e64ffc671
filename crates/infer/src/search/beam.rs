//! GNMT's beam search (Wu et al., 2016), as the paper uses it (§6.1).
//!
//! Every step takes the best extensions of the live hypotheses, twice the beam size. Extensions
//! with `</s>` go to the finished list, and the best of the others live on. The search stops when
//! no live hypothesis can displace a finished one. A [`Rule`](super::rule::Rule) of another program
//! changes these decisions. The [`Task`] decides everything else: forced and forbidden tokens, and
//! in sampling the single extension of each live hypothesis.

use burnformer_kernels::Top;

use super::constraints::forced_prefix;
use super::rule::{State, Stop};
use super::task::Task;
use crate::error::Result;
use crate::hypothesis::{FinishReason, Hypothesis};

/// Tolerance above the rounding error of summed log-probabilities.
const ROUNDING_TOLERANCE: f64 = 1e-9;

/// The search for one sentence's translation.
pub(super) struct BeamSearch<'a> {
    pub(super) task: Task<'a>,
    /// The number of tokens of the context that the model has read.
    read: usize,
    /// The number of tokens so far.
    step: usize,
    /// If true, the search has stopped.
    pub(super) is_done: bool,
    live: Vec<LiveHypothesis>,
    /// The parent and the token of each live hypothesis, for the model.
    continuations: Vec<(usize, u32)>,
    /// The best finished hypotheses, best first.
    finished: Vec<Hypothesis>,
    /// The number of all finished hypotheses, also of those that were not kept.
    finished_count: usize,
    /// If true, the best extension of a step has finished a hypothesis.
    best_has_finished: bool,
    /// The hypotheses without an allowed next token, best first.
    dead_ends: Vec<Hypothesis>,
    scratch: Scratch,
}

/// Scratch buffers.
#[derive(Default)]
struct Scratch {
    /// The hypotheses of the previous step.
    spare: Vec<LiveHypothesis>,
    extensions: Vec<Extension>,
    /// The live hypotheses without an extension.
    stuck: Vec<usize>,
    best: Vec<Top>,
}

/// A hypothesis that may still grow.
#[derive(Clone, Debug, Default)]
struct LiveHypothesis {
    tokens: Vec<u32>,
    log_probs: Vec<f32>,
    /// The sum of `log_probs`, in float64.
    total: f64,
    /// The number of its initial hypothesis; a beam search has one.
    root: usize,
}

/// A live hypothesis extended by one token.
#[derive(Clone, Copy, Debug)]
struct Extension {
    parent: usize,
    token: u32,
    log_prob: f64,
    total: f64,
}

impl Extension {
    /// The extension of the hypothesis `parent`, with the sum `before` of log-probabilities.
    fn new(parent: usize, token: u32, log_prob: f64, before: f64) -> Self {
        Self {
            parent,
            token,
            log_prob,
            total: before + log_prob,
        }
    }
}

impl<'a> BeamSearch<'a> {
    pub(super) fn new(task: Task<'a>) -> Self {
        let live = (0..task.starts())
            .map(|root| LiveHypothesis {
                root,
                ..LiveHypothesis::default()
            })
            .collect();
        Self {
            task,
            read: 0,
            step: 0,
            is_done: false,
            live,
            continuations: Vec::new(),
            finished: Vec::new(),
            finished_count: 0,
            best_has_finished: false,
            dead_ends: Vec::new(),
            scratch: Scratch::default(),
        }
    }

    /// The number of live hypotheses, which is the number of rows in the model's batch.
    pub(super) fn rows(&self) -> usize {
        self.live.len()
    }

    /// The parent row and the new token of hypothesis `slot`. A sentence with fewer hypotheses than
    /// others in its batch repeats its last one.
    pub(super) fn continuation(&self, slot: usize) -> (usize, u32) {
        self.continuations[slot.min(self.continuations.len() - 1)]
    }

    /// Takes one step, given the model's `logits` after each row, `[rows, choices]`.
    ///
    /// # Errors
    /// Returns [`NotFinite`](crate::SentenceError::NotFinite) if a logit is NaN or +∞, or all
    /// logits of a row are −∞.
    pub(super) fn advance(&mut self, logits: &mut [f32]) -> Result<()> {
        if self.reads_context() {
            return Ok(());
        }
        self.extend(logits)?;
        if self.scratch.extensions.is_empty() {
            // Every token is forbidden: stop here.
            self.is_done = true;
            return Ok(());
        }
        for &parent in &self.scratch.stuck {
            let dead_end = self.hypothesis(self.live[parent].clone(), FinishReason::Limit);
            insert(&mut self.dead_ends, dead_end, self.task.settings.n_best);
        }
        self.step += 1;
        self.split_extensions();
        self.report_settled();
        let settled = self.live.is_empty() || self.step >= self.task.limit || self.is_settled();
        self.is_done = settled || self.task.request.cancel.is_cancelled();
        Ok(())
    }

    /// Gives the model the next token of the context before the translation. Returns whether there
    /// was one.
    fn reads_context(&mut self) -> bool {
        let request = self.task.request;
        let Some(&token) = request.context.target.get(self.read) else {
            return false;
        };
        self.read += 1;
        self.continuations = vec![(0, token)];
        self.is_done = request.cancel.is_cancelled();
        true
    }

    /// Reports the tokens that all hypotheses share, which no further step changes.
    fn report_settled(&self) {
        let Some(watch) = &self.task.request.watch else {
            return;
        };
        let finished = self.finished.iter().map(|hypothesis| &hypothesis.tokens);
        let mut all = self.live.iter().map(|live| &live.tokens).chain(finished);
        let Some(first) = all.next() else {
            return;
        };
        let shared = all.fold(&first[..], |shared, tokens| common(shared, tokens));
        watch.report(shared);
    }

    /// The number of extensions of a step.
    fn candidates(&self) -> usize {
        let settings = &self.task.settings;
        let end_tokens = 1 + settings.end_tokens.len();
        let rule = &self.task.rule;
        rule.candidates(settings.width(), self.finished_count, end_tokens)
    }

    /// Collects the best extensions of all live hypotheses, and the hypotheses without one.
    fn extend(&mut self, logits: &mut [f32]) -> Result<()> {
        let width = self.task.choices.len();
        self.scratch.extensions.clear();
        self.scratch.stuck.clear();
        let mut normaliser = 0.0;
        for parent in 0..self.live.len() {
            // All hypotheses share the one row before the first token.
            let shared = self.step == 0 && parent > 0;
            let row = if self.step == 0 { 0 } else { parent };
            let logits = &mut logits[row * width..(row + 1) * width];
            // The shared row is constrained once.
            if !shared {
                normaliser = self.task.prepare(logits, &self.live[parent].tokens)?;
            }
            let before = self.scratch.extensions.len();
            self.extend_one(parent, logits, normaliser);
            if self.scratch.extensions.len() == before
                && !logits.iter().any(|&logit| logit > f32::NEG_INFINITY)
            {
                self.scratch.stuck.push(parent);
            }
            self.keep_the_best();
        }
        Ok(())
    }

    /// Keeps the extensions that can still be among the best.
    fn keep_the_best(&mut self) {
        let count = self.candidates();
        let Self { task, scratch, .. } = self;
        // Stable: of equals, the better parent's and then the lower id's comes first.
        scratch
            .extensions
            .sort_by(|a, b| task.order(a.total, b.total));
        scratch.extensions.truncate(count);
    }

    fn extend_one(&mut self, parent: usize, logits: &[f32], normaliser: f64) {
        let count = self.candidates();
        let Self {
            task,
            scratch,
            live,
            step,
            ..
        } = self;
        let live = &live[parent];
        if let Some((token, log_prob)) = task.forced(logits, normaliser, *step) {
            let forced = Extension::new(parent, token, log_prob, live.total);
            return scratch.extensions.push(forced);
        }
        // Extensions below the floor cannot displace the extensions of earlier parents.
        let last = scratch.extensions.get(count - 1);
        let floor = last.map_or(f64::NEG_INFINITY, |last| {
            last.total - live.total + normaliser
        });
        let floor = ((floor - ROUNDING_TOLERANCE) as f32).next_down();
        task.select(logits, floor, count, [live.root, *step], &mut scratch.best);
        for (logit, token) in scratch.best.drain(..) {
            let log_prob = f64::from(logit) - normaliser;
            scratch
                .extensions
                .push(Extension::new(parent, token, log_prob, live.total));
        }
    }

    /// Splits the extensions into finished and live hypotheses.
    fn split_extensions(&mut self) {
        std::mem::swap(&mut self.live, &mut self.scratch.spare);
        self.continuations.clear();
        let mut lives = 0;
        let beam = self.task.settings.width();
        let mut places = beam;
        let prefix = forced_prefix(self.task.request, self.task.settings).len();
        let is_guarded = prefix > 0 && self.step == prefix + 1 && self.task.rule.guards_prefix();
        for rank in 0..self.scratch.extensions.len() {
            let extension = self.scratch.extensions[rank];
            if let Some(reason) = self.finish_reason(extension, rank) {
                let may_finish = self.task.rule.may_finish(rank, beam);
                let is_eos = reason == FinishReason::EndOfSentence;
                if may_finish && is_guarded && rank > 0 && is_eos {
                    places -= 1;
                } else if may_finish {
                    self.best_has_finished |= rank == 0;
                    self.finish(extension, reason);
                }
            } else if lives < places {
                self.keep(extension, lives);
                lives += 1;
            }
        }
        self.live.truncate(lives);
    }

    fn keep(&mut self, extension: Extension, slot: usize) {
        if self.live.len() == slot {
            self.live.push(LiveHypothesis::default());
        }
        let old = &self.scratch.spare[extension.parent];
        let new = &mut self.live[slot];
        new.tokens.clone_from(&old.tokens);
        new.log_probs.clone_from(&old.log_probs);
        new.tokens.push(extension.token);
        new.log_probs.push(extension.log_prob as f32);
        new.total = extension.total;
        new.root = old.root;
        let row = if self.step == 1 { 0 } else { extension.parent };
        self.continuations.push((row, extension.token));
    }

    fn finish(&mut self, extension: Extension, reason: FinishReason) {
        let parent = &self.scratch.spare[extension.parent];
        let last = LiveHypothesis {
            tokens: [&parent.tokens[..], &[extension.token]].concat(),
            log_probs: [&parent.log_probs[..], &[extension.log_prob as f32]].concat(),
            total: extension.total,
            root: parent.root,
        };
        let finished = self.hypothesis(last, reason);
        self.finished_count += 1;
        let most = self.task.settings.kept();
        insert(&mut self.finished, finished, most);
    }

    /// Returns the reason why the extension at `rank` finishes its hypothesis; `None` if it lives
    /// on.
    fn finish_reason(&self, extension: Extension, rank: usize) -> Option<FinishReason> {
        if self.task.ends(extension.token) {
            return Some(FinishReason::EndOfSentence);
        }
        let at_limit = self.task.rule.ranks_cut() && self.step >= self.task.limit;
        let is_cut = at_limit && rank < self.task.settings.width();
        is_cut.then_some(FinishReason::Limit)
    }

    /// The finished hypothesis of `live`, with the reason `finish`.
    fn hypothesis(&self, live: LiveHypothesis, finish: FinishReason) -> Hypothesis {
        let score = self.task.settings.score(live.total, live.tokens.len());
        Hypothesis {
            tokens: live.tokens,
            log_probs: live.log_probs,
            score,
            finish,
            ..Hypothesis::default()
        }
    }

    /// Returns whether the search can stop: no live hypothesis can displace a requested finished
    /// one, even if all its further tokens have probability 1, up to the length that the rule
    /// assumes.
    fn is_settled(&self) -> bool {
        let Task { settings, .. } = self.task;
        let rule = &self.task.rule;
        let needed = rule.needed(settings.n_best, settings.width());
        if self.finished_count < needed {
            return false;
        }
        let worst = &self.finished[needed.min(self.finished.len()) - 1];
        let state = State {
            best_has_finished: self.best_has_finished,
            step: self.step,
            finished_len: worst.tokens.len(),
            limit: self.task.limit,
        };
        match rule.stop(state) {
            Stop::AtOnce => true,
            Stop::WhenNoneLives => false,
            Stop::WhenWorseAt(length) => {
                worst.score >= settings.best_score(self.live[0].total, self.step, length)
            }
        }
    }

    /// The translations in groups, each best first: finished, cut by the limit, and without an
    /// allowed next token.
    pub(super) fn into_hypotheses(mut self) -> Vec<Hypothesis> {
        let live = std::mem::take(&mut self.live).into_iter();
        let cut: Vec<_> = live
            .map(|live| self.hypothesis(live, FinishReason::Limit))
            .collect();
        let settings = self.task.settings;
        let mut all = self.finished;
        let missing = settings.n_best.saturating_sub(all.len());
        all.extend(cut.into_iter().chain(self.dead_ends).take(missing));
        if settings.coverage_penalty == 0.0 {
            all.truncate(settings.n_best);
        }
        all
    }
}

/// The common beginning of two sequences.
fn common<'a>(a: &'a [u32], b: &[u32]) -> &'a [u32] {
    let count = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    &a[..count]
}

/// Inserts `new` into `ranked`, after equal scores, and keeps the best `most`.
fn insert(ranked: &mut Vec<Hypothesis>, new: Hypothesis, most: usize) {
    let position = ranked.partition_point(|kept| kept.score >= new.score);
    ranked.insert(position, new);
    ranked.truncate(most);
}
