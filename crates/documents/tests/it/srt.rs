//! Subtitles.

use crate::common::{identity, reverse, translate, upper};
use burnformer_documents::{Document, Format, Link, PendingSentence, Translated};

const SUBTITLES: &str = "1\r\n00:00:01,000 --> 00:00:02,000\r\n<i>Hello there,</i>\r\nmy good friend.\r\n\r\n\
    2\r\n00:00:03,000 --> 00:00:04,000 X1:1\r\n{\\an8}- Hi!\r\n- Bye!\r\n\r\n\
    3\r\n00:00:05,000 --> 00:00:06,000\r\n\r\n\
    4\r\n00:00:07,000 --> 00:00:08,000\r\n♪ 12 ♪\r\n5\r\n00:00:09,000 --> 00:00:10,000\r\nI <3 you";

/// Tags within a word, as in karaoke, keep their order at its letters, whatever words the
/// translation adds.
#[test]
fn tags_within_words_keep_their_order_beside_added_words() {
    let added = |sentence: &PendingSentence| {
        let mut text = String::new();
        let mut links = Vec::new();
        for word in sentence.text.split_inclusive(' ') {
            let start = text.len();
            text.push_str(word.trim_end());
            text.push_str(" also");
            let at = word.as_ptr() as usize - sentence.text.as_ptr() as usize;
            links.push(Link {
                source: at..at + word.trim_end().len(),
                target: start..text.len(),
            });
            text.push_str(&word[word.trim_end().len()..]);
        }
        Translated { text, links }
    };
    let syllables = ["ya", "sa", "shi", "i", "u", "n", "cha", "o"];
    let head = "[Script Info]\n\n[Events]\nFormat: Layer, Start, End, Style, Name, MarginL, MarginR, MarginV, Effect, Text\n";
    for count in 2..=5 {
        for first in 0..syllables.len() {
            let all = syllables.iter().cycle().skip(first).take(count);
            let word: Vec<String> = all
                .enumerate()
                .map(|(number, it)| format!("{{\\k{number}}}{it}"))
                .collect();
            let word = word.concat();
            let line =
                format!("Dialogue: 0,0:00:01.00,0:00:02.00,A,,0,0,0,,{word}{{\\k9}} {word}\n");
            let source = format!("{head}{line}");
            let after = translate(&source, Format::Ass, &added);
            assert!(after.contains(" also"), "{after}");
            assert_eq!(after.replace(" also", ""), source);
        }
    }
}

#[test]
fn subtitles_come_back_byte_for_byte_if_nothing_changes() {
    assert_eq!(translate(SUBTITLES, Format::Srt, &identity), SUBTITLES);
}

#[test]
fn numbers_times_tags_and_lines_stay() {
    let expected = SUBTITLES
        .replace("Hello there,", "HELLO THERE,")
        .replace("my good friend.", "MY GOOD FRIEND.")
        .replace("Hi!", "HI!")
        .replace("Bye!", "BYE!")
        .replace("I <3 you", "I <3 YOU");
    assert_eq!(translate(SUBTITLES, Format::Srt, &upper), expected);
}

/// Players read MicroDVD's codes in SubRip too. Other braces are placeholders, or text.
#[test]
fn codes_of_microdvd_are_tags() {
    let cue = |text: &str| format!("1\n00:00:01,000 --> 00:00:02,000\n{text}\n");
    for code in [
        "{y:i}",
        "{Y:b,u}",
        "{C:$0000FF}",
        "{c:$ff}",
        "{F:Arial}",
        "{f:Times New Roman}",
        "{s:18}",
        "{S:9}",
        "{P:1}",
        "{H:ANSI}",
        "{o:0,0}",
    ] {
        let text = cue(&format!("{code}a dog"));
        let expected = cue(&format!("{code}A DOG"));
        assert_eq!(translate(&text, Format::Srt, &upper), expected);
    }
    for (text, expected) in [
        ("{dog: cat}", "{dog: cat}"),
        ("{x:i} a dog", "{x:i} A DOG"),
        ("{y} a dog", "{y} A DOG"),
        ("a {dog} {c:", "A {dog} {C:"),
    ] {
        assert_eq!(translate(&cue(text), Format::Srt, &upper), cue(expected));
    }
}

#[test]
fn a_subtitle_keeps_its_number_of_lines() {
    let text = "1\n00:00:01,000 --> 00:00:02,000\none two three\nfour five <b>six</b>\n";
    assert_eq!(
        translate(text, Format::Srt, &reverse),
        "1\n00:00:01,000 --> 00:00:02,000\n<b>six</b> five four\nthree two one\n"
    );
}

#[test]
fn each_speaker_of_a_dialogue_is_translated_alone() {
    let says = |lines: &str| {
        let text = format!("1\n00:00:01,000 --> 00:00:02,000\n{lines}\n");
        let document = Document::parse(&text, Format::Srt, Some("en"), &|_| true);
        document
            .pending()
            .into_iter()
            .map(|sentence| sentence.text)
            .collect::<Vec<_>>()
    };
    assert_eq!(says("- Hello\n- Good day"), ["Hello", "Good day"]);
    assert_eq!(
        says("They sing.\n- Hello\n- Good day"),
        ["They sing.", "Hello", "Good day"]
    );
    assert_eq!(
        says("- Hello my\ngood friend\n- Good day"),
        ["Hello my good friend", "Good day"]
    );
    assert_eq!(
        says("It is late\n- too late - for us"),
        ["It is late - too late - for us"]
    );
}

