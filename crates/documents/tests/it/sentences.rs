//! Sentences in ten scripts. Each goes to the model alone, because models omit sentences from
//! longer texts.

use burnformer_documents::{Document, Format, Splitting};
use proptest::prelude::*;

fn sentences(text: &str, language: &str, format: Format) -> Vec<String> {
    let document = Document::parse(text, format, Some(language), &|_| true);
    document
        .pending()
        .into_iter()
        .map(|sentence| sentence.text)
        .collect()
}

/// A language, the text between two sentences, and sentences.
const SCRIPTS: &[(&str, &str, &[&str])] = &[
    (
        "de",
        " ",
        &[
            "Das Haus ist alt.",
            "Wer wohnt hier?",
            "Niemand weiß es!",
            "Er bleibt bis zum 3. Mai.",
            "Wir gehen.",
        ],
    ),
    (
        "en",
        " ",
        &[
            "The house is old.",
            "Who lives here?",
            "Nobody knows!",
            "He paid 3.5 dollars.",
            "We go.",
        ],
    ),
    (
        "fr",
        " ",
        &[
            "La maison est vieille.",
            "Qui habite ici ?",
            "Personne ne sait !",
            "Il est parti.",
            "Nous partons.",
        ],
    ),
    (
        "ru",
        " ",
        &[
            "Дом старый.",
            "Кто здесь живёт?",
            "Никто не знает!",
            "Он ушёл.",
            "Мы идём.",
        ],
    ),
    (
        "ar",
        " ",
        &["البيت قديم.", "من يعيش هنا؟", "لا أحد يعرف!", "لقد رحل."],
    ),
    (
        "hi",
        " ",
        &[
            "घर पुराना है।",
            "यहाँ कौन रहता है?",
            "कोई नहीं जानता!",
            "वह चला गया।",
        ],
    ),
    (
        "zh",
        "",
        &["房子很旧。", "谁住在这里？", "没有人知道！", "他走了。"],
    ),
    (
        "ja",
        "",
        &[
            "家は古いです。",
            "誰が住んでいますか？",
            "誰も知りません！",
            "彼は行きました。",
        ],
    ),
    (
        "ko",
        " ",
        &[
            "집이 오래되었습니다.",
            "누가 여기 살아요?",
            "아무도 몰라요!",
            "그는 갔어요.",
        ],
    ),
    (
        "th",
        " ",
        &["บ้านหลังนี้เก่า", "ใครอยู่ที่นี่?", "ไม่มีใครรู้!", "เขาไปแล้ว"],
    ),
];

/// Sentences with a beginning that no capital marks; `_` is the name of a language without case.
const UNMARKED: &[(&str, &[&str])] = &[
    (
        "de",
        &[
            "npm lädt die Pakete.",
            "iPhone und iPad sind neu.",
            "ich komme später.",
            "https://a.org/b erklärt es.",
            "3 Leute kamen.",
            "/usr/bin enthält Programme.",
            "{name} ist da.",
            "--help zeigt die Hilfe.",
            "$HOME ist gesetzt.",
            "(siehe unten, wie es geht.)",
            "@anna schreibt.",
            "#thema ist neu.",
            ".gitignore nennt sie.",
            "a.b@c.org antwortet.",
            "`cargo` baut alles.",
        ],
    ),
    (
        "en",
        &[
            "npm loads the packages.",
            "iOS is new.",
            "i come later.",
            "https://a.org/b explains it.",
            "3 people came.",
            "/usr/bin holds programs.",
            "{name} is here.",
            "--help shows it.",
            "(see below.)",
            "`cargo` builds it.",
        ],
    ),
    (
        "fr",
        &[
            "npm charge les paquets.",
            "https://a.org/b l'explique.",
            "3 personnes sont venues.",
            "élodie est là.",
            "{name} est là.",
        ],
    ),
    (
        "ru",
        &[
            "npm загружает пакеты.",
            "https://a.org/b это объясняет.",
            "3 человека пришли.",
            "я приду.",
            "{name} здесь.",
        ],
    ),
    ("_", &["npm 2024.", "https://a.org/b xyz.", "{name} xyz."]),
];

