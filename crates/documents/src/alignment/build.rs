//! Aligns one sentence after the other.

use std::collections::BTreeMap;

use super::{Alignment, Pair, Unit, WordPart};
use crate::Link;
use crate::words::{Span, Token, moved, tokens};

/// A piece that a unit may translate, and the number of linked bytes.
type Vote = (usize, usize);

impl Alignment {
    /// Appends a translated sentence.
    pub(crate) fn sentence(&mut self, pair: &Pair<'_>) {
        let first = self.pieces.len();
        self.add_pieces(pair);
        let offset = self.target.len();
        self.target.push_str(pair.target);
        self.sentences
            .push((pair.range.clone(), offset..self.target.len()));
        let units = tokens(pair.target, 0..pair.target.len(), pair.whole.1);
        let votes = if pair.links.is_empty() {
            self.even_votes(first, &units)
        } else {
            self.votes(first, pair, &units)
        };
        for (unit, votes) in units.into_iter().zip(votes) {
            self.add_unit(pair, offset, unit, &votes);
        }
    }

    fn add_pieces(&mut self, pair: &Pair<'_>) {
        let mut number = self.pieces.last().map_or(0, |piece| piece.word + 1);
        for token in tokens(pair.source, pair.range.clone(), pair.whole.0) {
            if !token.is_word {
                continue;
            }
            let mut start = token.range.start;
            for &border in pair.borders.range(start + 1..token.range.end) {
                self.pieces.push(WordPart {
                    range: start..border,
                    word: number,
                    units: None,
                });
                start = border;
            }
            self.pieces.push(WordPart {
                range: start..token.range.end,
                word: number,
                units: None,
            });
            number += 1;
        }
    }

    /// Returns the votes for each unit.
    fn votes(&self, first: usize, pair: &Pair<'_>, units: &[Token]) -> Vec<Vec<Vote>> {
        let mut all = vec![Vec::new(); units.len()];
        for link in pair.links {
            let from = units.partition_point(|unit| unit.range.end <= link.target.start);
            for (unit, votes) in units[from..].iter().zip(&mut all[from..]) {
                match self.vote(first, pair.range.start, link, &unit.range) {
                    Some(vote) => votes.push(vote),
                    None => break,
                }
            }
        }
        all
    }

    /// Returns the piece that `link` assigns to `unit`. If the link covers several, it is the piece
    /// at the same relative position.
    fn vote(&self, first: usize, offset: usize, link: &Link, unit: &Span) -> Option<Vote> {
        let start = link.source.start.saturating_add(offset);
        let end = link.source.end.saturating_add(offset);
        let pieces = &self.pieces[first..];
        let low = pieces.partition_point(|piece| piece.range.end <= start);
        let high = pieces.partition_point(|piece| piece.range.start < end);
        let weight = shared_bytes(unit, &link.target);
        if start > end || low >= high || weight == 0 {
            return None;
        }
        let middle = (unit.start.max(link.target.start) + unit.end.min(link.target.end)) / 2;
        let share = (middle - link.target.start) as f64 / link.target.len() as f64;
        let at = start as f64 + share * (end - start) as f64;
        let piece = pieces.partition_point(|piece| piece.range.end as f64 <= at);
        Some((first + piece.clamp(low, high - 1), weight))
    }

    /// Without links, the n-th word translates the n-th word of the source. The source words begin
    /// at piece `first`.
    fn even_votes(&self, first: usize, units: &[Token]) -> Vec<Vec<Vote>> {
        let mut words: Vec<usize> = (first..self.pieces.len()).collect();
        words.dedup_by_key(|piece| self.pieces[*piece].word);
        let count = units.iter().filter(|unit| unit.is_word).count();
        let mut seen = 0;
        units
            .iter()
            .map(|unit: &Token| {
                if !unit.is_word || words.is_empty() {
                    return Vec::new();
                }
                seen += 1;
                vec![(words[(2 * seen - 1) * words.len() / (2 * count)], 1)]
            })
            .collect()
    }

    fn add_unit(&mut self, pair: &Pair<'_>, offset: usize, unit: Token, votes: &[Vote]) {
        let Token { range, is_word } = unit;
        let Some(best) = self.best(votes).filter(|_| is_word) else {
            return self.units.push(Unit {
                range: moved(&range, 0, offset),
                is_word,
                piece: None,
            });
        };
        let parts = self.word_of(best);
        let word = self.pieces[parts.start].range.start..self.pieces[parts.end - 1].range.end;
        let old = &pair.source[word.clone()];
        let new = &pair.target[range.clone()];
        let is_same = old.len() == new.len() && old.to_lowercase() == new.to_lowercase();
        if parts.len() > 1 && is_same {
            // A word that is the same in both texts, ignoring case, is cut at the same places.
            for part in parts {
                let range = moved(&self.pieces[part].range, word.start, range.start);
                self.push_unit(moved(&range, 0, offset), part);
            }
            return;
        }
        self.push_unit(moved(&range, 0, offset), best);
    }

    fn push_unit(&mut self, range: Span, piece: usize) {
        let index = self.units.len();
        self.units.push(Unit {
            range,
            is_word: true,
            piece: Some(piece),
        });
        let units = &mut self.pieces[piece].units;
        *units = Some((units.map_or(index, |(first, _)| first), index));
    }

    /// Returns the piece with the most votes within the word with the most votes.
    fn best(&self, votes: &[Vote]) -> Option<usize> {
        let mut votes_by_piece = BTreeMap::new();
        let mut votes_by_word = BTreeMap::new();
        for &(piece, weight) in votes {
            *votes_by_piece.entry(piece).or_insert(0) += weight;
            *votes_by_word.entry(self.pieces[piece].word).or_insert(0) += weight;
        }
        // Ties go to the first piece.
        let pieces = votes.iter().rev().map(|&(piece, _)| piece);
        pieces.max_by_key(|piece| {
            (
                votes_by_word[&self.pieces[*piece].word],
                votes_by_piece[piece],
            )
        })
    }
}

/// Returns the number of bytes that two ranges have in common.
fn shared_bytes(a: &Span, b: &Span) -> usize {
    a.end.min(b.end).saturating_sub(a.start.max(b.start))
}