/// Speakers in capitals stay, and a sound in brackets is translated without the words beside it, in
/// every format and with every kind of tag.
#[test]
fn speakers_and_sounds_are_not_parts_of_a_sentence() {
    let ass_head = "[Events]\nDialogue: 0,0:00:01.00,0:00:02.00,D,,0,0,0,,";
    let files = [
        (
            Format::Srt,
            "1\n00:00:01,000 --> 00:00:02,000\n",
            "\n",
            "\n",
        ),
        (
            Format::Srt,
            "WEBVTT\n\n00:01.000 --> 00:02.000\n",
            "\n",
            "\n",
        ),
        (Format::Ass, ass_head, "\\N", "\n"),
    ];
    for (speech, sentences) in [
        ("[music plays]", &["music plays"][..]),
        ("ANNA: I am here.", &["I am here."]),
        ("ANNA (sadly): I am¶here.", &["I am here."]),
        (
            "[door slams] I am here. [music]",
            &["door slams", "I am here.", "music"],
        ),
        ("(laughs)¶I am here.", &["laughs", "I am here."]),
        (
            "- ANNA: I am here.¶- [sighs] No.",
            &["I am here.", "sighs", "No."],
        ),
        ("I am (not) here (today)", &["I am (not) here (today)"]),
        ("WARNING: DOOR", &["WARNING: DOOR"]),
    ] {
        for (format, head, newline, end) in files {
            let text = format!("{head}{}{end}", speech.replace('¶', newline));
            let document = Document::parse(&text, format, Some("en"), &|_| true);
            let pending: Vec<String> = document.pending().into_iter().map(|it| it.text).collect();
            assert_eq!(pending, sentences, "{text}");
            let found = translate(&text, format, &upper);
            assert_eq!(found.to_lowercase(), text.to_lowercase());
            assert_eq!(found.matches("ANNA").count(), text.matches("ANNA").count());
            assert_eq!(translate(&text, format, &identity), text);
        }
    }
}

#[test]
fn a_line_never_ends_within_a_protected_part() {
    // The nearest space to the middle of the translation is the one in the part.
    let model = |sentence: &PendingSentence| {
        let text = "x {{ user.name }} y z".replace(
            "{{ user.name }}",
            match sentence.text.contains("{{") {
                true => "{{ user.name }}",
                false => "",
            },
        );
        Translated {
            text,
            links: Vec::new(),
        }
    };
    let translated = |source: &str, format| translate(source, format, &model);
    for (before, after) in [("a", "b c d e f"), ("a b c", "d"), ("a b c d e f", "g")] {
        let lines = format!("{before} {{{{ user.name }}}}\n{after}\n");
        let subtitle = format!("1\n00:00:01,000 --> 00:00:02,000\n{lines}");
        for (source, format) in [(subtitle, Format::Srt), (lines, Format::Markdown)] {
            let found = translated(&source, format);
            assert!(found.contains("{{ user.name }}"), "{found}");
        }
    }
}

#[test]
fn a_translation_cannot_bring_tags_or_lines_in() {
    let model = |_: &PendingSentence| Translated {
        text: "<b>\n\n{\\an1} x".into(),
        links: Vec::new(),
    };
    let text = "1\n00:00:01,000 --> 00:00:02,000\nword\n";
    assert_eq!(
        translate(text, Format::Srt, &model),
        "1\n00:00:01,000 --> 00:00:02,000\n‹b>  (\\an1} x\n"
    );
}

/// A cue in the forms that players accept: `TIME` stands for the line of times, `|` for a line end.
#[test]
fn every_line_of_a_cue_is_translated() {
    for cue in [
        "1|TIME|One two.||three four.||2|TIME|five|",
        "1|TIME||one two.|three|2|TIME|four||",
        "1|TIME|one|TIME|two|3|TIME|three",
        "TIME|one||TIME||||two||||three",
        "7|TIME|42||one||8|TIME|12||9|TIME|two|",
        "1|TIME|one||2||TIME|two|",
        "1|TIME|  | one |\t|two|",
        "WEBVTT||intro|TIME align:start|<v Ann>one <c.red>two</c> <00:01.500>three||NOTE||2|TIME|four|",
    ] {
        for end in ["\n", "\r\n", "\r"] {
            for time in [
                "00:00:01,000 --> 00:00:02,000",
                "00:01.000 --> 00:02.000",
                "1:2:3.4 --> 1:2:5",
                "00:00:01.000-->00:00:02.000",
            ] {
                let text = cue.replace('|', end).replace("TIME", time);
                assert_eq!(translate(&text, Format::Srt, &identity), text);
                let expected = ["one", "two", "three", "four", "five", "One"]
                    .iter()
                    .fold(text.clone(), |text, word| {
                        text.replace(word, &word.to_uppercase())
                    });
                assert_eq!(translate(&text, Format::Srt, &upper), expected);
            }
        }
    }
}