#[test]
fn sentences_of_ten_scripts_are_divided() {
    for (language, between, all) in SCRIPTS {
        // Thai ends few sentences with a mark.
        if *language == "th" {
            continue;
        }
        for shift in 0..all.len() {
            let turned: Vec<&str> = all
                .iter()
                .cycle()
                .skip(shift)
                .take(all.len())
                .copied()
                .collect();
            assert_eq!(
                sentences(&turned.join(between), language, Format::Text),
                turned
            );
        }
    }
}

#[test]
fn a_sentence_may_begin_with_code_an_address_a_number_or_a_small_letter() {
    for (language, _, all) in SCRIPTS.iter().filter(|(language, ..)| *language != "th") {
        let unmarked = UNMARKED.iter().find(|(code, _)| code == language);
        let unmarked = unmarked.or(UNMARKED.last()).unwrap().1;
        for (before, next) in all
            .iter()
            .flat_map(|before| unmarked.iter().map(move |next| (before, next)))
        {
            let text = format!("{before} {next} {}", all[0]);
            let expected: Vec<String> = [before, next, &all[0]]
                .map(|text| text.to_string())
                .to_vec();
            let found = sentences(&text, language, Format::Text);
            assert_eq!(found, expected, "{language}");
        }
    }
}

#[test]
fn a_sentence_may_begin_with_an_element_of_code() {
    let page = "<p>Das ist gut. <code>foo</code> ist neu. <kbd>a b</kbd> auch.</p>";
    assert_eq!(
        sentences(page, "de", Format::Html),
        ["Das ist gut.", "foo ist neu.", "a b auch."]
    );
}

/// An abbreviation and a text with it that is one sentence; `|` divides two.
#[test]
fn abbreviations_end_no_sentence() {
    for (language, text) in [
        ("de", "Das kostet 5 Euro inkl. MwSt. und Versand."),
        ("de", "Rufen Sie Tel. 030 12 an."),
        ("de", "Ich sprach mit Hrn. Müller und Frl. Schmidt."),
        ("de", "Wir treffen uns ggf. morgen, bzw. am Montag."),
        ("de", "Siehe Abb. 3 auf S. 12 bzw. Kap. 4."),
        (
            "de",
            "Er wohnt in der Bonner Str. 5 und arbeitet z. B. hier.",
        ),
        ("de", "Inkl. Steuer kostet es zzgl. Porto ca. 5 Euro."),
        (
            "de",
            "Obst, Gemüse usw. kaufen wir u. a. dort.|Das ist gut.",
        ),
        ("de", "Wir kaufen Obst, Gemüse usw.|Das ist gut."),
        ("de", "Er misst 5 km.|Das ist weit."),
        ("de", "Ich mag HTML.|Peter auch."),
        ("de", "Am 3. Oktober kam er.|Es war der 5.|Das war gut."),
        ("de", "Die röm.-kath. Kirche u. die evang. Gemeinde bauen."),
        ("en", "It weighs approx. five kg incl. packaging."),
        ("en", "Call tel. 030 or see fig. 3 in vol. 2."),
        (
            "en",
            "Mr. Smith met Gen. Lee, Sgt. Pepper etc. in the U.S. last May.",
        ),
        ("en", "We buy apples, pears etc.|They are good."),
        ("en", "He lives on Main St. near Dr. Jones."),
        ("fr", "Voir fig. 3 et chap. 2, p. 5, etc. dans le vol. 1."),
        ("fr", "M. Dupont et Mme. Durand habitent av. Foch."),
        (
            "fr",
            "Il achète des pommes, des poires, etc.|Elles sont bonnes.",
        ),
        ("es", "El Sr. López vive en la Avda. Principal, núm. 5."),
        ("it", "Il Sig. Rossi vede la fig. 3 a pag. 5 del vol. 2."),
        ("pt", "O Sr. Silva mora na Av. Brasil, núm. 5."),
        ("nl", "Dhr. Jansen koopt o.a. appels, bijv. hier, blz. 5."),
        ("ru", "Он живёт на ул. Ленина, д. 5, кв. 7, в г. Москве."),
        ("ru", "Это было в 1990 г.|Он ушёл."),
        (
            "ru",
            "Проф. И. И. Иванов жил в с. Ивановка и т. д.|Это всё.",
        ),
        ("ko", "그는 2024. 5. 3.에 왔다."),
        ("ar", "ذهب د. أحمد إلى البيت."),
        ("hi", "डॉ. शर्मा आए।"),
        ("hu", "1990. május 5-én született.|Ez jó."),
        (
            "en",
            "See sec. 3.2.|foo.bar() works.|Version 2.0.|v3 is next.",
        ),
        ("en", "He was born in 2020.|3 people came."),
        ("de", "Preis: 5 €.|10 € mehr.|20 % weniger.|3 % mehr."),
        (
            "de",
            "Ich habe es gesehen.|(Und gehört.)|[Auch gelesen.]|Gut.",
        ),
        (
            "de",
            "Dipl.-Ing. Hans Meier u. Prof. Dr. med. K. Huber kamen lt. Plan.",
        ),
        ("pl", "Zobacz np. rys. 3 na str. 5, tj. tutaj."),
        ("cs", "Viz např. obr. 3 na str. 5, tj. zde."),
    ] {
        let expected: Vec<&str> = text.split('|').collect();
        assert_eq!(
            sentences(&expected.join(" "), language, Format::Text),
            expected,
            "{language}"
        );
    }
}

