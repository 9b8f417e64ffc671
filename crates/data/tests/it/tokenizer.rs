//! The tokenisers: round trips, exact sizes, and the same bytes every time.

use std::process::Command;

use burnformer_data::{Tokenizer, TokenizerSettings, special};
use proptest::prelude::*;
use unicode_normalization::UnicodeNormalization;

fn text() -> Vec<String> {
    let nouns =
        ["Haus", "Straße", "house", "street", "l'homme", "été", "Mädchen", "girl", "dog", "Hund"];
    let verbs = ["sieht", "sees", "voit", "doesn't see", "geht", "walks", "läuft"];
    let parts = ["ber", "lin", "mar", "so", "ver", "ton", "gra", "ei"];
    let sentence = |i: usize| {
        let name: String = [i, i / 8, i / 64].map(|k| parts[k % 8]).concat();
        let (noun, verb, other) = (nouns[i % 10], verbs[i % 7], nouns[i * 3 % 10]);
        format!("The {noun} {verb} the {other} of {name}, {} times.", i % 100)
    };
    (0..600).map(sentence).collect()
}

fn trained(vocab_size: usize) -> Tokenizer {
    let settings =
        TokenizerSettings { character_coverage: 1.0, ..TokenizerSettings::bpe(vocab_size) };
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
    fn no_input_and_no_ids_make_it_fail(text in any::<String>(), ids in prop::collection::vec(0u32..500, 0..30)) {
        thread_local! { static TOKENIZERS: [Tokenizer; 2] = both(); }
        TOKENIZERS.with(|all| all.iter().for_each(|tokenizer| {
            prop_assert_ids(tokenizer, &text);
            tokenizer.decode(&ids);
        }));
    }
}

fn prop_assert_ids(tokenizer: &Tokenizer, text: &str) {
    let highest = tokenizer.vocab_size() as u32;
    assert!(tokenizer.encode(text).iter().all(|&id| id > special::UNK && id < highest), "{text:?}");
}

#[test]
fn unseen_scripts_and_emoji_are_spelt_in_bytes() {
    for tokenizer in both() {
        for text in
            ["日本語のテキスト。", "👩‍👩‍👧 family", "Ελληνικά, русский", "العربية", "x² ≠ ½", "𝔘𝔫𝔦"]
        {
            round_trips(&tokenizer, &text.nfc().collect::<String>());
        }
        assert_eq!(tokenizer.encode("猫").len(), 4, "▁ and three bytes");
    }
}

#[test]
fn white_space_collapses_and_control_characters_vanish() {
    for tokenizer in both() {
        let plain = tokenizer.encode("the dog");
        for text in ["  the dog ", "the\u{a0}dog", "the \t dog\r", "\u{feff}the\u{0} dog\u{7}"] {
            assert_eq!(tokenizer.encode(text), plain, "{text:?}");
        }
        assert!(tokenizer.encode(" \u{0} ").is_empty());
    }
}

#[test]
fn composed_and_decomposed_letters_encode_alike() {
    for tokenizer in both() {
        assert_eq!(tokenizer.encode("e\u{301}te\u{301}"), tokenizer.encode("été"));
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
        let ids =
            [vec![special::BOS], tokenizer.encode("the dog"), vec![special::EOS, special::PAD]]
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
        let kinds = [char::is_alphabetic, char::is_numeric, |c: char| !c.is_alphanumeric()];
        assert!(kinds.iter().any(|kind| body.chars().all(kind)), "{token:?}");
        assert!(!token.chars().skip(1).any(|c| c == '▁'), "{token:?}");
    }
}