#[test]
fn notes_and_names_of_cues_stay() {
    let text = "WEBVTT - a title\n\nSTYLE\n::cue { color: red }\n\nNOTE a b\n\nname\n00:01.000 --> 00:02.000\none\n\nNOTE\nc d\n";
    assert_eq!(
        translate(text, Format::Srt, &upper),
        text.replace("one", "ONE")
    );
}

#[test]
fn lines_behind_overrides_and_speakers_of_a_styled_subtitle_stay() {
    let tags = &["", "{\\i1}", "{\\an8}{\\i1}"];
    let ends = &["", "{\\i0}", "\\N", "{\\i0}\\N"];
    let lines = [
        "{\\an8}\\N|one two.\\N|three four.",
        "|- one two?\\N|- three four.",
        "|– one two?\\N|– three four!",
        "|one two\\N\\N|three four",
        "|one\\h\\htwo.\\N|Three four.",
        "{\\p1}m 0 0 l 9 0{\\p0}|one two.\\N|Three four.",
    ];
    for (line, tag, end) in lines.iter().flat_map(|line| {
        tags.iter()
            .flat_map(move |tag| ends.iter().map(move |end| (line, tag, end)))
    }) {
        let line = format!(
            "Dialogue: 0,0:00:01.00,0:00:03.00,Default,,0,0,0,,{}{end}",
            line.replace('|', tag)
        );
        assert_eq!(translate(&line, Format::Ass, &identity), line);
        if line.contains("\\h") {
            let upper_line = line.replace("one", "ONE").replace("two.", "TWO.");
            let upper_line = upper_line.replace("Three four", "THREE FOUR");
            assert_eq!(translate(&line, Format::Ass, &upper), upper_line);
            continue;
        }
        let reversed = [
            ("one two", "two one"),
            ("three four", "four three"),
            ("Three four", "four Three"),
        ];
        let expected = reversed
            .iter()
            .fold(line.clone(), |line, (from, into)| line.replace(from, into));
        assert_eq!(translate(&line, Format::Ass, &reverse), expected);
    }
}

/// The references of WebVTT are text, and a text that looks like a tag is written with them.
#[test]
fn references_of_webvtt_are_text() {
    let file = |text: &str| format!("WEBVTT\n\n00:01.000 --> 00:02.000\n{text}\n");
    for (text, seen, expected) in [
        ("the &lt;i&gt; dog", "the <i> dog", "THE &lt;i&gt; DOG"),
        (
            "<i>the dog</i> &amp; the cat",
            "the dog & the cat",
            "<i>THE DOG</i> &amp; THE CAT",
        ),
        ("the&nbsp;dog", "the\u{a0}dog", "THE&nbsp;DOG"),
        ("a --&gt; b dog", "a --> b dog", "A --&gt; B DOG"),
        ("the < dog & cat", "the < dog & cat", "THE < DOG & CAT"),
        ("the &#233; dog", "the é dog", "THE &#233; DOG"),
    ] {
        let all = std::cell::RefCell::new(String::new());
        let found = translate(&file(text), Format::Srt, &|it| {
            all.borrow_mut().push_str(&it.text);
            let capitals = |text: &str| match text {
                "<i>" => text.to_owned(),
                _ => text.to_ascii_uppercase(),
            };
            let words = it.text.split(' ').map(capitals);
            Translated {
                text: words.collect::<Vec<_>>().join(" "),
                ..identity(it)
            }
        });
        assert_eq!(all.into_inner(), seen);
        assert_eq!(found, file(expected));
        assert_eq!(translate(&file(text), Format::Srt, &identity), file(text));
    }
    // SubRip has no references.
    let text = "1\n00:00:01,000 --> 00:00:02,000\nthe &lt;i&gt; dog\n";
    let found = translate(text, Format::Srt, &upper);
    assert_eq!(found, text.replace("the", "THE").replace("dog", "DOG"));
}

/// What looks like a tag or a reference is written by references.
#[test]
fn any_text_is_a_text_of_webvtt() {
    let pieces = ["<", ">", "&", "i", "&lt;", "--", " ", "</", "é", "\u{a0}"];
    for number in 0..pieces.len().pow(3) {
        let text: String = (0..3)
            .map(|place| pieces[number / pieces.len().pow(place) % pieces.len()])
            .collect();
        let text = format!("x{text}x");
        let source = "WEBVTT\n\n00:01.000 --> 00:02.000\nthe dog\n";
        let found = translate(source, Format::Srt, &|_| Translated {
            text: text.clone(),
            links: Vec::new(),
        });
        let cue = found.lines().nth(3).unwrap();
        assert!(!cue.contains(['<', '>']), "{cue}");
        let read = cue
            .replace("&lt;", "<")
            .replace("&gt;", ">")
            .replace("&amp;", "&");
        let shown = text.split_whitespace().collect::<Vec<_>>();
        assert_eq!(read.split_whitespace().collect::<Vec<_>>(), shown, "{cue}");
    }
}
