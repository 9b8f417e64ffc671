//! A process that trains together with others, which a test plays.

use std::fs;
use std::rc::Rc;

use burn::tensor::Device;
use burnformer_data::Rank;
use burnformer_train::{
    Corpora, ExchangePrecision, Ranks, Texts, TrainConfig, TrainError, WorkersError, follow,
};

/// The second of two processes, to which process 0 sends `message` again and again.
struct Second {
    message: &'static str,
}

impl Ranks for Second {
    fn rank(&self) -> Rank {
        Rank {
            number: 1,
            count: 2,
        }
    }

    fn broadcast(&self, bytes: &mut Vec<u8>) {
        *bytes = self.message.into();
    }

    fn sum(&self, _: &mut [f32], _: ExchangePrecision) {}

    fn end(&self) {}
}

#[test]
fn messages_of_another_version_are_an_error_that_names_the_process() {
    let folder = tempfile::tempdir().unwrap();
    let corpus = folder.path().join("corpus.tsv");
    fs::write(&corpus, "a b\tc d\n".repeat(50)).unwrap();
    let settings = [
        format!("data.train=[{:?}]", corpus.display().to_string()),
        format!(
            "data.cache={:?}",
            folder.path().join("cache").display().to_string()
        ),
        "tokenizer.train.vocab_size=280".into(),
        "tokenizer.train.allow_smaller=true".into(),
    ];
    let config = TrainConfig::resolve(Some("tiny"), None, &settings).unwrap();
    let corpora = Corpora::prepare(&config, Texts::files(&config.data), &mut |_| {}).unwrap();
    for message in [
        "",
        "{}",
        "\"Pause\"",
        "{\"Begin\":{\"config\":\"\"}}",
        "\u{0}\u{1}",
    ] {
        let error = follow(Rc::new(Second { message }), &corpora, &[Device::default()]);
        let error = error.expect_err(message);
        assert!(
            matches!(error, TrainError::Workers(WorkersError::OtherProgram(1))),
            "{message}: {error}"
        );
        assert!(error.to_string().starts_with("process 1: "), "{error}");
    }
}
