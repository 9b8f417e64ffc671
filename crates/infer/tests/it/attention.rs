//! The attention of a translator, and the links and alignments that it gives.

use burn::tensor::Device;
use burnformer_infer::{
    AlignmentOptions, InferError, Languages, MAX_LINKED_TOKENS, MAX_SENTENCE_TOKENS, Translator,
    word_alignment,
};

use crate::translator::{joint, load};

#[test]
fn attention_and_links_of_any_text_have_bounded_weights() {
    let translator = load(&joint(1));
    let short = "the house is small";
    let none = Languages::default();
    for count in [100, 399, 400, 2000, 50_000] {
        let long = "dog ".repeat(count);
        for (source, target) in [(&*long, short), (short, &*long), (&*long, &*long)] {
            let links = translator.links(source, target, &none).unwrap();
            assert!(links.len() < MAX_LINKED_TOKENS, "{count}");
            let all = links
                .iter()
                .flat_map(|it| [(&it.source, source), (&it.target, target)]);
            all.for_each(|(range, text)| assert!(text.get(range.clone()).is_some(), "{range:?}"));
            let found = translator.attention(source, target, &none);
            assert!(found.is_ok() || count > MAX_SENTENCE_TOKENS / 4, "{count}");
            assert!(found.is_err() || count < 50_000, "{count}");
        }
    }
}

#[test]
fn attention_has_a_row_that_sums_to_one_for_every_token() {
    let translator = load(&joint(1));
    let attention = translator
        .attention("the house is small", "a small dog", &Languages::default())
        .unwrap();
    let source = attention.source.len();
    let target = attention.target_output.len();
    assert_eq!(attention.target_input.len(), target);
    assert_eq!(attention.source.last().unwrap().text, "</s>");
    assert_eq!(attention.target_input[0].text, "<s>");
    assert_eq!(
        attention.target_input[1..],
        attention.target_output[..target - 1]
    );
    let weights = &attention.weights;
    let sizes = [
        (&weights.encoder_self, source, source),
        (&weights.decoder_self, target, target),
        (&weights.cross, target, source),
    ];
    for (layers, queries, keys) in sizes {
        assert_eq!(layers.iter().map(Vec::len).collect::<Vec<_>>(), [2, 2]);
        for head in layers.iter().flatten() {
            assert_eq!((head.queries, head.keys), (queries, keys));
            for query in 0..queries {
                let sum: f32 = head.row(query).iter().sum();
                assert!((sum - 1.0).abs() < 1e-5, "{sum}");
            }
        }
    }
    let later = &weights.decoder_self[0][0].row(0)[1..];
    assert!(later.iter().all(|&weight| weight == 0.0), "{later:?}");
}

#[test]
fn every_target_word_is_aligned_to_a_word_of_the_source() {
    let translator = load(&joint(1));
    let attention = translator
        .attention(
            "the house  is small",
            " a small dog ",
            &Languages::default(),
        )
        .unwrap();
    let pairs = word_alignment(&attention, AlignmentOptions::default());
    assert_eq!(
        pairs.iter().map(|(_, target)| *target).collect::<Vec<_>>(),
        [0, 1, 2]
    );
    assert!(pairs.iter().all(|(source, _)| *source < 4), "{pairs:?}");
    let empty = translator
        .attention("", "a dog", &Languages::default())
        .unwrap();
    assert_eq!(word_alignment(&empty, AlignmentOptions::default()), []);
}

#[test]
fn an_ensemble_has_no_attention_to_show() {
    let one = joint(1);
    let two = joint(2);
    let both = Translator::load_as(&[&one, &two], &Device::default(), None).unwrap();
    let error = both
        .attention("the dog", "a dog", &Languages::default())
        .unwrap_err();
    assert!(matches!(error, InferError::NoAttention), "{error}");
}
