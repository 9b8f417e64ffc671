//! The steps of a search whose translations have to contain terms.

use burnformer_kernels::Placed;

use super::SentenceSearch;
use crate::search::constraint::constrain;
use crate::search::live::Extension;
use crate::search::terms::choose;
use crate::settings::BeamRule;

impl SentenceSearch<'_> {
    /// Adds the best extensions of `parent`, and those that begin or continue a term, whatever
    /// their probability.
    pub(super) fn extend_towards_terms(
        &mut self,
        parent: usize,
        logits: &mut [f32],
        extension: impl Fn(Placed) -> Extension,
    ) {
        let Some(tracker) = &self.task.tracker else { return };
        let live = &self.live[parent];
        let advancing = tracker.advancing(live.progress, &live.tokens);
        let advancing: Vec<Placed> =
            advancing.into_iter().map(|id| (self.task.logit(logits, id), id)).collect();
        constrain(logits, &live.tokens, self.task.settings, self.task.special, &self.task.choices);
        if tracker.left(live.progress, &live.tokens) > 0 {
            let edges = self.task.request.terms.edges.as_deref();
            let closing = edges.map_or(&[][..], |edges| &edges.closing).iter();
            for place in closing
                .chain([&self.task.special.eos])
                .filter_map(|&id| self.task.choices.place(id))
            {
                logits[place] = f32::NEG_INFINITY;
            }
        }
        self.select(logits, f32::NEG_INFINITY, 2 * self.task.settings.beam_size);
        for scored in advancing {
            if self.room.best.iter().all(|&(_, id)| id != scored.1) {
                self.room.best.push(scored);
            }
        }
        self.room.extensions.extend(self.room.best.drain(..).map(extension));
    }

    /// Notes for the extensions from the place `first` on, which are those of one parent, what
    /// their terms still need, and removes those after which the length limit leaves no room for
    /// it.
    pub(super) fn measure(&mut self, first: usize) {
        let Some(tracker) = &self.task.tracker else { return };
        let mut tokens = Vec::new();
        let mut place = first;
        while let Some(extension) = self.room.extensions.get_mut(place) {
            if extension.token != self.task.special.eos {
                let live = &self.live[extension.parent];
                tokens.clone_from(&live.tokens);
                tokens.push(extension.token);
                extension.left = tracker.left(tracker.after(live.progress, &tokens), &tokens);
            }
            // The steps after this one, of which the last is for `</s>`.
            let room = self.task.limit.saturating_sub(self.step + 2);
            match extension.left == 0 || extension.left <= room {
                true => place += 1,
                false => drop(self.room.extensions.remove(place)),
            }
        }
    }

    /// Leaves the extensions that live on and those that close.
    pub(super) fn choose_by_bank(&mut self) {
        let closing = match self.task.rule() {
            BeamRule::Gnmt | BeamRule::Near => 2 * self.task.settings.beam_size,
            BeamRule::Transformers => self.task.settings.beam_size,
        };
        let (rows, eos) = (self.task.width(), self.task.special.eos);
        choose(&mut self.room.extensions, rows, closing, eos);
    }
}