#[test]
fn direct_speech_is_not_cut_from_the_particle_behind_it() {
    for (language, text) in [
        ("ko", "그는 \"안녕하세요.\"라고 말했다.|나는 웃었다."),
        ("ko", "\"어디 가요?\"하고 물었다.|그는 갔다."),
        ("ko", "“정말이에요!”라며 웃었다."),
        ("ja", "彼は「おはよう。」と言った。|私は笑った。"),
        ("ja", "「行くの？」って聞いた。"),
        ("zh", "“你好。”|“你好吗？”"),
        ("zh", "他说好。|npm很好。|3个人来了。"),
        ("ja", "（笑）そう。|npmは良い。|3人来た。|終わり！？|え？"),
        ("tr", "\"Geldim.\" dedi."),
        ("hu", "„Jövök.” – mondta."),
        ("de", "„Geh weg.“ sagte er.|Dann ging er."),
        ("de", "„Geh weg!“, rief er."),
        ("de", "„Geh weg.“|Er ging."),
        ("ar", "قال \"نعم.\"ثم ذهب."),
    ] {
        let expected: Vec<&str> = text.split('|').collect();
        let between = if language == "zh" || language == "ja" {
            ""
        } else {
            " "
        };
        assert_eq!(
            sentences(&expected.join(between), language, Format::Text),
            expected
        );
    }
}

#[test]
fn a_sentence_in_brackets_or_quotes_is_not_divided_at_a_small_letter() {
    for text in [
        "Er kam (endlich. und spät) an.",
        "Er rief „ja. nein. doch“ und ging.",
    ] {
        assert_eq!(sentences(text, "de", Format::Text), [text]);
    }
}

#[test]
fn a_pronoun_or_a_numeral_after_a_number_begins_a_sentence_in_german() {
    let expected = [
        "Er ist 30.",
        "Sie ist 20.",
        "Am 3. Mai kommt er mit dem 2. Zug.",
        "Das ist Zimmer 12.",
        "Ihr Koffer steht da.",
        "Hier sind die Nummern 0 und 7.",
        "Zwei Kinder spielen.",
        "Wir wohnen seit dem 20. Jahrhundert hier.",
    ];
    assert_eq!(sentences(&expected.join(" "), "de", Format::Text), expected);
}

/// Words that lists of abbreviations have, and that end sentences far more often.
const ORDINARY: &[(&str, &[&str])] = &[
    (
        "de",
        &[
            "Frag nicht mich.",
            "Das gehört dir.",
            "Tom sagt, dass er dich mag.",
        ],
    ),
    (
        "en",
        &[
            "Don't ask me.",
            "I said no.",
            "She is ill.",
            "Everything is OK.",
        ],
    ),
    ("fr", &["Il aime l'art.", "Tom a pris le vol."]),
    (
        "es",
        &["Dijo que no.", "Vive junto al mar.", "Todo va bien."],
    ),
    (
        "it",
        &[
            "Tom è al bar.",
            "Non lo so.",
            "Parla con me.",
            "Vive negli USA.",
        ],
    ),
    ("nl", &["Ik weet dat.", "Geef hem een hand."]),
    ("da", &["Jeg kan godt lide det form.", "Han slog sig ned."]),
    ("sv", &["Jag vet det.", "Ingen såg hon.", "Han gick ut."]),
];

