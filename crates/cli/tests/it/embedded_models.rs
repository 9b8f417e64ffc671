//! The models inside the program, available before any training.

use std::path::{Path, PathBuf};
use std::process::Output;

use crate::common::{assert_refused, burnformer, stderr, stdout};

/// The output of the program with a new cache folder.
fn run(arguments: &[&str]) -> Output {
    let cache = tempfile::tempdir().unwrap();
    let mut command = burnformer(arguments);
    command.env("XDG_CACHE_HOME", cache.path());
    command.output().unwrap()
}

fn corpus(name: &str) -> PathBuf {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../assets/corpus/tatoeba-de-en");
    corpus.join(name)
}

#[test]
fn the_first_translation_needs_no_model_of_the_user() {
    let folder = tempfile::tempdir().unwrap();
    let text = folder.path().join("text.de");
    std::fs::write(&text, "Ich habe Hunger.\n\nWo ist der Bahnhof?\n").unwrap();
    let output = run(&["translate", "--input", text.to_str().unwrap()]);
    assert!(
        stderr(&output).contains("model: embedded:de-en"),
        "{}",
        stderr(&output)
    );
    let translated = stdout(&output);
    assert_eq!(translated, "I'm hungry.\n\nWhere is the station?\n");
    let output = run(&["attention", "Ich habe Hunger."]);
    assert!(stdout(&output).contains("hungry"), "{}", stdout(&output));
}

#[test]
fn unknown_capitals_are_translated_as_lower_case() {
    let folder = tempfile::tempdir().unwrap();
    let text = folder.path().join("text.de");
    std::fs::write(
        &text,
        "WO IST DER BAHNHOF?\nTOM\nICH HABE HUNGER.\nWEIßT DU DAS?\n",
    )
    .unwrap();
    let output = stdout(&run(&["translate", "--input", text.to_str().unwrap()]));
    assert_eq!(
        output,
        "WHERE'S THE STATION?\nTOM\nI'M HUNGRY.\nDO YOU KNOW THAT?\n"
    );
    std::fs::write(&text, "<p>DER HUND IST <b>ALT</b>.</p>\n").unwrap();
    let arguments = [
        "translate",
        "--format",
        "html",
        "--input",
        text.to_str().unwrap(),
    ];
    assert_eq!(stdout(&run(&arguments)), "<p>THE DOG IS <b>OLD</b>.</p>\n");
}

#[test]
fn numbers_keep_their_values_and_placeholders_their_text() {
    let folder = tempfile::tempdir().unwrap();
    let text = folder.path().join("text");
    let german = [
        ("Das kostet 1,5 Euro.", &["1,5", "1.5"][..]),
        ("Es kostet 12,50.", &["12,50", "12.50"]),
        ("Haus Nummer 231", &["231"]),
        ("Hallo {name}, wie geht es dir?", &["{name}"]),
        ("Du hast %1$d neue Nachrichten.", &["%1$d"]),
    ];
    let english = [
        (
            "7.8 billion people live here.",
            &["7,8 Milliarden", "7.8 Milliarden"][..],
        ),
        ("Hello %{user}!", &["%{user}"]),
    ];
    for (pair, cases) in [("de-en", &german[..]), ("en-de", &english)] {
        let lines: Vec<&str> = cases.iter().map(|(source, _)| *source).collect();
        std::fs::write(&text, lines.join("\n")).unwrap();
        let model = format!("embedded:{pair}");
        let arguments = [
            "translate",
            "--model",
            &model,
            "--input",
            text.to_str().unwrap(),
        ];
        for (translation, (_, any)) in stdout(&run(&arguments)).lines().zip(cases) {
            assert!(
                any.iter().any(|part| translation.contains(part)),
                "{any:?}: {translation}"
            );
        }
    }
}

#[test]
fn the_models_translate_the_test_text_as_well_as_their_card_says() {
    for (pair, source, target, least) in [
        ("de-en", "test.de.zst", "test.en.zst", 45.0),
        ("en-de", "test.en.zst", "test.de.zst", 35.0),
    ] {
        let [source, target] = [source, target].map(|name| corpus(name).display().to_string());
        let model = format!("embedded:{pair}");
        let arguments = [
            "eval-bleu",
            "--model",
            &model,
            "--source",
            &source,
            "--reference",
            &target,
            "--json",
        ];
        let scores = stdout(&run(&arguments));
        let score: serde_json::Value = serde_json::from_str(&scores).unwrap();
        assert!(score["score"].as_f64().unwrap() >= least, "{pair}: {score}");
    }
}

#[test]
fn a_score_of_nearly_nothing_asks_for_the_direction() {
    let folder = tempfile::tempdir().unwrap();
    let text =
        "Das Haus ist alt.\tThe house is old.\nWo ist der Hund?\tWhere is the dog?\n".repeat(10);
    let path = folder.path().join("text.tsv");
    std::fs::write(&path, text).unwrap();
    let path = path.to_str().unwrap();
    let asks = |model: &str| stderr(&run(&["eval-bleu", "--model", model, "--source", path]));
    assert!(asks("embedded:en-de").contains("does the model translate"));
    assert!(!asks("embedded:de-en").contains("does the model translate"));
}

#[test]
fn an_unknown_embedded_name_is_refused_with_the_known_names() {
    let output = run(&["inspect", "embedded:de-fr"]);
    assert_refused(&output, 2, &["de-fr", "embedded:de-en", "embedded:en-de"]);
}

