//! Translation with the previous sentences of a document, against the same ids without any notion
//! of context.

use burn::tensor::Device;
use burnformer_core::TransformerConfig;
use burnformer_data::special::SEPARATOR_TOKEN;
use burnformer_data::tokenizer::TokenizerTrainer;
use burnformer_data::{ContextSettings, Tokenizer, TokenizerSettings, Tokenizers};
use burnformer_infer::{
    GenerationSettings, InferError, NeuralModel, Request, SearchSettings, TextContext, TextRequest,
    Translator, TranslatorError, begin_documents,
};

/// Lines of three documents.
const LINES: [&str; 9] = [
    "the house is small",
    "a small dog",
    "the dog sees the house",
    "",
    "a dog",
    "the dog",
    " ",
    "",
    "a small house sees a dog and a small dog",
];

fn tokenizers(special: &[&str]) -> Tokenizers {
    let settings = TokenizerSettings::bpe(280);
    let special = special.iter().map(ToString::to_string).collect();
    let trainer = TokenizerTrainer::new(settings).unwrap();
    let mut trainer = trainer.with_special_tokens(special).unwrap();
    LINES.iter().for_each(|line| trainer.feed(line));
    Tokenizers::joint(trainer.train().unwrap())
}

fn settings(source: usize, target: usize, longest: usize) -> ContextSettings {
    ContextSettings {
        source,
        target,
        longest_source: longest,
        longest_target: longest,
    }
}

/// A translator with random weights, which translates greedily up to 8 tokens.
fn translator(context: Option<ContextSettings>) -> Translator {
    let config = TransformerConfig {
        d_ff: 32,
        ..TransformerConfig::tiny(280).with_width(16, 2)
    };
    let device = Device::default();
    let model = config.init(3, &device).unwrap();
    let generation = GenerationSettings {
        context,
        ..SearchSettings {
            max_length: Some(8),
            // Bytes of random characters would make all texts alike.
            suppress: (4..260).collect(),
            ..SearchSettings::greedy()
        }
        .into()
    };
    let model = NeuralModel::new(config, model, &device);
    let tokenizers = tokenizers(&[SEPARATOR_TOKEN]);
    Translator::new(Box::new(model), tokenizers, generation).unwrap()
}

/// The texts of `lines` by `translator`, each with its context.
fn translated(translator: &Translator, lines: &[&str]) -> Vec<String> {
    let options = translator.options();
    let mut requests = translator.requests(lines, &options).unwrap();
    let begins = begin_documents(lines);
    let history = TextContext::default();
    let found = translator.translate_documents(&mut requests, &begins, &history, &options);
    found.unwrap().into_iter().map(|it| it.text).collect()
}

fn separator(translator: &Translator) -> u32 {
    translator.tokenizers().source.separator().unwrap()
}

fn encode(tokenizer: &Tokenizer, text: &str) -> Vec<u32> {
    tokenizer.encode(text)
}

/// The translation of the ids `source` behind the ids `before` of a target, without any context.
fn plain(translator: &Translator, source: Vec<u32>, before: &[u32]) -> String {
    let mut options = translator.options();
    options.search.suppress.push(separator(translator));
    options.search.max_length = Some(8 + before.len());
    let request = Request {
        prefix: before.to_vec(),
        ..Request::new(source)
    };
    let found = translator.translate_ids(vec![request.into()], &options);
    let tokens = &found.unwrap()[0][0].tokens;
    translator
        .tokenizers()
        .target
        .decode(&tokens[before.len()..])
}

/// What `source` previous sources and `target` previous translations give, sentence by sentence.
fn expected(lines: &[&str], source: usize, target: usize) -> Vec<String> {
    let translator = translator(None);
    let tokenizer = &translator.tokenizers().source;
    let separator = separator(&translator);
    let mut document: Vec<(&str, String)> = Vec::new();
    let mut all = Vec::new();
    for line in lines {
        if line.trim().is_empty() {
            document.clear();
            all.push(String::new());
            continue;
        }
        let mut ids = Vec::new();
        for (before, _) in &document[document.len().saturating_sub(source)..] {
            ids.extend(encode(tokenizer, before));
            ids.push(separator);
        }
        ids.extend(encode(tokenizer, line));
        let mut prefix = Vec::new();
        for (_, before) in &document[document.len().saturating_sub(target)..] {
            prefix.extend(encode(tokenizer, before));
            prefix.push(separator);
        }
        let text = plain(&translator, ids, &prefix);
        document.push((line, text.clone()));
        all.push(text);
    }
    all
}

#[test]
fn previous_sources_stand_in_front_of_a_source() {
    for source in 1..4 {
        let translator = translator(Some(settings(source, 0, 999)));
        assert_eq!(translated(&translator, &LINES), expected(&LINES, source, 0));
    }
    let alone = translator(None);
    assert_eq!(translated(&alone, &LINES), expected(&LINES, 0, 0));
}

