//! A document that is parsed, translated in at most two rounds, and written.

use std::collections::BTreeSet;

use burnformer_glossary::Writing;
use burnformer_text::is_invisible;

use crate::align::{Alignment, Pair};
use crate::block::{AtomText, Block, Kind, Node, Segment, State};
use crate::catalogue::{self, BrokenCatalogue, Catalogue, Message, MessageState, Slot};
use crate::escape::ATTRIBUTE;
use crate::format::{Attribute, Format, Piece, finish_block};
use crate::message;
use crate::place::place;
use crate::plurals::Categories;
use crate::protect::{find_atoms, places, reduced, restore, tidied, with_amounts, without_atoms};
use crate::render::Layout;
use crate::split::split;
use crate::words::{Mark, Span, has_letters, is_unspaced, mark, moved, trim};
use crate::{Link, PendingSentence, Translated};

const BYTE_ORDER_MARK: char = '\u{feff}';

/// The largest number of comparisons of the blocks of a document.
const MOST_REPAIRS: usize = 8;

/// Says whether a model takes a sentence whole.
type Fits<'a> = &'a dyn Fn(&str) -> bool;
/// The translations of pending sentences, in their order.
type Next<'a> = &'a mut dyn FnMut() -> Option<Translated>;

/// A document with the translations that it has so far.
#[derive(Clone, Debug, Default)]
pub struct Document {
    /// Without its byte-order mark.
    source: String,
    byte_order_mark: bool,
    pieces: Vec<Piece>,
    /// Texts in tags and images, for which [`ATTRIBUTE`] stands in the source.
    attributes: Vec<Attribute>,
    /// The messages of a catalogue that are translated, as documents.
    messages: Vec<(Slot, Document)>,
    format: Format,
    writing: Option<Writing>,
    /// If true, a memory wrote it.
    is_answer: bool,
}

impl Document {
    /// Sets how amounts are written in translations; with `None`, they are written as in the
    /// source.
    pub fn with_writing(mut self, writing: Option<Writing>) -> Self {
        self.messages.iter_mut().for_each(|(_, message)| message.writing = writing);
        Self { writing, ..self }
    }

    /// Divides `text` into sentences.
    ///
    /// `language` is the language of the text (`de`, `pt-BR`; English if it is not known);
    /// abbreviations depend on it. `fits` says whether the model takes a sentence whole. Longer
    /// ones are cut at clauses (semicolons, colons, dashes, commas, conjunctions), else between
    /// words, never shortened.
    ///
    /// A catalogue has the sentences of the messages that have no translation. A broken one stays
    /// unchanged.
    pub fn parse(text: &str, format: Format, language: Option<&str>, fits: Fits<'_>) -> Self {
        let parsed = Self::try_parse(text, format, [language, None], fits);
        parsed.unwrap_or_else(|_| Self::with_messages(text.into(), format, Vec::new()))
    }

    /// Does the same as [`parse`](Self::parse) for a text in the first of the `languages`, but a
    /// broken catalogue is an error. Plurals get the categories of the second, into which it is
    /// translated; without one, they keep theirs.
    ///
    /// # Errors
    /// The errors of [`Catalogue::read`].
    pub fn try_parse(
        text: &str,
        format: Format,
        [language, target]: [Option<&str>; 2],
        fits: Fits<'_>,
    ) -> Result<Self, BrokenCatalogue> {
        let target = target.and_then(Categories::of);
        Reader { language, target, fits }.document(text, format)
    }

    fn with_messages(text: String, format: Format, messages: Vec<(Slot, Self)>) -> Self {
        let (source, attributes, pieces) = format.parse(&text);
        Self { source, pieces, attributes, messages, format, ..Self::default() }
    }

    /// The text of a message of a catalogue, its source or its translation, as a document: HTML if
    /// it has tags, else plain text.
    pub fn message(text: &str, language: Option<&str>, fits: Fits<'_>) -> Self {
        Self::parse(text, catalogue::format_of(text), language, fits)
    }

    /// The sentences of the text of a message, without its markup.
    pub fn sentences(text: &str, language: Option<&str>) -> Vec<String> {
        let (text, is_end) = (text.trim(), |c: char| mark(c) == Mark::Terminal);
        let is_mixed =
            |c: char| is_end(c) || c.is_control() || "<&{%@/_$#".contains(c) || is_invisible(c);
        if has_letters(text) && !text.trim_end_matches(is_end).contains(is_mixed) {
            return vec![text.into()];
        }
        let pending = Self::message(text, language, &|_| true).pending();
        pending.into_iter().map(|sentence| sentence.text).collect()
    }