#[test]
fn a_loop_is_searched_for_again_and_a_doubtful_translation_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let text = folder.path().join("text.de");
    let long = "Zitronen Zitronen Zitronen Dübel Kiwis Scheiben Lager Muttern Erlaubnis Zulassung Verordnung Mangos Mangos Mangos \
                Kiwis";
    let things =
        "Schrauben, Nägel, Scheiben, Lager, Hammer, Kolben, Nägel, Birnen, Muttern, Schrauben.";
    std::fs::write(&text, format!("Ich habe Hunger.\n{things}\n{long}\n")).unwrap();
    let arguments = ["translate", "--json", "--input", text.to_str().unwrap()];
    let output = run(&arguments);
    let lines: Vec<serde_json::Value> = stdout(&output)
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let seconds: Vec<bool> = lines
        .iter()
        .map(|line| line["second_search"].as_bool().unwrap())
        .collect();
    assert_eq!((seconds[0], seconds[1]), (false, true), "{lines:?}");
    assert_eq!(lines[0]["doubts"], serde_json::json!([]));
    assert_eq!(
        lines[1]["doubts"],
        serde_json::json!([]),
        "the second search found no loop"
    );
    assert_eq!(lines[2]["doubts"], serde_json::json!(["length"]));
    assert!(
        stderr(&output).contains("text.de:3: the translation is far"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn numbers_are_kept_unless_keep_parts_is_off_whatever_the_second_search() {
    let folder = tempfile::tempdir().unwrap();
    let text = folder.path().join("text.de");
    let numbers = ["49766", "3522557", "99923", "35433", "94583", "3838093"];
    let lines = numbers.map(|number| format!("Er hat {number} Birnen.\n"));
    std::fs::write(&text, lines.concat()).unwrap();
    let kept = |options: &[&str]| {
        let input = ["translate", "--input", text.to_str().unwrap()];
        let output = stdout(&run(&[&input[..], options].concat()));
        output
            .lines()
            .zip(numbers)
            .filter(|(line, number): &(&str, &str)| {
                let digits: String = line.chars().filter(char::is_ascii_digit).collect();
                digits == *number
            })
            .count()
    };
    for second_search in ["true", "false"] {
        let options = ["--second-search", second_search];
        assert_eq!(kept(&options), numbers.len(), "{options:?}");
        let without = [&options[..], &["--keep-parts", "false"]].concat();
        assert!(kept(&without) < numbers.len(), "{without:?}");
    }
}

#[test]
fn confidence_is_the_quality_that_translations_turn_out_to_have() {
    let folder = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| {
        burnformer(arguments)
            .env("XDG_CACHE_HOME", folder.path())
            .output()
            .unwrap()
    };
    stdout(&run(&["inspect", "embedded:de-en"]));
    let models = folder.path().join("burnformer/models");
    let unpacked = std::fs::read_dir(&models)
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    let model = folder.path().join("model");
    std::fs::create_dir(&model).unwrap();
    for file in std::fs::read_dir(&unpacked).unwrap().flatten() {
        std::fs::copy(file.path(), model.join(file.file_name())).unwrap();
    }
    let model = model.to_str().unwrap();
    let evaluate = |model: &str, part: &str, option: &str| {
        let [source, target] = ["de", "en"].map(|side| corpus(&format!("{part}.{side}.zst")));
        let [source, target] = [source.to_str().unwrap(), target.to_str().unwrap()];
        let texts = ["--source", source, "--reference", target, option];
        run(&[&["eval-bleu", "--beam", "1", "--model", model][..], &texts].concat())
    };
    let inside = evaluate("embedded:de-en", "valid", "--calibrate");
    assert_refused(&inside, 1, &["inside the program", "`cp -r "]);
    // Through a link, beside a file of the user that may change afterwards.
    let [link, notes] = ["link", "model/notes.txt"].map(|name| folder.path().join(name));
    std::fs::write(&notes, "keep").unwrap();
    std::os::unix::fs::symlink(model, &link).unwrap();
    stdout(&evaluate(link.to_str().unwrap(), "valid", "--calibrate"));
    assert!(link.is_symlink() && std::fs::read_to_string(&notes).unwrap() == "keep");
    std::fs::write(&notes, "more").unwrap();
    // The leftover of a killed command is written over; a folder of the user's stays.
    for folder in [".model.partial", "model.partial"].map(|name| folder.path().join(name)) {
        std::fs::create_dir(folder).unwrap();
    }
    stdout(&evaluate(model, "valid", "--calibrate"));
    let left = [".model.partial", "model.partial"].map(|name| folder.path().join(name).exists());
    assert_eq!(left, [false, true]);
    let table = stdout(&evaluate(model, "test", "--reliability"));
    let error: f64 = table.trim().rsplit(' ').next().unwrap().parse().unwrap();
    assert!(error < 0.06, "{table}");
    // The least and the most confident translations, at least twenty of each, differ as their
    // quality does.
    let tenths: Vec<Vec<f64>> = table
        .lines()
        .filter(|line| line.contains('–'))
        .map(|line| {
            line.split_whitespace()
                .skip(1)
                .map(|n| n.parse().unwrap())
                .collect()
        })
        .collect();
    let quality = |tenths: &mut dyn Iterator<Item = &Vec<f64>>| {
        let mut count = 0.0;
        let mut sum = 0.0;
        while count < 20.0 {
            let numbers = tenths.next().unwrap();
            (count, sum) = (count + numbers[0], sum + numbers[0] * numbers[2]);
        }
        sum / count
    };
    let [least, most] = [
        quality(&mut tenths.iter()),
        quality(&mut tenths.iter().rev()),
    ];
    assert!(least + 0.3 < most, "{least} {most} {table}");
}
