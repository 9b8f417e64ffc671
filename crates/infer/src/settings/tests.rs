use super::*;

fn refused(change: impl FnOnce(&mut SearchSettings)) -> &'static str {
    let mut settings = SearchSettings::default();
    change(&mut settings);
    match settings.validate().unwrap_err() {
        SettingsError::Value { name, .. } | SettingsError::Above { name, .. } => name,
        error => panic!("{error}"),
    }
}

#[test]
fn settings_out_of_range_are_refused_by_name() {
    let sampling =
        |change: fn(&mut Sampling)| refused(|s| change(s.sampling.get_or_insert_default()));
    assert_eq!(refused(|s| s.beam_size = 0), "beam_size");
    assert_eq!(refused(|s| s.n_best = 0), "n_best");
    assert_eq!(refused(|s| s.n_best = 5), "n_best");
    assert_eq!(
        refused(|s| s.length_penalty = LengthPenalty::Gnmt(-1.0)),
        "length_penalty.gnmt"
    );
    let power = refused(|s| s.length_penalty = LengthPenalty::Power(f64::NAN));
    assert_eq!(power, "length_penalty.power");
    assert_eq!(
        refused(|s| s.max_length_factor = f64::NAN),
        "max_length_factor"
    );
    assert_eq!(refused(|s| s.word_penalty = f64::INFINITY), "word_penalty");
    for penalty in [0.9, f64::NAN, f64::INFINITY] {
        let name = refused(|s| s.repetition_penalty = penalty);
        assert_eq!(name, "repetition_penalty");
    }
    assert_eq!(refused(|s| s.max_length = Some(0)), "max_length");
    assert_eq!(
        refused(|s| (s.min_length, s.max_length) = (6, Some(5))),
        "min_length"
    );
    assert_eq!(sampling(|s| s.temperature = 0.0), "sampling.temperature");
    assert_eq!(sampling(|s| s.top_p = 0.0), "sampling.top_p");
}

#[test]
fn a_beam_that_is_not_named_is_as_wide_as_the_hypotheses_and_a_named_one_is_not_changed() {
    let beams = [
        (1, None, Ok(4)),
        (4, None, Ok(4)),
        (9, None, Ok(9)),
        (1, Some(1), Ok(1)),
        (3, Some(3), Ok(3)),
        (5, Some(9), Ok(9)),
        (
            5,
            Some(2),
            Err("n_best = 5: it cannot exceed beam_size = 2; lower it, or raise beam_size"),
        ),
        (
            1,
            Some(0),
            Err("beam_size = 0: between 1 and 1000 are possible"),
        ),
    ];
    for (n_best, beam, expected) in beams {
        let mut settings = SearchSettings::default();
        let set = settings.set_n_best(n_best, beam);
        let set = set.map(|()| settings.beam_size);
        let expected = expected.map_err(String::from);
        assert_eq!(
            set.map_err(|error| error.to_string()),
            expected,
            "{n_best}, {beam:?}"
        );
    }
    let mut sampled = SearchSettings {
        sampling: Some(Sampling::default()),
        ..SearchSettings::default()
    };
    for (beam, expected) in [(None, 4), (Some(2), 2)] {
        sampled.set_n_best(9, beam).expect("samples need no beam");
        assert_eq!((sampled.n_best, sampled.beam_size), (9, expected));
    }
}

#[test]
fn samples_may_outnumber_the_beam() {
    let sampling = Some(Sampling::default());
    let settings = SearchSettings {
        n_best: 9,
        sampling,
        ..SearchSettings::default()
    };
    assert!(settings.validate().is_ok());
    assert_eq!(settings.width(), 9);
}

#[test]
fn the_limit_is_the_smallest_of_three() {
    let settings = SearchSettings::default();
    assert_eq!(settings.limit(10, None), 60);
    assert_eq!(settings.limit(10, Some(32)), 31);
    let short = SearchSettings {
        max_length: Some(7),
        ..settings.clone()
    };
    assert_eq!(short.limit(10, Some(32)), 7);
    let twice = SearchSettings {
        max_length_factor: 2.5,
        max_length_extra: 1,
        ..settings
    };
    assert_eq!(twice.limit(5, None), 13);
}

#[test]
fn one_token_has_no_penalty_and_seven_with_alpha_one_have_two() {
    assert_eq!(length_penalty(1, 0.6), 1.0);
    assert_eq!(length_penalty(7, 1.0), 2.0);
    assert_eq!(length_penalty(50, 0.0), 1.0);
}

#[test]
fn average_divides_by_the_tokens_and_none_by_one() {
    assert_eq!(LengthPenalty::Average.divisor(4), 4.0);
    assert_eq!(LengthPenalty::None.divisor(4), 1.0);
}

#[test]
fn a_power_of_the_tokens_is_average_at_one_and_none_at_zero() {
    assert_eq!(LengthPenalty::Power(1.0).divisor(4), 4.0);
    assert_eq!(LengthPenalty::Power(0.5).divisor(4), 2.0);
    assert_eq!(LengthPenalty::Power(0.0).divisor(4), 1.0);
}
