//! The tokenisers: round trips, exact sizes, and the same bytes every time.

mod unusual;

use std::process::Command;

use burnformer_data::{Tokenizer, TokenizerSettings, special};
use proptest::prelude::*;
use unicode_normalization::UnicodeNormalization;

fn text() -> Vec<String> {
    let nouns = [
        "Haus", "Straße", "house", "street", "l'homme", "été", "Mädchen", "girl", "dog", "Hund",
    ];
    let verbs = [
        "sieht",
        "sees",
        "voit",
        "doesn't see",
        "geht",
        "walks",
        "läuft",
    ];
    let parts = ["ber", "lin", "mar", "so", "ver", "ton", "gra", "ei"];
    let sentence = |i: usize| {
        let name: String = [i, i / 8, i / 64].map(|k| parts[k % 8]).concat();
        let (noun, verb, other) = (nouns[i % 10], verbs[i % 7], nouns[i * 3 % 10]);
        format!(
            "The {noun} {verb} the {other} of {name}, {} times.",
            i % 100
        )
    };
    (0..600).map(sentence).collect()
}

fn trained(vocab_size: usize) -> Tokenizer {
    let settings = TokenizerSettings {
        character_coverage: 1.0,
        ..TokenizerSettings::bpe(vocab_size)
    };
    Tokenizer::train(text(), &settings).unwrap()
}

fn both() -> [Tokenizer; 2] {
    [trained(400), unigram()]
}

/// A unigram model over the pieces of a trained tokeniser, as other programs write it.
fn unigram() -> Tokenizer {
    let mut json: serde_json::Value = serde_json::from_slice(&trained(340).to_bytes()).unwrap();
    json["model"] = crate::unigram_of(&json["model"]);
    Tokenizer::from_bytes("tokenizer.json".as_ref(), json.to_string().as_bytes()).unwrap()
}

