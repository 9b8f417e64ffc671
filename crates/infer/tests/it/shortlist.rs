//! Shortlists over real models and a model directory: fewer products, the same numbers.

use std::sync::Arc;

use crate::common::{NAMES, Reference};
use crate::toy::Toy;
use burn::tensor::Device;
use burnformer_core::ComputeType;
use burnformer_infer::{
    Batching, Hypothesis, NeuralModel, Request, SearchSettings, Shortlist, ShortlistError,
    StepModel, TranslateOptions, Translator, search, vocabularies,
};
use proptest::prelude::*;

/// Every reference model in each compute type.
fn models() -> impl Iterator<Item = NeuralModel> {
    let each = |name| ComputeType::ALL.map(|compute| Reference::load(name).model_in(compute));
    NAMES.into_iter().flat_map(each)
}

const SOURCES: [&[u32]; 3] = [&[5, 9, 4, 2], &[7, 2], &[11, 3, 3, 8, 20, 2]];
const LISTS: [&[u32]; 3] = [&[2, 3, 9, 17], &[2, 21], &[2, 4, 5, 6, 9, 10, 23]];

/// On the CPU each logit is one sum, whichever others are computed.
#[test]
fn listed_logits_equal_the_full_logits_bit_for_bit() {
    for model in models() {
        let vocab = model.target_vocab();
        let mut all = model.start(&SOURCES);
        let mut listed = model.start_listed(&SOURCES, &LISTS);
        // One row per sentence, then two rows of the first and the last sentence.
        for (tokens, sentences) in [
            (&[1; 3][..], &[0, 1, 2][..]),
            (&[9, 3, 4, 6], &[0, 0, 2, 2]),
        ] {
            let every = all.step(tokens);
            let some = listed.step(tokens);
            let rows = every.chunks_exact(vocab).zip(sentences);
            let expected = rows
                .flat_map(|(row, &list)| LISTS[list].iter().map(|&id| row[id as usize].to_bits()));
            let expected: Vec<u32> = expected.collect();
            assert_eq!(
                some.into_iter().map(f32::to_bits).collect::<Vec<u32>>(),
                expected
            );
            for decoding in [&mut all, &mut listed] {
                if tokens.len() == 3 {
                    decoding.reorder(&[0, 0, 2, 2], Some(&[0, 2]));
                }
            }
        }
    }
}

fn translate(model: &NeuralModel, requests: &[Request], batch: usize) -> Vec<Vec<Hypothesis>> {
    let settings = SearchSettings {
        n_best: 1,
        ..SearchSettings::beam(4, 0.6)
    };
    let batching = Batching {
        max_sentences: batch,
        ..Batching::default()
    };
    search(model, requests, &settings, &batching).unwrap()
}

#[test]
fn a_shortlist_of_all_tokens_changes_no_bit() {
    for model in models() {
        let free: Vec<Request> = SOURCES
            .iter()
            .map(|ids| Request::new(ids.to_vec()))
            .collect();
        let all: Vec<u32> = (0..model.target_vocab() as u32).collect();
        let with = |request: &Request| Request {
            shortlist: Some(all.clone()),
            ..request.clone()
        };
        let listed: Vec<Request> = free.iter().map(with).collect();
        assert_eq!(translate(&model, &listed, 64), translate(&model, &free, 64));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 30, failure_persistence: None, ..Default::default() })]

    /// mozilla/translations#977: with one list for a whole batch they do.
    #[test]
    fn shortlists_of_neighbours_do_not_change_a_translation(
        sentences in prop::collection::vec(
            (prop::collection::vec(3..24u32, 1..9), prop::collection::vec(3..24u32, 0..12)), 1..9),
        which in 0..NAMES.len(),
        batch in 1..9usize,
    ) {
        for compute in ComputeType::ALL {
            let model = Reference::load(NAMES[which]).model_in(compute);
            let request = |(source, list): &(Vec<u32>, Vec<u32>)| {
                Request { shortlist: Some(list.clone()), ..Request::new(source.clone()) }
            };
            let requests: Vec<Request> = sentences.iter().map(request).collect();
            let together = translate(&model, &requests, batch);
            for (request, hypotheses) in requests.iter().zip(together) {
                let alone = translate(&model, std::slice::from_ref(request), 1).remove(0);
                prop_assert_eq!(&hypotheses[0].tokens, &alone[0].tokens);
                let list = request.shortlist.as_deref().unwrap();
                prop_assert!(hypotheses[0].tokens.iter().all(|id| *id == 2 || list.contains(id)));
            }
        }
    }
}

fn toy() -> Translator {
    Translator::load(Toy::new().path(), &Device::default()).unwrap()
}

/// One that lists a few tokens for each token.
fn shortlist(translator: &Translator) -> Shortlist {
    let lists = (0..280)
        .map(|id| vec![id, (id * 7) % 280, (id * 11) % 280])
        .collect();
    Shortlist::new(
        vocabularies(translator.tokenizers()),
        vec![100, 260, 270],
        lists,
    )
    .unwrap()
}

#[test]
fn a_translator_lists_the_tokens_of_each_source() {
    let translator = toy();
    let shortlist = Arc::new(shortlist(&translator));
    translator.check_shortlist(&shortlist).unwrap();
    let free = translator.options();
    let options = TranslateOptions {
        shortlist: Some(shortlist.clone()),
        ..free.clone()
    };
    let sources = [
        "the house",
        "a dog sees the small house",
        "",
        "\u{1f600} unknown",
    ];
    let found = translator.translate(&sources, &options).unwrap();
    for (source, translation) in sources.iter().zip(&found) {
        let ids = translator.tokenizers().source.encode(source);
        let allowed = shortlist.tokens_for(&ids);
        assert!(
            translation
                .tokens
                .iter()
                .all(|id| *id == 2 || allowed.binary_search(id).is_ok())
        );
        assert_eq!(
            translator.translate(&[source], &options).unwrap()[0].text,
            translation.text
        );
    }
    let others = translator.translate(&sources, &free).unwrap();
    assert!(
        found
            .iter()
            .zip(&others)
            .any(|(translation, other)| translation.text != other.text)
    );
    let mut request = Request::new(translator.tokenizers().source.encode(sources[0]));
    request.shortlist = Some(vec![9]);
    let hypothesis = translator
        .translate_ids(vec![request.into()], &options)
        .unwrap()
        .remove(0)
        .remove(0);
    assert!(
        hypothesis.tokens.iter().all(|id| [2, 9].contains(id)),
        "a list of its own goes first"
    );
}

#[test]
fn a_shortlist_of_another_model_is_refused() {
    let translator = toy();
    let mut other = vocabularies(translator.tokenizers());
    other.tokenizers = Some(["a".into(), "a".into()]);
    let foreign = Shortlist::new(other, vec![], vec![]).unwrap();
    let error = translator.check_shortlist(&foreign).unwrap_err();
    assert!(matches!(error, ShortlistError::Tokenizer(..)));
    assert!(
        error.to_string().contains("burnformer shortlist"),
        "{error}"
    );
}