#[test]
fn digits_can_be_kept_apart() {
    let settings = TokenizerSettings { split_digits: true, ..TokenizerSettings::bpe(400) };
    let tokenizer = Tokenizer::train(text(), &settings).unwrap();
    let digits =
        |id: u32| tokenizer.token(id).unwrap().chars().filter(char::is_ascii_digit).count();
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

/// Not a claim of its own: what the test below runs in processes of their own, whose hash maps
/// differ.
#[test]
fn print_hashes() {
    both().iter().for_each(|tokenizer| println!("hash {}", tokenizer.hash()));
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
fn rare_characters_leave_the_alphabet_to_the_frequent_ones() {
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
fn the_words_of_pieces_are_those_that_white_space_separates() {
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
        assert_eq!(decoded.iter().map(|word| word.trim()).collect::<Vec<_>>(), expected);
        assert!(words.is_sorted());
    }
}

#[test]
fn a_piece_of_white_space_belongs_to_the_word_after_it_and_the_last_word_exists() {
    let [tokenizer, _] = both();
    let space = tokenizer.id("▁").unwrap();
    let word = tokenizer.encode("house");
    let ids = [&word[..], &[space, special::EOS]].concat();
    assert_eq!(*tokenizer.words_of(&ids).last().unwrap(), 0);
    let ids = [&word[..], &[space], &tokenizer.encode("12")[..]].concat();
    assert_eq!(tokenizer.words_of(&ids)[word.len()], 1);
    assert_eq!(tokenizer.words_of(&[special::BOS]), [0]);
}

/// Several invisible characters of each kind: controls, marks of direction, fillers, joiners,
/// selectors, tags.
const INVISIBLE: &str = "\0\u{1}\u{7F}\u{9F}\u{AD}\u{34F}\u{61C}\u{115F}\u{1160}\u{17B4}\u{180E}\u{200B}\u{200C}\
    \u{200D}\u{200E}\u{200F}\u{202A}\u{202E}\u{2060}\u{2061}\u{2064}\u{2066}\u{2069}\u{206A}\u{206F}\u{3164}\
    \u{FE00}\u{FE0F}\u{FEFF}\u{FFA0}\u{FFF9}\u{FFFB}\u{1BCA0}\u{1D173}\u{E0001}\u{E0020}\u{E007F}\u{E0100}";

#[test]
fn invisible_characters_change_no_ids_in_any_script() {
    let sentences = [
        "Die Größe des Hauses.",
        "The house (not this one)!",
        "L'été, où va-t-on ?",
        "Сколько стоит дом?",
        "هذا بيت كبير.",
        "این کتاب خوب است.",
        "यह एक बड़ा घर है।",
        "这是一座大房子。",
        "これは大きな家です。",
        "이것은 큰 집이다.",
        "นี่คือบ้านหลังใหญ่",
    ];
    let settings = TokenizerSettings { character_coverage: 1.0, ..TokenizerSettings::bpe(460) };
    let tokenizer = Tokenizer::train(sentences, &settings).unwrap();
    let invisible: Vec<char> = INVISIBLE.chars().collect();
    let dirty = |sentence: &str, at: usize| -> String {
        let joins = |c: &char| matches!(c, '\u{600}'..='\u{6FF}' | '\u{900}'..='\u{97F}');
        let chars: Vec<char> = sentence.chars().collect();
        let insert = |(index, &c): (usize, &char)| {
            let new = invisible[(index + at) % invisible.len()];
            let means = "\u{200C}\u{200D}".contains(new) && index > 0 && joins(&chars[index - 1]);
            [Some(new).filter(|_| !(means && joins(&c))), Some(c)]
        };
        chars.iter().enumerate().flat_map(insert).flatten().collect()
    };
    let texts = sentences
        .map(|sentence| (0..invisible.len()).map(|at| dirty(sentence, at)).collect::<Vec<_>>());
    let dirty_lines: Vec<&String> = texts.iter().flatten().cycle().take(1100).collect();
    let clean =
        Tokenizer::train(dirty_lines.iter().take(sentences.len() * invisible.len()), &settings);
    let repeated = sentences.iter().flat_map(|&line| std::iter::repeat_n(line, invisible.len()));
    let expected = Tokenizer::train(repeated, &settings).unwrap();
    assert_eq!(
        clean.unwrap().to_bytes(),
        expected.to_bytes(),
        "a corpus with them trains the same tokeniser"
    );
    for (sentence, texts) in sentences.iter().zip(&texts) {
        let ids = tokenizer.encode(sentence);
        texts.iter().for_each(|text| assert_eq!(tokenizer.encode(text), ids, "{text:?}"));
    }
    let together = tokenizer.encode_batch(&dirty_lines);
    let lines = dirty_lines.iter().zip(&together);
    lines.for_each(|(line, ids)| assert_eq!(ids, &tokenizer.encode(line), "{line:?}"));
    assert!(tokenizer.encode(INVISIBLE).is_empty());
    for text in ["می\u{200C}خواهم", "क्\u{200D}ष", "👩\u{200D}💻 1\u{FE0F}\u{20E3}"]
    {
        assert_eq!(tokenizer.decode(&tokenizer.encode(text)), text);
    }
}

/// A `tokenizer.json` that spells no characters in bytes.
fn without_bytes() -> Tokenizer {
    let bytes = trained(400).to_bytes();
    let mut json: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
    json["model"]["byte_fallback"] = false.into();
    Tokenizer::from_bytes("t".as_ref(), &serde_json::to_vec(&json).unwrap()).unwrap()
}

#[test]
fn unknown_tokens_have_the_texts_that_they_stand_for_and_copy_texts() {
    let tokenizer = without_bytes();
    for (text, unknown) in [
        ("The dog sees 7 €.", &["€"][..]),
        ("€uro 東京 has 5 €¥ dogs\u{AD}☃", &["€", "東京", "€¥", "☃"]),
        ("The dog", &[]),
        ("☃", &["☃"]),
    ] {
        let ids = tokenizer.encode(text);
        assert_eq!(ids.iter().filter(|&&id| id == special::UNK).count(), unknown.len(), "{text}");
        let texts = tokenizer.unknown_texts(text);
        assert_eq!(texts, unknown, "{text}");
        assert_eq!(tokenizer.decode_copying(&ids, &texts), text.replace('\u{AD}', ""));
    }
}

/// The normaliser of T5 and Marian makes a space of a zero-width space; soft hyphens it leaves.
#[test]
fn a_normaliser_of_its_own_comes_before_the_rule() {
    let mut json: serde_json::Value = serde_json::from_slice(&trained(400).to_bytes()).unwrap();
    let step =
        serde_json::json!({"type": "Replace", "pattern": {"String": "\u{200B}"}, "content": " "});
    json["normalizer"]["normalizers"].as_array_mut().unwrap().insert(0, step);
    let tokenizer =
        Tokenizer::from_bytes("t".as_ref(), &serde_json::to_vec(&json).unwrap()).unwrap();
    let same = |a: &str, b: &str| assert_eq!(tokenizer.encode(a), tokenizer.encode(b), "{a:?}");
    same("\u{200B}The\u{200B}dog\u{200B}", "The dog");
    same("The d\u{AD}og\u{200E}\u{1}", "The dog");
}

/// Texts of letters of many scripts with every invisible character between them, and at random.
fn texts_with_invisible_characters() -> Vec<String> {
    let neighbours = [
        ["a", "b"],
        ["ß", " "],
        ["م", "ی"],
        ["क", "ष"],
        ["क्", "ष"],
        ["র", "্য"],
        ["ന്", " "],
        ["ᠮ", "ᠣ"],
        ["👨", "👩"],
        ["❤", "🔥"],
        ["1", "\u{20E3}"],
        ["#", "x"],
        ["🏴", "a"],
        ["𓂋", "𓏏"],
        ["東", "京"],
        ["한", "국"],
        ["ท", "ย"],
        ["ខ", "្ម"],
        ["", "."],
        ["7", ""],
        ["🏽", "🚀"],
        ["©", "™"],
    ];
    let invisible: Vec<char> =
        ('\0'..=char::MAX).filter(|&c| burnformer_text::is_invisible(c)).collect();
    let step = |c: &&char| u32::from(**c) < 0xE0100 || u32::from(**c).is_multiple_of(97);
    let between = invisible
        .iter()
        .filter(step)
        .flat_map(|c| neighbours.map(|[before, after]| format!("x {before}{c}{after} y")));
    let special: Vec<char> =
        "\u{200C}\u{200D}\u{FE0E}\u{FE0F}\u{E0067}\u{E007F}\u{180B}\u{13430}\u{AD}\u{200B}\u{2800}"
            .chars()
            .collect();
    let mut state = 3u32;
    let mut random = move |below: usize| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 16) as usize % below
    };
    let mut at_random = || -> String {
        let part = |random: &mut dyn FnMut(usize) -> usize| match random(2) {
            0 => special[random(special.len())].to_string(),
            _ => neighbours[random(neighbours.len())][random(2)].to_owned(),
        };
        (0..8).map(|_| part(&mut random)).collect()
    };
    let random: Vec<String> = (0..4000).map(|_| at_random()).collect();
    between.chain(random).collect()
}

