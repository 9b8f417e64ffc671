use super::*;
use crate::settings::{AtLimit, BeamRule, LengthPenalty, Sampling};

/// The settings in a file with the content `text`.
fn parsed(text: &str) -> Result<GenerationSettings> {
    GenerationSettings::from_bytes(Path::new(GENERATION_FILE), text.as_bytes())
}

/// The `settings` with `changes`, a JSON object.
fn changed(settings: &GenerationSettings, changes: &Value) -> Result<GenerationSettings> {
    settings.with(changes.as_object().expect("an object"))
}

#[test]
fn saved_settings_load_as_they_were() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join(GENERATION_FILE);
    let settings = GenerationSettings {
        search: SearchSettings {
            length_penalty: LengthPenalty::Power(1.5),
            word_penalty: -0.25,
            beam_rule: BeamRule::Marian,
            at_limit: AtLimit::Close,
            sampling: Some(Sampling {
                top_k: 5,
                ..Sampling::default()
            }),
            ..SearchSettings::default()
        },
        protections: Protections {
            keep_parts: true,
            ..Protections::default()
        },
        calibration: Some(Calibration {
            offset: -1.0,
            slope: 2.0,
        }),
        directions: vec![["de", "en"].map(String::from)],
        context: Some(ContextSettings {
            source: 2,
            target: 1,
            longest_source: 256,
            longest_target: 128,
        }),
    };
    settings.save(&path).expect("saves");
    let text = std::fs::read_to_string(&path).expect("is there");
    assert_eq!(parsed(&text).expect("loads"), settings);
}

#[test]
fn a_file_is_one_flat_table_whose_missing_keys_have_defaults() {
    let given = parsed(r#"{"beam_size": 5, "length_penalty": {"gnmt": 1.0}, "keep_parts": true}"#);
    let mut expected = GenerationSettings::default();
    expected.search.beam_size = 5;
    expected.search.length_penalty = LengthPenalty::Gnmt(1.0);
    expected.protections.keep_parts = true;
    assert_eq!(given.expect("loads"), expected);
}

#[test]
fn every_error_of_a_file_names_its_key() {
    for (text, key) in [
        (r#"{"beem_size": 5}"#, "beem_size"),
        (r#"{"beam_size": "five"}"#, "beam_size"),
        (r#"{"keep_parts": 1}"#, "keep_parts"),
        (r#"{"sampling": {"top": 1}}"#, "top"),
        (r#"{"sampling.top_k": 1}"#, "sampling.top_k"),
        (r#"{"length_penalty": 1.0}"#, "length_penalty"),
        (r#"{"calibration": {"slope": 0}}"#, "calibration.slope"),
        (r#"{"search": {"beam_size": 5}}"#, "search"),
    ] {
        let error = parsed(text).unwrap_err();
        assert!(matches!(error, SettingsError::File(..)), "{text}: {error}");
        assert!(error.to_string().contains(key), "{text}: {error}");
    }
    assert!(parsed("[]").is_err());
}

#[test]
fn settings_are_changed_by_name_and_an_unknown_or_wrong_one_is_refused() {
    let mut model = GenerationSettings::default();
    model.search.n_best = 4;
    let changes = json!({
        "length_penalty": 1.5, "sampling": true, "sampling.top_k": 3, "small_letters": true,
    });
    let GenerationSettings {
        search,
        protections,
        ..
    } = changed(&model, &changes).unwrap();
    assert_eq!(search.length_penalty, LengthPenalty::Gnmt(1.5));
    assert_eq!(search.sampling.unwrap().top_k, 3);
    assert!(protections.small_letters);
    let wide = changed(&model, &json!({"n_best": 9})).unwrap();
    assert_eq!(wide.search.beam_size, 9);
    for (change, key) in [
        (json!({"beem_size": 2}), "beem_size"),
        (json!({"beam_size": "wide"}), "beam_size"),
        (json!({"beam_size.x": 2}), "beam_size.x"),
        (json!({"length_penalty.gmnt": 2}), "length_penalty.gmnt"),
        (json!({"sampling.top": 2}), "sampling.top"),
        (json!({"nothing.top": 2}), "nothing.top"),
    ] {
        let error = changed(&model, &change).unwrap_err();
        assert!(error.to_string().starts_with(key), "{error}");
    }
}

#[test]
fn a_key_that_is_given_twice_is_refused() {
    for (key, values) in [
        ("beam_size", ["4", "5"]),
        ("second_search", ["true", "false"]),
        ("calibration", ["null", "null"]),
    ] {
        let [first, second] = values;
        let error = parsed(&format!("{{\"{key}\": {first}, \"{key}\": {second}}}")).unwrap_err();
        let message = error.to_string();
        assert!(
            message.contains("duplicate field") && message.contains(key),
            "{message}"
        );
    }
}