    /// Translates the messages of a catalogue for which `translation` has a text, except for
    /// plurals. They are not pending then, and PO does not mark them as machine translations.
    pub fn with_memory(mut self, translation: &dyn Fn(&str) -> Option<String>) -> Self {
        let groups: Vec<usize> = self.messages.iter().map(|(slot, _)| slot.group).collect();
        let is_plural = |group| groups.iter().filter(|&&other| other == group).count() > 1;
        for (slot, message) in &mut self.messages {
            let source = message.source.as_str();
            if is_plural(slot.group) || slot.is_markup() || !message.attributes.is_empty() {
                continue;
            }
            if let Some(text) = translation(source) {
                // gettext asks for the line breaks of the source at both ends.
                *message = Self::answer(source.replacen(source.trim(), text.trim(), 1));
                slot.accept();
            }
        }
        self
    }

    /// The message that a memory translates as `text`.
    fn answer(text: String) -> Self {
        let pieces = vec![Piece::Verbatim(0..text.len())];
        Self { pieces, source: text, is_answer: true, ..Self::default() }
    }

    /// The blocks that are not those of its messages.
    fn text_blocks_mut(&mut self) -> impl Iterator<Item = &mut Block> {
        let blocks = self.pieces.iter_mut().flat_map(|piece| match piece {
            Piece::Block(block) => Some(&mut **block),
            Piece::Verbatim(_) => None,
        });
        self.attributes.iter_mut().map(|(_, block)| block).chain(blocks)
    }

    fn text_blocks(&self) -> impl Iterator<Item = &Block> {
        let blocks = self.pieces.iter().filter_map(Piece::block);
        self.attributes.iter().map(|(_, block)| block).chain(blocks)
    }

    /// Returns whether every sentence is its own translation.
    fn is_unchanged(&self) -> bool {
        !self.is_answer && self.text_blocks().all(Block::is_unchanged)
    }

    /// The sentences to translate now. Empty when the document is done, which is after at most two
    /// rounds.
    pub fn pending(&self) -> Vec<PendingSentence> {
        let messages = self.messages.iter().flat_map(|(_, message)| message.pending());
        self.text_blocks().flat_map(sentences).chain(messages).collect()
    }

    /// Takes the translations of the sentences of [`Document::pending`], in their order.
    ///
    /// # Panics
    ///
    /// If there are more or fewer translations than sentences.
    pub fn accept(&mut self, translations: Vec<Translated>) {
        let (given, mut used) = (translations.len(), 0);
        let mut translations = translations.into_iter();
        let mut next = || {
            used += 1;
            translations.next().map(clean)
        };
        self.accept_from(&mut next);
        assert_eq!(given, used, "translations given for {used} pending sentences");
    }

    fn accept_from(&mut self, next: Next<'_>) {
        let writing = self.writing;
        self.text_blocks_mut().for_each(|block| accept(block, next, writing));
        self.messages.iter_mut().for_each(|(_, message)| message.accept_from(next));
    }

    /// The translated document. Sentences that are still pending stay unchanged.
    pub fn finish(mut self) -> String {
        self.text_blocks_mut().for_each(write_messages);
        let write = |piece: &Piece| match piece {
            Piece::Verbatim(range) => self.source[range.clone()].to_string(),
            Piece::Block(block) => written(block, &self.source[block.source.clone()]),
        };
        let mut parts: Vec<String> = self.pieces.iter().map(write).collect();
        self.keep_shape(&mut parts);
        let out = if self.messages.is_empty() { parts.concat() } else { self.written_catalogue() };
        let value = |part: &str| {
            let (source, block) = self.attributes.get(part.parse::<usize>().ok()?)?;
            Some(written(block, source))
        };
        let out = match self.attributes.is_empty() {
            true => out,
            false => out
                .split(ATTRIBUTE)
                .map(|part| value(part).unwrap_or_else(|| part.into()))
                .collect(),
        };
        self.byte_order_mark.then_some(BYTE_ORDER_MARK).into_iter().chain(out.chars()).collect()
    }

    /// The catalogue with the translations of its messages.
    fn written_catalogue(&mut self) -> String {
        let write = |(slot, mut message): (Slot, Self)| {
            message.text_blocks_mut().for_each(write_messages);
            let has_changed = !message.is_unchanged();
            (slot, message.finish(), has_changed)
        };
        let written = std::mem::take(&mut self.messages).into_iter().map(write);
        catalogue::write(&self.source, written.collect())
    }