/// The library alone, and Python's package where `BURNFORMER_TOKENIZERS` names an interpreter that
/// has it, read a `tokenizer.json` of ours as we do.
#[test]
fn other_readers_of_a_tokenizer_json_give_the_same_ids() {
    let texts = texts_with_invisible_characters();
    let settings = TokenizerSettings { allow_smaller: true, ..TokenizerSettings::bpe(460) };
    let tokenizer = Tokenizer::train(&texts, &settings).unwrap();
    let bytes = tokenizer.to_bytes();
    let again = Tokenizer::from_bytes("tokenizer.json".as_ref(), &bytes).unwrap();
    assert_eq!(again.to_bytes(), bytes);
    let library = tokenizers::Tokenizer::from_bytes(&bytes).unwrap();
    let ids = tokenizer.encode_batch(&texts);
    for (text, ids) in texts.iter().zip(&ids) {
        assert_eq!(library.encode(text.as_str(), false).unwrap().get_ids(), ids, "{text:?}");
        assert_eq!(&again.encode(text), ids, "{text:?}");
    }
    let Ok(python) = std::env::var("BURNFORMER_TOKENIZERS") else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    std::fs::write(path("tokenizer.json"), &bytes).unwrap();
    std::fs::write(path("texts.json"), serde_json::to_vec(&(texts, ids)).unwrap()).unwrap();
    let script = "import json, tokenizers as t
reader = t.Tokenizer.from_file('tokenizer.json')
texts, ids = json.load(open('texts.json', encoding='utf-8'))
other = [(text, known) for text, known in zip(texts, ids) if reader.encode(text).ids != known]
assert not other, (len(other), other[:5])";
    let run =
        Command::new(python).args(["-c", script]).current_dir(folder.path()).output().unwrap();
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
}
