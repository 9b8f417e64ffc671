use super::*;

/// The memory of files with these names and texts, from English into German.
fn read(files: &[(&str, String)]) -> Result<Split> {
    let folder = tempfile::tempdir().unwrap();
    let paths: Vec<PathBuf> = files
        .iter()
        .map(|(name, text): &(&str, String)| {
            let path = folder.path().join(name);
            fs::write(&path, text).unwrap();
            path
        })
        .collect();
    Split::read(&paths, [Some("en"), Some("de")], |_| Role::New)
}

/// A word for each number.
fn word(mut number: usize) -> String {
    let mut word = String::new();
    while word.len() < 3 {
        word.push(char::from(b'a' + (number % 26) as u8));
        number /= 26;
    }
    word
}

fn pair(number: usize) -> Pair {
    let word = word(number);
    [
        format!("The {word} is here."),
        format!("Das {word} ist hier."),
    ]
}

/// Lines of `count` pairs that begin with the number `first`.
fn lines(first: usize, count: usize, separator: &str) -> String {
    (first..first + count)
        .map(|number| pair(number).join(separator) + "\n")
        .collect()
}

fn po(count: usize) -> String {
    (0..count)
        .map(|number| {
            let [source, target] = pair(number);
            format!("msgid \"{source}\"\nmsgstr \"{target}\"\n\n")
        })
        .collect()
}

/// One language of a unit of TMX.
fn variant(language: &str, text: &str) -> String {
    format!("<tuv xml:lang=\"{language}\"><seg>{text}</seg></tuv>")
}

fn tmx(times: impl Iterator<Item = usize>) -> String {
    let units: String = times
        .enumerate()
        .map(|(number, time): (usize, usize)| {
            let [source, target] = pair(number);
            let source = variant("en-GB", &source);
            let target = variant("DE", &target);
            format!("<tu changedate=\"202601{time:02}T101500Z\">{source}{target}</tu>\n")
        })
        .collect();
    format!(
        "<?xml version=\"1.0\"?>\n<tmx version=\"1.4\"><header srclang=\"en\"/><body>\n{units}</body></tmx>\n"
    )
}

fn xliff(count: usize) -> String {
    let units: String = (0..count).map(|number| {
        let [source, target] = pair(number);
        format!(
            "<trans-unit id='{number}'><source>{source}</source><target>{target}</target></trans-unit>\n"
        )
    }).collect();
    format!(
        "<xliff version='1.2'><file source-language='en' target-language='de-AT'>{units}</file></xliff>"
    )
}

#[test]
fn every_form_of_a_memory_has_the_same_pairs() {
    let csv = format!("\"The \"\"word\"\" of it,\nis\";Ja\n{}", lines(0, 100, ";"));
    let [en, de] = [0, 1].map(|side| {
        lines(0, 100, "\t")
            .lines()
            .map(|line: &str| line.split('\t').nth(side).unwrap().to_string() + "\n")
            .collect::<String>()
    });
    for files in [
        vec![("a.po", po(100))],
        vec![("a.tsv", lines(0, 100, "\t"))],
        vec![("a.csv", csv)],
        vec![("a.csv", lines(0, 100, "|"))],
        vec![("a.tmx", tmx([1; 100].into_iter()))],
        vec![("a.xlf", xliff(100))],
        vec![("a.en", en), ("a.de", de)],
    ] {
        let split = read(&files).unwrap();
        let count = split.train.len() + split.held.len();
        assert!((100..=101).contains(&count), "{}: {split}", files[0].0);
        assert!(
            (22..45).contains(&split.held.len()),
            "{}: {split}",
            files[0].0
        );
        let all: HashSet<&Pair> = split.train.iter().chain(&split.held).collect();
        assert!((0..100).all(|number| all.contains(&pair(number))));
    }
}

#[test]
fn held_out_sources_are_not_learned_in_any_spelling() {
    let text = lines(0, 100, "\t");
    let text = [
        text.clone(),
        text.replace(" ist ", " sei ").to_uppercase(),
        text.replace(" is", " 7 is"),
        text.replace(" is", " 88 is").replace('.', "!"),
    ];
    let split = read(&[("a.tsv", text.concat())]).unwrap();
    let held = split.held.iter();
    let held: HashSet<_> = held.map(|[source, _]| second_word(source)).collect();
    assert!(held.len() > 10 && split.train.len() > 200, "{split}");
    assert!(
        !split
            .train
            .iter()
            .any(|[source, _]| held.contains(&second_word(source)))
    );
}

fn second_word(source: &str) -> Option<String> {
    source.to_lowercase().split(' ').nth(1).map(String::from)
}

