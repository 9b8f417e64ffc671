//! Numbers converted to another language's format, checked with Python's babel (CLDR).

use crate::{Writing, apply_edits};

fn written(from: &str, into: &str, source: &str, translation: &str) -> String {
    let changes = Writing::between(from, into).map(|writing| writing.changes(source, translation));
    apply_edits(translation, &changes.unwrap_or_default())
}

#[test]
fn an_amount_is_written_as_the_language_of_the_translation_does() {
    let mut lines = include_str!("writing.tsv")
        .lines()
        .skip(1)
        .map(|line| line.split('\t'));
    let languages: Vec<&str> = lines.next().unwrap().collect();
    for numbers in lines {
        let numbers: Vec<&str> = numbers.collect();
        for (from, source) in languages.iter().zip(&numbers) {
            for (into, right) in languages.iter().zip(&numbers) {
                let sentence = |number: &str| format!("Es waren -{number} km, ca. {number} €.");
                let given = sentence(source);
                // Spaces of any width separate groups.
                let blanks = |text: String| text.replace(char::is_whitespace, " ");
                let found = blanks(written(from, into, &given, &given));
                assert_eq!(found, blanks(sentence(right)), "{from} {into}");
                assert_eq!(
                    written(from, into, &given, &sentence(right)),
                    sentence(right)
                );
            }
        }
    }
}

#[test]
fn amounts_are_found_in_sentences() {
    for (from, into, source, translation, right) in [
        (
            "de",
            "en",
            "Das kostet 1,5 Euro.",
            "It costs 1,5 euros.",
            "It costs 1.5 euros.",
        ),
        (
            "en",
            "de",
            "It costs $1.50.",
            "Es kostet 1.50 $.",
            "Es kostet 1,50 $.",
        ),
        (
            "de",
            "en",
            "Es waren 12500 da.",
            "There were 12.500.",
            "There were 12,500.",
        ),
        (
            "de",
            "en",
            "Er ist 1,80m groß.",
            "He is 1,80m.",
            "He is 1.80m.",
        ),
        (
            "en",
            "de",
            "about 1.5-2.5 percent",
            "etwa 1.5-2.5 Prozent",
            "etwa 1,5-2,5 Prozent",
        ),
        (
            "en",
            "fr",
            "2.5 million people",
            "2.5 millions de gens",
            "2,5 millions de gens",
        ),
        ("ja", "de", "3.5倍です。", "3.5 Mal.", "3,5 Mal."),
        (
            "de",
            "ja",
            "Es sind 3,5 Stunden.",
            "3,5時間です。",
            "3.5時間です。",
        ),
        (
            "ru",
            "en",
            "Это 12 500 рублей.",
            "It is 12 500 roubles.",
            "It is 12,500 roubles.",
        ),
        (
            "en",
            "hi",
            "It has 1,234,567 people.",
            "1,234,567 लोग",
            "12,34,567 लोग",
        ),
        (
            "en",
            "de",
            "On May 8 2024 we met.",
            "Am May 8 2024 war es.",
            "Am Mai 8 2024 war es.",
        ),
        (
            "de",
            "en",
            "Am 3. Oktober kam er.",
            "On 3. Oktober he came.",
            "On 3. October he came.",
        ),
        ("de", "fr", "im März 2020", "en März 2020", "en mars 2020"),
        (
            "deu_Latn",
            "eng",
            "Das sind 1,5 %.",
            "It is 1,5 %.",
            "It is 1.5 %.",
        ),
        (
            "de-AT",
            "de-CH",
            "Das sind 1,5 %.",
            "Das sind 1,5 %.",
            "Das sind 1.5 %.",
        ),
        (
            "de",
            "en",
            "1.000 g sind 1 kg.",
            "1.000 g are 1 kg.",
            "1,000 g are 1 kg.",
        ),
        (
            "de",
            "en",
            "Es hat 0,00 Euro.",
            "It has 0.000 euros.",
            "It has 0.00 euros.",
        ),
        (
            "de",
            "en",
            "1'250.50 Franken",
            "1'250,50 francs",
            "1'250.50 francs",
        ),
        ("de", "en", "am 5.6. um 8", "at 5,6 8", "at 5.6 8"),
        (
            "de",
            "en",
            "2,5 Mrd. Euro.",
            "2,5 Mrd. euros.",
            "2.5 billion euros.",
        ),
        (
            "en",
            "de",
            "1 million people",
            "1 million Leute",
            "1 Million Leute",
        ),
        (
            "en",
            "fr",
            "3 trillion dollars",
            "3 trillion dollars",
            "3 billions dollars",
        ),
        ("fr", "en", "2 milliards", "2 milliards", "2 billion"),
        ("de", "en", "3 Billionen", "3 Billionen", "3 trillion"),
        (
            "ru",
            "de",
            "5 млн рублей",
            "5 млн Rubel",
            "5 Millionen Rubel",
        ),
        ("de", "en", "3 Millionen", "3 million", "3 million"),
        ("en", "de", "0.5 to 1.5 m", "0.5 bis 1.5 m", "0,5 bis 1,5 m"),
        (
            "en",
            "de",
            "It is 3.14159.",
            "Es ist 3.14159.",
            "Es ist 3,14159.",
        ),
        (
            "en",
            "de",
            "a scale of 1:10,000",
            "Maßstab 1:10,000",
            "Maßstab 1:10.000",
        ),
        ("de", "en", "1:25.000", "1:25.000", "1:25,000"),
        ("de", "en", "(etwa 0,5 l)", "(about 0,5 l)", "(about 0.5 l)"),
    ] {
        assert_eq!(written(from, into, source, translation), right);
    }
}

#[test]
fn a_number_that_may_not_be_an_amount_stays() {
    for (from, into, text) in [
        ("en", "de", "Version 1.5 ist da."),
        ("en", "de", "Python 3.11 und USB 3.0"),
        ("en", "de", "Siehe Kapitel 4.2, Fig. 3.1, § 5.1 und v2.0."),
        ("en", "de", "Am 12.5. um 14.30 Uhr, 7.12.1941"),
        ("de", "en", "192.168.100.200 und 1.2.3 und 030.123.456"),
        ("de", "en", "Nr. 12.500 und Tel. 12.500"),
        ("de", "en", "14:30 und 3:2 und 1/2 und 2024-05-12"),
        ("en", "de", "(100,200) und A1,500"),
        ("de", "en", "3.5 oder 1.23"),
        ("de", "nl", "Das kostet 1,5 Euro."),
        ("de", "xx", "Das kostet 1,5 Euro."),
        ("en", "de", "Version 0.5 and 1.5 are old."),
        ("en", "de", "at 14:30.5 and 2:05:30.500"),
        ("fa", "de", "۱٫۵ یورو"),
        ("en", "de", "Version 1.5 kostet 1.5 Euro."),
        (
            "en",
            "de",
            "{0:1.5} euros, https://a.org/1.5 and `1.5 euros`",
        ),
        ("de", "en", "Ruf +1 202 5550123 an."),
        ("en", "de", "Of 8 may come 5, and 3 march on."),
    ] {
        assert_eq!(written(from, into, text, text), text);
    }
}
