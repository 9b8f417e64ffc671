use std::path::PathBuf;
use std::slice::from_ref;
use std::sync::atomic::AtomicBool;

use burn::tensor::Device;
use burnformer_core::model_dir;
use burnformer_infer::{TranslateOptions, Translator};
use burnformer_train::report::Verbosity;
use burnformer_train::{Corpora, Learner, RunMode, StopReason, Texts, TrainError, checkpoint};

use super::error::{Result, StudyError};
use super::row::{Measure, Part, Row, RowResult};

/// The folder, the texts and the device of a study.
pub struct Study {
    /// The folder of the study.
    pub folder: PathBuf,
    /// The texts for training and measurement.
    pub texts: Texts,
    /// The device for training and decoding.
    pub device: Device,
    /// The verbosity of each row's log.
    pub verbosity: Verbosity,
}

impl Study {
    /// The result of `row`, from its file or by training, which resumes an interrupted run. `None`
    /// if `interrupted` is set before the row is finished.
    ///
    /// # Errors
    /// Returns [`StudyError::File`] if the row was run with other settings, and the errors of
    /// training and decoding.
    pub fn run(&self, row: &Row, interrupted: &AtomicBool) -> Result<Option<RowResult>> {
        match row.result(&self.folder)? {
            None => self.train(row, interrupted),
            result => Ok(result),
        }
    }

    /// The results of finished `rows`. All rows are checked before any is trained.
    ///
    /// # Errors
    /// Returns [`StudyError::Row`] for a configuration that cannot be trained, and
    /// [`StudyError::File`] if a row was run with other settings.
    pub fn done(&self, rows: &[Row]) -> Result<Vec<RowResult>> {
        rows.iter().try_for_each(Row::check)?;
        let results = rows.iter().map(|row| row.result(&self.folder));
        Ok(results
            .collect::<Result<Vec<_>, _>>()?
            .into_iter()
            .flatten()
            .collect())
    }

    /// Trains and measures `row` and writes its file.
    fn train(&self, row: &Row, interrupted: &AtomicBool) -> Result<Option<RowResult>> {
        let run = self.folder.join(&row.name);
        let corpora = Corpora::prepare(&row.config, self.texts.clone(), &mut |_| ())?;
        let mode = if run.join("config.toml").exists() {
            RunMode::Resume
        } else {
            RunMode::New
        };
        let config = row.config.clone();
        let devices = from_ref(&self.device);
        match Learner::new(config, &corpora, &run, mode, self.verbosity, devices) {
            // The run stopped after its last update, before its file.
            Err(TrainError::NothingToDo { .. }) => {}
            learner => {
                if learner?.train(interrupted)?.reason == StopReason::Interrupted {
                    return Ok(None);
                }
            }
        }
        let result = self.measure(row, &corpora)?;
        let json = serde_json::to_vec_pretty(&result).expect("a result is plain data");
        let path = row.file(&self.folder);
        burnformer_files::write(&path, &json).map_err(|cause| StudyError::Io { path, cause })?;
        Ok(Some(result))
    }

    fn measure(&self, row: &Row, corpora: &Corpora) -> Result<RowResult, TrainError> {
        let run = self.folder.join(&row.name);
        let translator = Translator::load(run.join("last"), &self.device)?;
        let longest = corpora.longest_validated + 1;
        let options = TranslateOptions {
            longest,
            ..translator.options()
        };
        let measured = row.parts(corpora).into_iter().map(
            |Part {
                 longest,
                 source,
                 target,
             }| { Measure::of(&translator, &options, longest, &source, &target) },
        );
        let state = checkpoint::last_state(&run)?;
        Ok(RowResult {
            name: row.name.clone(),
            change: row.change.clone(),
            parameters: model_dir::load_config(&run.join("last"))?.parameter_count(),
            updates: state.step,
            seconds: state.seconds,
            measures: measured.collect::<Result<_, _>>()?,
            config: row.config.to_toml(),
        })
    }
}