#[test]
fn learned_pairs_are_not_held_out_when_the_memory_grows() {
    let mut learned = HashSet::new();
    for count in [40, 90, 180, 250, 301, 500, 999, 1001, 1500, 4000] {
        let split = read(&[("a.tsv", lines(0, count, "\t"))]).unwrap();
        assert!(
            split.held.iter().all(|pair| !learned.contains(pair)),
            "{count}"
        );
        assert!((5..260).contains(&split.held.len()), "{split}");
        assert_eq!(split.division, "by the hash of the source");
        learned.extend(split.train);
    }
}

#[test]
fn files_with_times_hold_out_the_latest_pairs() {
    let split = read(&[("a.tmx", tmx((0..100).map(|number| 1 + number % 20)))]).unwrap();
    assert_eq!((split.division, split.held.len()), ("the latest", 35));
    let latest = (0..100)
        .filter(|number| number % 20 >= 13)
        .map(pair)
        .collect::<HashSet<_>>();
    assert_eq!(split.held.iter().cloned().collect::<HashSet<_>>(), latest);
}

#[test]
fn many_files_hold_out_whole_files() {
    let files: Vec<String> = (0..8).map(|file| lines(file * 20, 20, "\t")).collect();
    let names = [
        "a.tsv", "b.tsv", "c.tsv", "d.tsv", "e.tsv", "f.tsv", "g.tsv", "h.tsv",
    ];
    let split = read(&names.into_iter().zip(files).collect::<Vec<_>>()).unwrap();
    assert_eq!((split.division, split.held.len() % 20), ("whole files", 0));
    assert_eq!(split.held_files.len() * 20, split.held.len());
}

#[test]
fn pairs_that_teach_nothing_are_counted_and_terms_are_found() {
    let useless = "Same\tSame\n123\t456\n\tleer\nA word\tEin Wort\nA  word\tein Wort\nHouse\tHaus\nHouse\tHaus\n\
         Open\tOffen\nOpen\tÖffnen\n";
    let long = format!("One\t{}\n", "sehr lang ".repeat(20));
    let split = read(&[("a.tsv", lines(0, 50, "\t") + useless + &long)]).unwrap();
    assert_eq!(
        split.counts.0,
        [
            ("messages read", 60),
            ("equal to their source", 1),
            ("without words", 2),
            ("duplicates", 2),
            ("of far lengths", 1)
        ]
    );
    assert_eq!(split.terms, [["House".to_string(), "Haus".to_string()]]);
}

#[test]
fn pairs_have_no_markup_and_each_sentence_is_a_pair() {
    let html = "msgid \"<b>One</b> cat. Two %(name)s dogs.\"\nmsgstr \"<b>Eine</b> Katze. Zwei %(name)s Hunde.\"\n\n";
    let split = read(&[("a.po", html.to_string() + &po(40))]).unwrap();
    let all: Vec<&Pair> = split.train.iter().chain(&split.held).collect();
    for pair in [
        ["One cat.", "Eine Katze."],
        ["Two %(name)s dogs.", "Zwei %(name)s Hunde."],
    ] {
        assert!(all.iter().any(|known| **known == pair), "{pair:?}");
    }
}

#[test]
fn a_memory_that_cannot_be_used_is_refused_with_a_remedy() {
    let fuzzy = po(30).replace("msgid", "#, fuzzy\nmsgid");
    for (files, needle) in [
        (vec![("a.tsv", lines(0, 5, "\t"))], "5 usable pairs"),
        (vec![("a.po", fuzzy)], "30 fuzzy"),
        (
            vec![("a.tmx", tmx([1; 30].into_iter()).replace("DE", "fr"))],
            "but in en-GB, fr; add the other `tuv`, empty where it is to be translated, or take a memory of the model's",
        ),
        (
            vec![(
                "a.tmx",
                tmx([1; 30].into_iter()).replace("</tu>\n</body>", "</body>"),
            )],
            "a.tmx: line 32: the XML is broken",
        ),
        (
            vec![("a.tmx", "<xliff/>".into())],
            "a.tmx: line 1: the file is no TMX",
        ),
        (
            vec![("a.xlf", xliff(30).replace("de-AT", "fr"))],
            "a.xlf: line 1: the catalogue is in",
        ),
        (
            vec![("a.xlf", xliff(30).replace("</file>", ""))],
            "a.xlf: line 31: the XML is broken",
        ),
        (
            vec![("a.csv", lines(0, 30, ";") + "a;b;c\n")],
            "a.csv:31: the row has 3 columns",
        ),
        (vec![("a.txt", "one\n".into())], "name two texts"),
        (vec![("a.po", po(30) + "msgid \"x\n")], "a.po: line 91: "),
    ] {
        let error = format!("{:#}", read(&files).err().unwrap());
        assert!(error.contains(needle), "{needle}: {error}");
    }
}