#[test]
fn previous_translations_are_forced_and_not_shown() {
    for (source, target) in [(1, 1), (2, 1), (3, 3)] {
        let translator = translator(Some(settings(source, target, 999)));
        let found = translated(&translator, &LINES);
        assert_eq!(found, expected(&LINES, source, target), "{source} {target}");
    }
}

#[test]
fn documents_that_are_translated_together_are_translated_as_alone() {
    for context in [settings(2, 0, 999), settings(2, 2, 999)] {
        let translator = translator(Some(context));
        let documents: Vec<&[&str]> = LINES.split(|line| line.trim().is_empty()).collect();
        let alone: Vec<String> = documents
            .iter()
            .flat_map(|document| translated(&translator, document))
            .collect();
        let mut together = translated(&translator, &LINES);
        together.retain(|text| !text.is_empty());
        assert_eq!(
            together,
            alone
                .into_iter()
                .filter(|it| !it.is_empty())
                .collect::<Vec<_>>()
        );
    }
}

#[test]
fn a_stream_in_chunks_is_translated_as_a_whole() {
    for context in [settings(2, 0, 999), settings(1, 1, 999)] {
        let translator = translator(Some(context));
        let options = translator.options();
        let whole = translated(&translator, &LINES);
        for size in 1..LINES.len() {
            let mut history = TextContext::default();
            let mut texts = Vec::new();
            for chunk in LINES.chunks(size) {
                let mut requests = translator.requests(chunk, &options).unwrap();
                let (found, failure) = translator.translate_documents_until_error(
                    &mut requests,
                    &begin_documents(chunk),
                    &mut history,
                    &options,
                    &|_| (),
                );
                assert!(failure.is_none());
                texts.extend(found.iter().map(|found| translator.text_of(&found[0])));
            }
            assert_eq!(texts, whole, "{size} lines at a time");
        }
    }
}

#[test]
fn a_context_that_does_not_fit_is_left_out_oldest_first() {
    let lines = [
        "the house is small",
        "a small dog",
        "the dog sees the house",
    ];
    let tokenizer = tokenizers(&[SEPARATOR_TOKEN]).source;
    let length = |line: usize| tokenizer.encode(lines[line]).len();
    let one = length(2) + length(1) + 1;
    let two = one + length(0) + 1;
    for (longest, count) in [(two, 2), (two - 1, 1), (one, 1), (one - 1, 0), (1, 0)] {
        let translator = translator(Some(settings(2, 0, longest)));
        let found = translated(&translator, &lines);
        assert_eq!(found[2], expected(&lines, count, 0)[2], "{longest}");
    }
}

#[test]
fn a_model_without_context_ignores_what_stands_before() {
    let translator = translator(None);
    let options = translator.options();
    let requests = translator.requests(&LINES, &options).unwrap();
    let with: Vec<TextRequest> = requests
        .iter()
        .map(|request| {
            let mut request = request.clone();
            request.context = TextContext::of_sources(["a small house"]);
            request
        })
        .collect();
    let found = translator.translate_ids(requests, &options).unwrap();
    assert_eq!(translator.translate_ids(with, &options).unwrap(), found);
}

#[test]
fn the_first_bad_sentence_ends_a_document() {
    let long = "a dog ".repeat(100);
    for context in [settings(1, 0, 999), settings(1, 1, 999)] {
        let translator = translator(Some(context));
        let mut options = translator.options();
        options.longest = 60;
        let lines = ["the dog", "", "a dog", &long, "the house"];
        let mut requests = translator.requests(&lines, &options).unwrap();
        let mut history = TextContext::default();
        let begins = begin_documents(&lines);
        let (found, failure) = translator.translate_documents_until_error(
            &mut requests,
            &begins,
            &mut history,
            &options,
            &|_| (),
        );
        assert_eq!(found.len(), 3);
        assert_eq!(failure.unwrap().sentence(), Some(4));
        assert_eq!(history.sources, ["a dog"]);
    }
}

#[test]
fn a_model_with_context_needs_a_separator() {
    let config = TransformerConfig::tiny(280).with_width(16, 2);
    let device = Device::default();
    let model = NeuralModel::new(config.clone(), config.init(3, &device).unwrap(), &device);
    let generation = GenerationSettings {
        context: Some(settings(1, 0, 9)),
        ..GenerationSettings::default()
    };
    let refused = Translator::new(Box::new(model), tokenizers(&[]), generation).err();
    assert!(matches!(
        refused,
        Some(InferError::Translator(TranslatorError::NoSeparator(
            "source"
        )))
    ));
}

#[test]
fn settings_without_context_are_written_as_before() {
    let written = |settings: &GenerationSettings| serde_json::to_string(settings).unwrap();
    let none = GenerationSettings::default();
    assert!(!written(&none).contains("context"));
    let with = GenerationSettings {
        context: Some(settings(2, 1, 256)),
        ..none
    };
    let read =
        GenerationSettings::from_bytes("generation.json".as_ref(), written(&with).as_bytes());
    assert_eq!(read.unwrap(), with);
}