    /// Puts the source back where a translation would make other blocks of the document: a line
    /// directly behind a table or a definition can become a part of it.
    fn keep_shape(&self, parts: &mut [String]) {
        for _ in 0..MOST_REPAIRS {
            let Err(at) = self.format.has_shape_of(&self.source, &parts.concat()) else { return };
            let ends = parts.iter().scan(0, |end, part| {
                *end += part.len();
                Some(*end)
            });
            let index = ends.take_while(|&end| end <= at).count();
            let near = index.saturating_sub(2)..parts.len().min(index + 2);
            for (piece, part) in self.pieces[near.clone()].iter().zip(&mut parts[near]) {
                if let Piece::Block(block) = piece {
                    *part = self.source[block.source.clone()].into();
                }
            }
        }
    }
}

/// `block` in its document; `source`, which it is there, if it does not change.
fn written(block: &Block, source: &str) -> String {
    if block.is_unchanged() { source.into() } else { finish_block(block, &layout(block), source) }
}

/// Reads documents of one language for a model.
struct Reader<'a> {
    language: Option<&'a str>,
    target: Option<Categories>,
    fits: Fits<'a>,
}

impl Reader<'_> {
    fn document(&self, text: &str, format: Format) -> Result<Document, BrokenCatalogue> {
        let rest = text.strip_prefix(BYTE_ORDER_MARK);
        let source = match (rest.unwrap_or(text), &self.target) {
            (source, Some(target)) => catalogue::with_categories(source, format, target)?,
            (source, None) => source.into(),
        };
        let message = |it: Message| {
            let is_html = it.slot.is_markup();
            let format = if is_html { Format::Html } else { catalogue::format_of(&it.source) };
            Ok((it.slot, self.document(&it.source, format)?))
        };
        let messages = Catalogue::read(&source, format, [None; 2])?.messages.into_iter();
        let messages = messages.filter(|it| it.state == MessageState::Untranslated).map(message);
        let document = Document::with_messages(source, format, messages.collect::<Result<_, _>>()?);
        let mut document = Document { byte_order_mark: rest.is_some(), ..document };
        document.text_blocks_mut().for_each(|block| self.prepare(block, 0));
        Ok(document)
    }

    /// Divides `block` and the arms of its messages into sentences; it is `depth` messages deep.
    fn prepare(&self, block: &mut Block, depth: usize) {
        let messages = find_atoms(&block.text, &block.borders(), &mut block.atoms);
        if depth < message::DEEPEST {
            message::find_arms(block, self.target.as_ref(), depth);
        }
        block.arms_mut().for_each(|arm| self.prepare(arm, depth + 1));
        split(block, self.language, self.fits);
        // Nothing in a message with tags can be told from its syntax.
        let is_cut = |range: &Span| {
            let next = messages.partition_point(|message| message.end <= range.start);
            messages.get(next).is_some_and(|message| message.start < range.end)
        };
        for segment in block.segments.iter_mut().filter(|segment| is_cut(&segment.range)) {
            segment.state = State::Kept;
        }
    }
}

/// Writes the messages of `block` whose arms have changed.
fn write_messages(block: &mut Block) {
    block.arms_mut().for_each(write_messages);
    for atom in block.atoms.iter_mut().filter(|atom| !atom.arms.is_empty()) {
        atom.written = atom.written(written);
    }
}

fn sentences(block: &Block) -> Vec<PendingSentence> {
    let borders = block.borders();
    let sentence = |Segment { range, state }: &Segment| match state {
        State::Kept | State::Done(_) => None,
        State::Reduced => Some(PendingSentence { text: reduced(block, range).text, links: true }),
        State::Whole => {
            let text = block.text[range.clone()].to_string();
            Some(PendingSentence { text, links: divides_words(block, range, &borders) })
        }
    };
    let arms = block.atoms.iter().flat_map(|atom| &atom.arms);
    let arms = arms.flat_map(|(_, arm)| sentences(arm));
    arms.chain(block.segments.iter().filter_map(sentence)).collect()
}