/// NFC, single spaces, no invisible characters, and no `▁`, which stands for a space.
fn plain(text: &str) -> String {
    let kept = text.replace('▁', "");
    let normal: String = burnformer_text::visible(&kept).nfc().collect();
    normal.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn round_trips(tokenizer: &Tokenizer, text: &str) {
    let ids = tokenizer.encode(text);
    assert!(!ids.contains(&special::UNK), "{text:?}");
    assert_eq!(tokenizer.decode(&ids), text);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn plain_text_survives_encoding_and_decoding(text in "\\PC{0,40}") {
        let text = plain(&text);
        thread_local! { static TOKENIZERS: [Tokenizer; 2] = both(); }
        TOKENIZERS.with(|all| all.iter().for_each(|tokenizer| round_trips(tokenizer, &text)));
    }

    #[test]
    fn many_texts_together_get_the_ids_of_each_alone(
        texts in prop::collection::vec("(\\PC|[ \\x00-\\x20\\u{300}\\u{301}\\u{85}\\u{a0}\\u{3000}<>s/▁'’a]){0,14}", 1..30),
    ) {
        thread_local! { static TOKENIZERS: [Tokenizer; 2] = both(); }
        let many: Vec<&String> = texts.iter().cycle().take(1100).collect();
        TOKENIZERS.with(|all| all.iter().for_each(|tokenizer| {
            let together = tokenizer.encode_batch(&many);
            assert_eq!(together.len(), 1100);
            for (text, ids) in many.iter().zip(&together).take(2 * texts.len()) {
                assert_eq!(ids, &tokenizer.encode(text), "{text:?}");
            }
        }));
    }

    #[test]
    fn the_words_of_tokens_are_those_of_every_beginning(text in "(\\PC|[ a日\u{3000}é]){0,90}", special in 0u32..4) {
        thread_local! { static TOKENIZERS: [Tokenizer; 2] = both(); }
        TOKENIZERS.with(|all| all.iter().for_each(|tokenizer| {
            let ids = [&[special][..], &tokenizer.encode(&text), &[special]].concat();
            assert_eq!(tokenizer.words_of(&ids), words_by_definition(tokenizer, &ids), "{text:?}");
        }));
    }

    #[test]
    fn no_input_and_no_ids_make_it_fail(text in any::<String>(), ids in prop::collection::vec(0u32..500, 0..30)) {
        thread_local! { static TOKENIZERS: [Tokenizer; 2] = both(); }
        TOKENIZERS.with(|all| all.iter().for_each(|tokenizer| {
            prop_assert_ids(tokenizer, &text);
            tokenizer.decode(&ids);
        }));
    }
}

/// The word that each token continues or begins, by decoding all tokens up to it.
fn words_by_definition(tokenizer: &Tokenizer, ids: &[u32]) -> Vec<usize> {
    let words = tokenizer.decode(ids).split_whitespace().count();
    let word = |end: usize| {
        let text = tokenizer.decode(&ids[..end]);
        let begun = text.split_whitespace().count();
        if text.is_empty() || text.ends_with(char::is_whitespace) {
            begun.min(words.saturating_sub(1))
        } else {
            begun - 1
        }
    };
    (1..=ids.len()).map(word).collect()
}

fn prop_assert_ids(tokenizer: &Tokenizer, text: &str) {
    let highest = tokenizer.vocab_size() as u32;
    assert!(
        tokenizer
            .encode(text)
            .iter()
            .all(|&id| id > special::UNK && id < highest),
        "{text:?}"
    );
}

#[test]
fn unseen_scripts_and_emoji_are_spelt_in_bytes() {
    for tokenizer in both() {
        for text in [
            "日本語のテキスト。",
            "👩‍👩‍👧 family",
            "Ελληνικά, русский",
            "العربية",
            "x² ≠ ½",
            "𝔘𝔫𝔦",
        ] {
            round_trips(&tokenizer, &text.nfc().collect::<String>());
        }
        assert_eq!(tokenizer.encode("猫").len(), 4, "▁ and three bytes");
    }
}

#[test]
fn white_space_collapses_and_control_characters_vanish() {
    for tokenizer in both() {
        let plain = tokenizer.encode("the dog");
        for text in [
            "  the dog ",
            "the\u{a0}dog",
            "the \t dog\r",
            "\u{feff}the\u{0} dog\u{7}",
        ] {
            assert_eq!(tokenizer.encode(text), plain, "{text:?}");
        }
        assert!(tokenizer.encode(" \u{0} ").is_empty());
    }
}

#[test]
fn composed_and_decomposed_letters_encode_alike() {
    for tokenizer in both() {
        assert_eq!(
            tokenizer.encode("e\u{301}te\u{301}"),
            tokenizer.encode("été")
        );
    }
}

#[test]
fn text_that_looks_like_a_special_token_is_text() {
    for tokenizer in both() {
        for text in ["</s>", "a <pad> b", "<s>", "<unk>", "<0x41>"] {
            prop_assert_ids(&tokenizer, text);
            round_trips(&tokenizer, text);
        }
    }
}

#[test]
fn special_tokens_have_their_ids_and_are_not_decoded() {
    for tokenizer in both() {
        for (id, token) in (0..).zip(special::TOKENS) {
            assert_eq!(tokenizer.id(token), Some(id));
            assert_eq!(tokenizer.token(id).as_deref(), Some(token));
        }
        let ids = [
            vec![special::BOS],
            tokenizer.encode("the dog"),
            vec![special::EOS, special::PAD],
        ]
        .concat();
        assert_eq!(tokenizer.decode(&ids), "the dog");
    }
}

#[test]
fn the_vocabulary_has_exactly_the_size_asked_for() {
    for size in [300, 301, 333, 400] {
        assert_eq!(trained(size).vocab_size(), size);
    }
}

#[test]
fn pieces_never_mix_letters_digits_and_punctuation() {
    let tokenizer = trained(400);
    for id in 260..400 {
        let token = tokenizer.token(id).unwrap();
        let body = token.trim_start_matches('▁').trim_end_matches('\'');
        let kinds = [char::is_alphabetic, char::is_numeric, |c: char| {
            !c.is_alphanumeric()
        }];
        assert!(kinds.iter().any(|kind| body.chars().all(kind)), "{token:?}");
        assert!(!token.chars().skip(1).any(|c| c == '▁'), "{token:?}");
    }
}

#[test]
fn digits_can_be_kept_apart() {
    let settings = TokenizerSettings {
        split_digits: true,
        ..TokenizerSettings::bpe(400)
    };
    let tokenizer = Tokenizer::train(text(), &settings).unwrap();
    let digits = |id: u32| {
        tokenizer
            .token(id)
            .unwrap()
            .chars()
            .filter(char::is_ascii_digit)
            .count()
    };
    assert!((260..400).all(|id| digits(id) <= 1));
}

#[test]
fn a_batch_encodes_like_its_sentences() {
    let tokenizer = trained(400);
    let texts = text();
    let one_by_one: Vec<_> = texts.iter().map(|text| tokenizer.encode(text)).collect();
    assert_eq!(tokenizer.encode_batch(&texts), one_by_one);
}

#[test]
fn saving_and_loading_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    for tokenizer in both() {
        let path = folder.path().join("tokenizer.json");
        tokenizer.save(&path).unwrap();
        let loaded = Tokenizer::load(&path).unwrap();
        assert_eq!(loaded.hash(), tokenizer.hash());
        assert_eq!(loaded.vocab_size(), tokenizer.vocab_size());
        for text in text() {
            assert_eq!(loaded.encode(&text), tokenizer.encode(&text));
        }
    }
}