#[test]
fn an_ordinary_word_ends_a_sentence_though_it_can_be_an_abbreviation() {
    for (language, all) in ORDINARY {
        for sentence in *all {
            let text = format!("{sentence} Tom lacht.");
            let found = sentences(&text, language, Format::Text);
            assert_eq!(found, [*sentence, "Tom lacht."], "{language}");
        }
    }
    for (language, text) in [
        ("en", "See art. II and vol. IV."),
        ("en", "It is no. 5 of the list."),
        ("fr", "Voir art. II et vol. IV du code."),
        ("de", "Das steht bei Dr. Müller auf S. 5 in Art. 3."),
    ] {
        assert_eq!(
            sentences(text, language, Format::Text),
            [text],
            "{language}"
        );
    }
}

/// Prints how many lines of the file `BURNFORMER_LINES`, each a sentence in the language
/// `BURNFORMER_LANGUAGE`, are found again when ten are joined.
#[test]
#[ignore = "needs a file of sentences"]
fn joined_sentences_are_found_again() {
    let path = std::env::var("BURNFORMER_LINES").expect("BURNFORMER_LINES names a file");
    let language = std::env::var("BURNFORMER_LANGUAGE").expect("BURNFORMER_LANGUAGE is set");
    let text = std::fs::read_to_string(path).expect("the file is text");
    let lines: Vec<&str> = text
        .lines()
        .map(str::trim)
        .filter(|it| !it.is_empty())
        .collect();
    let mut found = 0;
    for ten in lines.chunks(10) {
        let sentences = sentences(&ten.join(" "), &language, Format::Text);
        found += ten
            .iter()
            .filter(|line| sentences.iter().any(|it| it == *line))
            .count();
    }
    println!("{found} of {}", lines.len());
}

/// The sentences at the places of a plain text.
fn at_places(text: &str, language: &str) -> Vec<String> {
    let mut document = Document::read_text(text, Format::Text, Splitting::Lines);
    document.divide([Some(language), None], &|_| true);
    let places = document.sentence_places();
    let ends = places.iter().map(|place| place.end);
    let starts = places.iter().skip(1).map(|place| place.start);
    assert!(ends.zip(starts).all(|(end, start)| end <= start), "{text}");
    let texts = places.into_iter().map(|place| text[place].to_owned());
    texts.collect()
}

#[test]
fn the_places_of_sentences_are_those_that_are_translated() {
    for (language, between, expected) in SCRIPTS {
        for border in [between, "\n", "\n\n  - "] {
            let text = expected.join(border);
            let translated = sentences(&text, language, Format::Text);
            assert_eq!(at_places(&text, language), translated, "{text}");
            let marked = format!("\u{feff}{text}");
            assert_eq!(at_places(&marked, language), translated, "{text}");
            let document = Document::parse(&marked, Format::Text, Some(language), &|_| true);
            let places = document.sentence_places();
            let texts = places.into_iter().map(|place| marked[place].to_owned());
            assert_eq!(texts.collect::<Vec<_>>(), translated, "{text}");
        }
    }
}

#[test]
fn a_message_is_one_place_and_marks_of_lists_are_none() {
    let message = "{n, plural, one {One file. Read it.} other {# files.}}";
    let text = format!("1. Zwei Häuser. Dr. Müller kommt.\r\n\t{message}\r\n* \n…");
    let expected = ["Zwei Häuser.", "Dr. Müller kommt.", message];
    assert_eq!(at_places(&text, "de"), expected);
}

proptest! {
    #[test]
    fn nothing_with_a_letter_is_between_the_places_of_sentences(text in "([a-zÄéا字.!?…,:;\"'<>{}%@/0-9-]{1,8}[ \t\n\r]{0,3}){0,40}") {
        let sentences = at_places(&text, "de");
        assert!(sentences.iter().all(|sentence| sentence.trim() == sentence));
        let letters = |text: &str| text.chars().filter(|c| c.is_alphabetic()).count();
        assert_eq!(letters(&sentences.concat()), letters(&text), "{sentences:?}");
    }
}