/// Returns whether markup begins or ends between the first and the last word of `range`.
fn divides_words(block: &Block, range: &Span, borders: &[usize]) -> bool {
    let text = &block.text[range.clone()];
    let first = text.find(char::is_alphanumeric).map(|at| range.start + at);
    let last = text.rfind(char::is_alphanumeric).map(|at| range.start + at);
    let (Some(first), Some(last)) = (first, last) else { return false };
    let next = borders.partition_point(|&border| border <= first);
    borders.get(next).is_some_and(|&border| border <= last)
}

/// Takes the translations of the pending sentences of `block` from `next`.
fn accept(block: &mut Block, next: Next<'_>, writing: Option<Writing>) {
    block.arms_mut().for_each(|arm| accept(arm, next, writing));
    let mut is_first_round = false;
    for index in 0..block.segments.len() {
        let Segment { range, state } = &block.segments[index];
        let state = match state {
            State::Whole => next().map(|next| {
                is_first_round = true;
                accept_whole(block, range, with_stop_of(&block.text[range.clone()], next))
            }),
            State::Reduced => next().map(|next| {
                let reduced = reduced(block, range);
                let next = tidied(&reduced.text, block, with_stop_of(&reduced.text, next));
                if next.text == reduced.text {
                    return State::Kept;
                }
                let done = restore(block, range, &reduced, &next);
                State::Done(with_amounts(done, &block.text[range.clone()], writing))
            }),
            State::Kept | State::Done(_) => None,
        };
        if let Some(state) = state {
            block.segments[index].state = state;
        }
    }
    if is_first_round {
        divide(block);
    }
}

fn accept_whole(block: &Block, range: &Span, translated: Translated) -> State {
    let atoms = places(block, range, &translated.text);
    if atoms.is_none() && !block.atoms_in(range).is_empty() {
        return without_atoms(block, range);
    }
    let translated = tidied(&block.text[range.clone()], block, translated);
    State::Done(AtomText { translated, atoms: atoms.unwrap_or_default() })
}

/// Divides sentences in which an element would lose its words: they are translated piece by piece.
fn divide(block: &mut Block) {
    let is_element = |node: &&Node| matches!(node.kind, Kind::Element { .. });
    if block.nodes.iter().find(is_element).is_none() {
        return;
    }
    let Layout { alignment, places, .. } = layout(block);
    let is_empty = |place: &Span| alignment.target[place.clone()].trim().is_empty();
    let empty = block.nodes.iter().zip(&places).filter(|(_, place)| is_empty(place));
    let (mut cuts, mut divided) = (BTreeSet::new(), BTreeSet::new());
    for node in empty.map(|(node, _)| node).filter(is_element) {
        let range = trim(&block.text, node.range.clone());
        let index = block.segments.partition_point(|segment| segment.range.end < range.end);
        let segment = block.segments.get(index);
        let is_lost = segment.is_some_and(|Segment { range: sentence, state }| {
            sentence.start <= range.start
                && matches!(state, State::Done(done) if !done.translated.text.is_empty())
        });
        let is_whole = is_edge(&block.text, range.start) && is_edge(&block.text, range.end);
        if is_lost && is_whole && has_letters(&block.text[range.clone()]) {
            cuts.extend([range.start, range.end]);
            divided.insert(index);
        }
    }
    for (index, segment) in std::mem::take(&mut block.segments).into_iter().enumerate() {
        if !divided.contains(&index) {
            block.segments.push(segment);
            continue;
        }
        let Span { start: mut at, end } = segment.range;
        for cut in cuts.range(at + 1..end).copied().chain([end]) {
            let range = trim(&block.text, at..cut);
            at = cut;
            if !range.is_empty() {
                let state = without_atoms(block, &range);
                block.segments.push(Segment { range, state });
            }
        }
    }
}

/// Returns whether no word is cut at `at`.
fn is_edge(text: &str, at: usize) -> bool {
    let (before, after) = text.split_at(at);
    let in_word = |c: char| c.is_alphanumeric() && !is_unspaced(c);
    !(before.ends_with(in_word) && after.starts_with(in_word))
}

/// A translation without characters that break lines, and without white space at its ends.
fn clean(translated: Translated) -> Translated {
    let Translated { text, mut links } = translated;
    // Each is replaced by white space of the same number of bytes, which keeps links right.
    let replaced = |c: char| match c {
        '\u{85}' => '\u{a0}',
        '\u{2028}' | '\u{2029}' => '\u{2003}',
        '\t' => '\t',
        ATTRIBUTE => '\u{fffd}',
        c if c.is_control() && c.len_utf8() == 1 => ' ',
        c if c.is_control() => '\u{a0}',
        c => c,
    };
    let text: String = text.chars().map(replaced).collect();
    let start = text.len() - text.trim_start().len();
    for link in &mut links {
        let Span { start: from, end } = link.target;
        link.target = from.saturating_sub(start)..end.saturating_sub(start);
    }
    Translated { text: text.trim().into(), links }
}

