//! `training.fit`: the size of the model by the speed of the machine.

use std::array::from_fn;

use crate::config::TrainConfig;

/// The sizes of the preset `speedrun`, the largest first, each with the smallest number of updates
/// for which it is chosen. `docs/speedrun.md` has the measurements.
const SIZES: &str = include_str!("../../presets/speedrun-sizes.tsv");

/// The share of the time for updates; validations and checkpoints take the rest.
const UPDATE_TIME_SHARE: f64 = 0.97;

/// The largest share of warm-up updates: 300 of 5,027 in the record run.
const MAX_WARMUP_SHARE: f64 = 0.06;

/// The rows of [`SIZES`]: `d_model`, `heads`, `d_ff`, and the number of updates.
fn sizes() -> impl Iterator<Item = [usize; 4]> {
    let rows = SIZES
        .lines()
        .skip(1)
        .map(|row| row.split('\t').filter_map(|it| it.parse().ok()));
    rows.map(|mut row| from_fn(|_| row.next().expect("a row has four whole numbers")))
}

/// Returns whether [`fit`] chooses the size of the model: `training.fit` is set, and the run is
/// limited by minutes alone, starts from random weights and has the largest size. Any other run
/// keeps its settings.
pub fn is_to_be_fitted(config: &TrainConfig) -> bool {
    let training = &config.training;
    let model = &config.model;
    training.fit
        && training.max_minutes > 0.0
        && [training.max_updates, training.max_epochs] == [0, 0]
        && training.from.as_os_str().is_empty()
        && sizes()
            .next()
            .is_some_and(|row| row[..3] == [model.d_model, model.heads, model.d_ff])
}

/// Chooses the largest model size that makes enough updates in the minutes of `config`. Returns the
/// configuration with the chosen size and warm-up, and a sentence about the measurements and the
/// choice. The configuration has no `training.fit`, so that it gives the same size on any machine.
/// `seconds` measures the mean seconds per update of a configuration. A size that seems too slow is
/// measured twice, since other programs may have used the machine, and no size counts as slower
/// than a larger one.
///
/// The run remains limited by its minutes, and its schedule follows the share of them that has
/// passed. It therefore uses all minutes, at any speed.
///
/// # Errors
/// Returns the errors of `seconds`.
pub fn fit<E>(
    config: &TrainConfig,
    mut seconds: impl FnMut(&TrainConfig) -> Result<f64, E>,
) -> Result<(TrainConfig, String), E> {
    let minutes = config.training.max_minutes;
    let mut tried = Vec::new();
    let mut fastest = f64::INFINITY;
    for [d_model, heads, d_ff, least] in sizes() {
        let mut config = config.clone();
        let model = &mut config.model;
        (model.d_model, model.heads, model.d_ff) = (d_model, heads, d_ff);
        fastest = fastest.min(seconds(&config)?);
        if updates_in(minutes, fastest) < least {
            fastest = fastest.min(seconds(&config)?);
        }
        let updates = updates_in(minutes, fastest);
        tried.push(format!("{updates} of d_model {d_model}"));
        if updates < least {
            continue;
        }
        config.training.fit = false;
        let warmup = &mut config.schedule.warmup;
        *warmup = (*warmup).min((MAX_WARMUP_SHARE * updates as f64).ceil() as u64);
        let note = format!(
            "size: {minutes} minutes hold about {} updates on this machine, so the model has d_model {d_model} (training.fit)",
            tried.join(", "),
        );
        return Ok((config, note));
    }
    unreachable!("the smallest size needs no updates")
}

/// The number of updates of `seconds` each in a run of `minutes`.
fn updates_in(minutes: f64, seconds: f64) -> usize {
    (UPDATE_TIME_SHARE * 60.0 * minutes / seconds).max(1.0) as usize
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    fn speedrun(settings: &[&str]) -> TrainConfig {
        let settings: Vec<String> = settings.iter().map(|setting| setting.to_string()).collect();
        TrainConfig::resolve(Some("speedrun"), None, &settings).unwrap()
    }

    /// The choice if an update of the largest size takes `seconds`, and of others in proportion to
    /// their width.
    fn fitted(seconds: f64) -> (TrainConfig, String) {
        let fitted = fit(&speedrun(&[]), |config| {
            Ok::<_, Infallible>(seconds * config.model.d_model as f64 / 192.0)
        });
        fitted.unwrap()
    }

    #[test]
    fn a_slower_machine_gets_a_smaller_model_and_fewer_updates() {
        let widths = [0.05, 0.2, 0.4, 1.0].map(|seconds| fitted(seconds).0.model.d_model);
        assert_eq!(widths, [192, 192, 128, 96]);
        let (config, note) = fitted(0.1);
        assert_eq!(
            (config.training.max_updates, config.training.max_minutes),
            (0, 8.5)
        );
        assert_eq!(config.schedule.warmup, 297);
        assert!(
            note.contains("about 4946 of d_model 192 updates") && note.contains("d_model 192"),
            "{note}"
        );
    }

    /// The width chosen where the measurements take these seconds, with the note.
    fn chosen(seconds: &[f64]) -> (usize, String) {
        let mut coming = seconds.iter().copied();
        let measured = fit(&speedrun(&["training.max_minutes=7"]), |_| {
            coming.next().ok_or(())
        });
        let (config, note) = measured.unwrap();
        assert_eq!(coming.next(), None, "{note}");
        (config.model.d_model, note)
    }

    #[test]
    fn slow_sizes_are_measured_twice() {
        // 7 minutes hold 1,700 updates of at most 0.239 s, and 1,200 of at most 0.339 s.
        assert_eq!(chosen(&[0.2]).0, 192);
        assert_eq!(chosen(&[0.9, 0.2]).0, 192);
        assert_eq!(chosen(&[1.3, 1.2, 0.3]).0, 128);
        let (d_model, note) = chosen(&[1.2, 1.3, 0.7, 0.672, 1.1]);
        assert_eq!(d_model, 96);
        assert!(
            note.contains("606 of d_model 128, 606 of d_model 96"),
            "{note}"
        );
    }

    #[test]
    fn the_chosen_size_repeats_the_run_without_measuring_again() {
        let (config, _) = fitted(0.4);
        assert!(!is_to_be_fitted(&config));
        let again = TrainConfig::resolve(None, None, &[]).unwrap();
        assert!(is_to_be_fitted(&again), "the default measures");
    }

    #[test]
    fn a_size_or_length_that_the_user_names_is_kept() {
        for setting in [
            "model.d_model=256",
            "model.d_ff=1024",
            "training.max_updates=500",
            "training.max_epochs=3",
            "training.max_minutes=0",
            "training.fit=false",
        ] {
            let heads = "model.heads=8";
            let settings = if setting == "model.d_model=256" {
                vec![setting, heads]
            } else {
                vec![setting]
            };
            assert!(!is_to_be_fitted(&speedrun(&settings)), "{setting}");
        }
    }
}