#[test]
fn a_loaded_file_neither_truncates_nor_pads() {
    let tokenizer = trained(400);
    let mut json: serde_json::Value = serde_json::from_slice(&tokenizer.to_bytes()).unwrap();
    json["truncation"] = serde_json::json!({
        "direction": "Right", "max_length": 2, "strategy": "LongestFirst", "stride": 0
    });
    json["padding"] = serde_json::json!({
        "strategy": {"Fixed": 50}, "direction": "Right", "pad_to_multiple_of": null,
        "pad_id": 0, "pad_type_id": 0, "pad_token": "<pad>"
    });
    let loaded = Tokenizer::from_bytes("x.json".as_ref(), &serde_json::to_vec(&json).unwrap());
    let text = "The dog walks the street.";
    assert_eq!(loaded.unwrap().encode(text), tokenizer.encode(text));
}

/// No claim: the test below runs this in separate processes, because their hash maps differ.
#[test]
fn print_hashes() {
    both()
        .iter()
        .for_each(|tokenizer| println!("hash {}", tokenizer.hash()));
}

#[test]
fn separate_processes_on_any_number_of_threads_train_the_same_bytes() {
    let hashes = |threads: &str| {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command
            .args(["--exact", "tokenizer::print_hashes", "--nocapture"])
            .env("RAYON_NUM_THREADS", threads);
        let output = String::from_utf8(command.output().unwrap().stdout).unwrap();
        output
            .lines()
            .filter_map(|line| Some(line.split_once("hash ")?.1.to_owned()))
            .collect::<Vec<_>>()
    };
    let first = hashes("1");
    assert_eq!(first.len(), 2, "{first:?}");
    for threads in ["1", "2", "5"] {
        assert_eq!(hashes(threads), first);
    }
}

#[test]
fn rare_characters_are_left_out_of_the_alphabet() {
    let lines: Vec<String> = text().into_iter().chain(["ŋ".to_owned()]).collect();
    let settings = |coverage| TokenizerSettings {
        character_coverage: coverage,
        ..TokenizerSettings::bpe(400)
    };
    let all = Tokenizer::train(&lines, &settings(1.0)).unwrap();
    let most = Tokenizer::train(&lines, &settings(0.9999)).unwrap();
    assert!(all.id("ŋ").is_some() && most.id("ŋ").is_none());
    round_trips(&most, "ŋ");
}

#[test]
fn words_of_pieces_are_separated_by_white_space() {
    for tokenizer in both() {
        let text = "The  house, l'homme of 漢字 \u{1F600} 12!";
        let ids = tokenizer.encode(text);
        let words = tokenizer.words_of(&ids);
        let expected: Vec<&str> = text.split_whitespace().collect();
        let word = |number: usize| {
            let pieces = ids.iter().zip(&words).filter(|(_, word)| **word == number);
            tokenizer.decode(&pieces.map(|(&id, _)| id).collect::<Vec<_>>())
        };
        let decoded: Vec<String> = (0..=*words.last().unwrap()).map(word).collect();
        assert_eq!(
            decoded.iter().map(|word| word.trim()).collect::<Vec<_>>(),
            expected
        );
        assert!(words.is_sorted());
    }
}

#[test]
fn a_piece_of_white_space_belongs_to_the_next_word_or_the_last() {
    let [tokenizer, _] = both();
    let space = tokenizer.id("▁").unwrap();
    let word = tokenizer.encode("house");
    let ids = [&word[..], &[space, special::EOS]].concat();
    assert_eq!(*tokenizer.words_of(&ids).last().unwrap(), 0);
    let ids = [&word[..], &[space], &tokenizer.encode("12")[..]].concat();
    assert_eq!(tokenizer.words_of(&ids)[word.len()], 1);
    assert_eq!(tokenizer.words_of(&[special::BOS]), [0]);
}
