use std::collections::BTreeMap;
use std::path::Path;

use burn::tensor::{Device, TensorData};
use burnformer_core::{Model, ModelConfig, model_dir, named_parameters, with_parameters};

use crate::error::TrainError;

/// The model in which every parameter is the mean of those of the models in `dirs` (paper §6.1).
/// The sums are taken in float64, in the given order.
///
/// # Errors
/// [`TrainError::Average`] for no directory or models of different shapes; errors of loading.
pub fn average_models<P: AsRef<Path>>(
    dirs: &[P],
    device: &Device,
) -> Result<(ModelConfig, Model), TrainError> {
    let Some(first) = dirs.first() else {
        return Err(TrainError::Average("no model directory given".into()));
    };
    let config = model_dir::load_config(first.as_ref())?;
    let other =
        |dir: &&P| model_dir::load_config(dir.as_ref()).is_ok_and(|found| *found != *config);
    if let Some(dir) = dirs.iter().find(other) {
        let (a, b) = (first.as_ref().display(), dir.as_ref().display());
        let message = format!("{a} and {b} have different configurations");
        return Err(TrainError::Average(message));
    }
    let model = average_as(dirs, &config, device)?;
    Ok((config, model))
}

/// The average, as [`average_models`] takes it, of models of the configuration `config`, which may
/// be of any architecture.
pub(crate) fn average_as<P: AsRef<Path>>(
    dirs: &[P],
    config: &ModelConfig,
    device: &Device,
) -> Result<Model, TrainError> {
    let mut models = dirs.iter().map(|dir| model_dir::load_as(dir.as_ref(), &**config, device));
    let model = models.next().expect("there is a model to average")?;
    let mut sums = Sums::new();
    add(&mut sums, &model);
    for other in models {
        add(&mut sums, &other?);
    }
    let count = dirs.len() as f64;
    let mean = |(name, (shape, sum)): (String, (Vec<usize>, Vec<f64>))| {
        let values: Vec<f32> = sum.into_iter().map(|x| (x / count) as f32).collect();
        (name, TensorData::new(values, shape))
    };
    let values = sums.into_iter().map(mean).collect();
    Ok(with_parameters(model, values).expect("the values are of this model"))
}

type Sums = BTreeMap<String, (Vec<usize>, Vec<f64>)>;

/// Adds the parameters of `model`.
fn add(sums: &mut Sums, model: &Model) {
    for (name, data) in named_parameters(model) {
        let shape = data.shape().to_vec();
        // The sum of nothing is -0, which changes no value.
        let zeros = || (shape.clone(), vec![-0.0; shape.iter().product()]);
        let (_, sum) = sums.entry(name).or_insert_with(zeros);
        sum.iter_mut().zip(data.iter::<f64>()).for_each(|(sum, x)| *sum += x);
    }
}

#[cfg(test)]
mod tests {
    use burnformer_core::TransformerConfig;

    use super::*;

    fn saved(seed: u64, vocab: usize) -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let config = TransformerConfig::tiny(vocab);
        let model = config.init(seed, &Device::default()).expect("a preset is valid");
        model_dir::save(folder.path(), &config, &model).expect("saves");
        model_dir::seal(folder.path()).expect("seals");
        folder
    }

    #[test]
    fn the_average_is_the_mean_of_each_parameter() {
        let device = Device::default();
        let (a, b) = (saved(1, 20), saved(2, 20));
        let (_, mean) = average_models(&[a.path(), b.path()], &device).unwrap();
        let load = |f: &tempfile::TempDir| {
            named_parameters(&model_dir::load(f.path(), &device).unwrap().1)
        };
        let (a, b, mean) = (load(&a), load(&b), named_parameters(&mean));
        for (name, value) in mean {
            let expected =
                a[&name].iter::<f32>().zip(b[&name].iter::<f32>()).map(|(x, y)| (x + y) / 2.0);
            assert!(value.iter::<f32>().zip(expected).all(|(x, y)| (x - y).abs() < 1e-7), "{name}");
        }
    }

    #[test]
    fn nothing_and_different_shapes_cannot_be_averaged() {
        let device = Device::default();
        let none: [&Path; 0] = [];
        assert!(matches!(average_models(&none, &device), Err(TrainError::Average(_))));
        let (a, b) = (saved(1, 20), saved(2, 21));
        let mixed = average_models(&[a.path(), b.path()], &device);
        assert!(matches!(mixed, Err(TrainError::Average(_))));
    }
}
