//! Translation through a third language by two models: German to English to French.
//!
//! A sentence passes both models as plain text, so that its document keeps its markup once. Terms of
//! a glossary stay in their spelling in the middle, where the second model finds them. Numbers,
//! placeholders and addresses are kept by each model.

use std::ops::Range;

use burnformer_documents::Link;
use burnformer_terminology::Term;

use crate::rounds::Sentence;

/// Returns `sentence` for the first model. Its translation keeps the source text of each term that
/// this model can write.
pub fn into_middle(sentence: &Sentence, can_write: impl Fn(&Term) -> bool) -> Sentence {
    let mut terms = Vec::with_capacity(sentence.terms.len());
    for term in &sentence.terms {
        let kept = Term {
            source: term.source.clone(),
            targets: vec![term.source.clone()],
        };
        if can_write(&kept) {
            terms.push(kept);
        }
    }
    Sentence {
        text: sentence.text.clone(),
        prefix: String::new(),
        terms,
        links: sentence.links,
        context: Vec::new(),
    }
}

/// Returns `sentence`, which the first model translated into `middle`, for the second model. A term
/// that is not in `middle` is left out.
pub fn out_of_middle(sentence: &Sentence, middle: &str) -> Sentence {
    let is_there = |term: &&Term| middle.contains(&*term.source);
    Sentence {
        text: middle.into(),
        prefix: sentence.prefix.clone(),
        terms: sentence.terms.iter().filter(is_there).cloned().collect(),
        links: sentence.links,
        context: Vec::new(),
    }
}

/// Returns the links `last`, which lead from the end to the middle, as links to the beginning, where
/// the links `first` lead.
pub fn through_links(first: &[Link], last: Vec<Link>) -> Vec<Link> {
    let links = last.into_iter().filter_map(|link| {
        let source = linked(first, &link.source)?;
        Some(Link { source, ..link })
    });
    links.collect()
}

/// Returns the part of the sentence that most of `range`, a part of the middle text, translates.
fn linked(links: &[Link], range: &Range<usize>) -> Option<Range<usize>> {
    let overlap = |link: &Link| {
        let end = link.target.end.min(range.end);
        end.saturating_sub(link.target.start.max(range.start))
    };
    let best = links.iter().max_by_key(|link| overlap(link))?;
    (overlap(best) > 0).then(|| best.source.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(source: [usize; 2], target: [usize; 2]) -> Link {
        Link {
            source: source[0]..source[1],
            target: target[0]..target[1],
        }
    }

    #[test]
    fn links_lead_through_the_middle() {
        // Das Haus – the house – la maison
        let first = [link([0, 3], [0, 3]), link([4, 8], [4, 9])];
        let last = vec![link([0, 3], [0, 2]), link([3, 9], [3, 9])];
        let found = through_links(&first, last);
        assert_eq!(found, [link([0, 3], [0, 2]), link([4, 8], [3, 9])]);
        // The space in the middle is linked to nothing.
        let unlinked = vec![link([3, 4], [0, 2])];
        assert_eq!(through_links(&first, unlinked), []);
    }

    #[test]
    fn terms_stay_as_they_are_in_the_middle() {
        let term = Term {
            source: "Haus".into(),
            targets: vec!["maison".into()],
        };
        let sentence = Sentence {
            text: "Das Haus".into(),
            prefix: "La".into(),
            terms: vec![term.clone()],
            links: true,
            context: vec!["Vorher.".into()],
        };
        let first = into_middle(&sentence, |_| true);
        assert_eq!(first.terms[0].targets, ["Haus"]);
        assert_eq!(first.prefix, "");
        assert!(
            first.context.is_empty(),
            "two models translate sentences alone"
        );
        assert_eq!(into_middle(&sentence, |_| false).terms, []);
        let second = out_of_middle(&sentence, "the Haus");
        assert_eq!((&*second.prefix, &second.terms[..]), ("La", &[term][..]));
        assert_eq!(out_of_middle(&sentence, "the house").terms, []);
    }
}
