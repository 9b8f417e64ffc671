//! The programs in `examples/` run and print what their documentation promises.

#[allow(dead_code, reason = "main is not called")]
#[path = "../../examples/attention.rs"]
mod attention;
#[allow(dead_code, reason = "main is not called")]
#[path = "../../examples/n_best.rs"]
mod n_best;

use crate::toy::Toy;

#[test]
fn the_n_best_example_ranks_different_translations_by_score() {
    let toy = Toy::new();
    let mut output = Vec::new();
    n_best::run(toy.path(), 5, "the house", &mut output).unwrap();
    let text = String::from_utf8(output).unwrap();
    let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split('\t').collect()).collect();
    assert!(
        (1..=5).contains(&lines.len()) && lines.iter().all(|fields| fields.len() >= 4),
        "{text}"
    );
    let texts: std::collections::HashSet<&str> = lines.iter().map(|fields| fields[3]).collect();
    assert_eq!(texts.len(), lines.len(), "{text}");
    for end in ["closed", "cut"] {
        let scores = lines.iter().filter(|fields| fields[2] == end);
        let scores: Vec<f64> = scores.map(|fields| fields[0].parse().unwrap()).collect();
        assert!(scores.is_sorted_by(|a, b| a >= b), "{text}");
    }
}

#[test]
fn the_attention_example_names_a_source_piece_for_every_target_piece() {
    let toy = Toy::new();
    let mut output = Vec::new();
    attention::run(toy.path(), "the house is small", &mut output).unwrap();
    let text = String::from_utf8(output).unwrap();
    let pieces: Vec<&str> = text.lines().filter(|line| line.split('\t').count() == 3).collect();
    assert!(pieces.last().unwrap().starts_with("</s>\t"), "{text}");
    let sources = pieces.iter().map(|line| line.split('\t').nth(2).unwrap());
    assert!(sources.into_iter().all(|piece| !piece.is_empty()), "{text}");
}