/// A cell, a title or a clause that does not end with a full stop gets none: models end whatever
/// they translate with one. If it ends with a comma or a colon, so does its translation. Thai and
/// Lao have no full stop.
fn with_stop_of(source: &str, translated: Translated) -> Translated {
    let closes = |c: char| matches!(mark(c), Mark::Close | Mark::Quote);
    let Translated { mut text, mut links } = translated;
    let body = text.trim_end_matches(closes);
    let stop = body.chars().next_back().filter(|c| matches!(c, '.' | '。' | '।'));
    let last = source.trim_end_matches(closes).chars().next_back();
    let ends_open = |&c: &char| {
        mark(c) == Mark::Separator || c.is_alphanumeric() && !('\u{e00}'..'\u{f00}').contains(&c)
    };
    let (Some(stop), Some(last)) = (stop, last.filter(ends_open)) else {
        return Translated { text, links };
    };
    let at = body.len() - stop.len_utf8();
    let word = body[..at].rsplit(char::is_whitespace).next().unwrap_or_default();
    // An ellipsis, or an abbreviation: "e.g.".
    if word.is_empty() || word.contains(stop) {
        return Translated { text, links };
    }
    let instead = Some(last).filter(|&c| mark(c) == Mark::Separator);
    let instead = instead.map(String::from).unwrap_or_default();
    let (old, new) = (at + stop.len_utf8(), at + instead.len());
    text.replace_range(at..old, &instead);
    let moved = |place: usize| if place < old { place.min(new) } else { place - old + new };
    for Link { target, .. } in &mut links {
        *target = moved(target.start)..moved(target.end);
    }
    Translated { text, links }
}

/// The layout of all parts of the block.
fn layout(block: &Block) -> Layout {
    let (mut alignment, mut atoms) = (Alignment::default(), Vec::new());
    let (borders, mut end) = (block.borders(), 0);
    for Segment { range, state } in &block.segments {
        let kept = kept(block, range);
        let done = if let State::Done(done) = state { done } else { &kept };
        let target = &done.translated.text;
        alignment.gap(&gap(block, end..range.start, &alignment.target, target));
        let offset = alignment.target.len();
        atoms.extend(done.atoms.iter().map(|(atom, at)| (*atom, moved(at, 0, offset))));
        let mut source_atoms: Vec<Span> =
            done.atoms.iter().map(|(atom, _)| block.atoms[*atom].range.clone()).collect();
        source_atoms.sort_by_key(|range| range.start);
        let target_atoms: Vec<Span> = done.atoms.iter().map(|(_, at)| at.clone()).collect();
        alignment.sentence(&Pair {
            source: &block.text,
            range: range.clone(),
            target,
            links: &done.translated.links,
            whole: (&source_atoms, &target_atoms),
            borders: &borders,
        });
        end = range.end;
    }
    alignment.gap(&block.text[end..]);
    let places = place(block, &alignment, &atoms);
    Layout { alignment, places, atoms }
}

/// A sentence that is its own translation.
fn kept(block: &Block, range: &Span) -> AtomText {
    let text = block.text[range.clone()].to_string();
    let place = |atom: usize| (atom, moved(&block.atoms[atom].range, range.start, 0));
    let atoms = block.atoms_in(range).map(place).collect();
    AtomText { translated: Translated { text, links: Vec::new() }, atoms }
}

/// The text between two sentences. It is the source's, except between scripts with and without
/// spaces.
fn gap(block: &Block, range: Span, before: &str, after: &str) -> String {
    let gap = &block.text[range.clone()];
    let edges = (before.chars().next_back(), after.chars().next());
    let source =
        (block.text[..range.start].chars().next_back(), block.text[range.end..].chars().next());
    let unspaced =
        |(last, next): (Option<char>, Option<char>)| Some((is_unspaced(last?), is_unspaced(next?)));
    match (unspaced(source), unspaced(edges)) {
        (Some((true, _)), Some((false, false))) if gap.is_empty() => " ".into(),
        (Some((false, false)), Some((true, true))) if gap == " " => String::new(),
        _ => gap.into(),
    }
}
