//! Segments of an XLIFF 1.2 unit: `mrk` elements of its `seg-source`, as SDL Trados and memoQ write
//! them. Each is a message, and its translation is the `mrk` of the same number in the target.

use std::collections::HashMap;
use std::sync::Arc;

use super::message::{Context, Message, Slot};
use super::xliff::{File, Unit, content};
use crate::words::{Span, moved};
use crate::xml::Element;
use crate::xml_text::with_attribute;

/// The state of a translation that a model wrote.
const REVIEW: &str = "needs-review-translation";

impl File<'_> {
    /// Returns the messages of the segments of the unit `index`; none if it is not segmented, or is
    /// translated without its segments.
    pub(super) fn segments(&self, index: usize, unit: &Unit) -> Vec<Message> {
        let Some(seg_source) = unit.seg_source else {
            return Vec::new();
        };
        let sources = self.marks(seg_source);
        let target = unit
            .target
            .map(|target| (&self.all[target], self.marks(target)));
        let is_whole = target.as_ref().is_some_and(|(target, marks)| {
            marks.is_empty() && !self.text[target.inner.clone()].trim().is_empty()
        });
        if sources.is_empty() || is_whole {
            return Vec::new();
        }
        let slots = match target.filter(|(_, marks)| !marks.is_empty()) {
            Some((target, marks)) => self.slots(&sources, target, &marks),
            None => self.new_target(index, unit, seg_source, &sources),
        };
        let group = Arc::from(self.name(index));
        let owner = unit
            .target
            .map_or(&self.all[index], |target| &self.all[target]);
        let mut messages = Vec::with_capacity(sources.len());
        for (&source, (slot, target)) in sources.iter().zip(slots) {
            let context = Context::new(&group, &self.number(source));
            let (source, _) = content(&self.text[self.all[source].inner.clone()]);
            messages.push(self.segment(index, owner, context, [source, target], slot));
        }
        messages
    }

    /// Returns the segments within the element `index`, without those inside of others.
    fn marks(&self, index: usize) -> Vec<usize> {
        let end = self.all[index].outer.end;
        let inside = (index + 1..self.all.len()).take_while(|&it| self.all[it].outer.start < end);
        let mut last = 0;
        let mut all = Vec::new();
        for it in inside {
            let element = &self.all[it];
            let is_segment = element.outer.start >= last
                && element.local_name() == "mrk"
                && element.attribute(self.text, "mtype").as_deref() == Some("seg");
            if is_segment {
                last = element.outer.end;
                all.push(it);
            }
        }
        all
    }

    /// Returns the number of the segment `index`.
    fn number(&self, index: usize) -> String {
        self.all[index]
            .attribute(self.text, "mid")
            .unwrap_or_default()
    }

    /// Returns the start tag of `element`, with an end tag if it had none.
    fn tags(&self, element: &Element<'_>) -> [String; 2] {
        let tag = self.text[element.tag.clone()]
            .trim_end_matches(['/', '>'])
            .trim_end();
        [format!("{tag}>"), format!("</{}>", element.name)]
    }

    /// Returns the slots of the segments `sources` in a target that has segments, and their
    /// translations.
    fn slots(
        &self,
        sources: &[usize],
        target: &Element<'_>,
        marks: &[usize],
    ) -> Vec<(Slot, String)> {
        let marks_by_number: HashMap<String, usize> =
            marks.iter().map(|&it| (self.number(it), it)).collect();
        let state = self.state_edit(target);
        let slot = |&source: &usize| {
            let (_, spelling) = content(&self.text[self.all[source].inner.clone()]);
            let mark = marks_by_number
                .get(&self.number(source))
                .map(|&it| &self.all[it]);
            let end = target.inner.end..target.inner.end;
            let range = mark.map_or(end, |it| it.outer.clone());
            let text = mark.map_or(String::new(), |it| content(&self.text[it.inner.clone()]).0);
            let slot = Slot {
                range,
                around: self.tags(mark.unwrap_or(&self.all[source])),
                spelling,
                marks: vec![state.clone()],
                group: source,
                is_plural: false,
            };
            (slot, text)
        };
        sources.iter().map(slot).collect()
    }

    /// Returns the edit that sets the state of `target`. All segments share it, so it is short.
    fn state_edit(&self, target: &Element<'_>) -> (Span, String) {
        let tag = &self.text[target.tag.clone()];
        let value = ['"', '\''].into_iter().find_map(|quote| {
            let start = tag.find(&format!(" state={quote}"))? + " state=".len() + 1;
            Some(start..start + tag[start..].find(quote)?)
        });
        let moved_by = target.tag.start;
        match value {
            Some(value) => (moved(&value, 0, moved_by), REVIEW.into()),
            None => {
                let end = moved_by + tag.trim_end_matches('>').trim_end().len();
                (end..end, format!(" state=\"{REVIEW}\""))
            }
        }
    }

    /// Returns the slots of the segments `sources` in a target that is missing or empty. Together
    /// they write the target like the segmented source.
    fn new_target(
        &self,
        index: usize,
        unit: &Unit,
        seg_source: usize,
        sources: &[usize],
    ) -> Vec<(Slot, String)> {
        let previous = &self.all[seg_source];
        let before = &self.text[..previous.outer.start];
        let space = &before[before.trim_end().len()..];
        let name = previous.name.replace("seg-source", "target");
        let old = unit.target.map(|target| &self.all[target]);
        let [tag, end_tag] = old.map_or([format!("<{name}>"), format!("</{name}>")], |old| {
            self.tags(old)
        });
        let tag = with_attribute(&tag, "state", REVIEW);
        let range = old.map_or(previous.outer.end..previous.outer.end, |old| {
            old.outer.clone()
        });
        let mut at = previous.inner.start;
        let slot = |(number, &source): (usize, &usize)| {
            let element = &self.all[source];
            let [open, close] = self.tags(element);
            let mut around = [self.text[at..element.outer.start].to_owned() + &open, close];
            at = element.outer.end;
            if number == 0 {
                let space = if old.is_some() { "" } else { space };
                around[0] = format!("{space}{tag}{}", around[0]);
            }
            if number + 1 == sources.len() {
                around[1] += &self.text[at..previous.inner.end];
                around[1] += &end_tag;
            }
            let is_first = number == 0;
            let range = Span {
                start: if is_first { range.start } else { range.end },
                ..range.clone()
            };
            let (_, spelling) = content(&self.text[element.inner.clone()]);
            let slot = Slot {
                range,
                around,
                spelling,
                marks: Vec::new(),
                group: index,
                is_plural: false,
            };
            (slot, String::new())
        };
        sources.iter().enumerate().map(slot).collect()
    }
}
