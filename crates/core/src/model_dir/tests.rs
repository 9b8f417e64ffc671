mod in_memory;
mod quantized;

use std::fs;
use std::path::PathBuf;

use super::*;
use crate::TransformerConfig;
use crate::context::Mode;
use burn::tensor::{Int, Tensor};
use sha2::{Digest, Sha256};

struct Folder(tempfile::TempDir);

impl Folder {
    fn with_model() -> Self {
        let folder = Self(tempfile::tempdir().expect("a temporary folder"));
        let config = TransformerConfig::tiny(20);
        let model = config
            .init(3, &Device::default())
            .expect("a preset is valid");
        save(folder.0.path(), &config, &model).expect("saves");
        seal(folder.0.path()).expect("seals");
        folder
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn load(&self) -> Result<(ModelConfig, Model), ModelDirError> {
        load(self.path(), &Device::default())
    }

    fn replace(&self, name: &str, from: &str, to: &str) {
        let text = fs::read_to_string(self.file(name)).expect("text");
        assert!(text.contains(from), "{text}");
        fs::write(self.file(name), text.replace(from, to)).expect("writes");
        seal(self.path()).expect("seals");
    }
}

#[test]
fn a_saved_model_loads_with_the_same_outputs() {
    let device = Device::default();
    let folder = Folder::with_model();
    let (config, loaded) = folder.load().expect("loads");
    assert_eq!(config, TransformerConfig::tiny(20).into());
    let model = config.build(3, &device).expect("a preset is valid");
    let source = Tensor::<2, Int>::from_ints([[5, 6, 2]], &device);
    let target = Tensor::<2, Int>::from_ints([[1, 7]], &device);
    let logits = |m: &Model| m.forward(source.clone(), target.clone(), Mode::Inference);
    logits(&loaded)
        .into_data()
        .assert_eq(&logits(&model).into_data(), true);
}

#[test]
fn a_missing_file_is_named() {
    let folder = Folder::with_model();
    fs::remove_file(folder.file("model.safetensors")).expect("removes");
    let error = folder.load().unwrap_err();
    assert!(matches!(error.problem, ModelDirProblem::Missing));
    assert!(error.to_string().contains("model.safetensors"), "{error}");
}

#[test]
fn truncation_and_tampering_are_noticed() {
    let folder = Folder::with_model();
    let path = folder.file("model.safetensors");
    let mut bytes = fs::read(&path).expect("reads");
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    fs::write(&path, &bytes).expect("writes");
    let tampered = folder.load().unwrap_err();
    assert!(matches!(
        tampered.problem,
        ModelDirProblem::Tampered("hash")
    ));
    fs::write(&path, &bytes[..last]).expect("writes");
    let truncated = folder.load().unwrap_err();
    assert!(matches!(
        truncated.problem,
        ModelDirProblem::Tampered("size")
    ));
}

#[test]
fn an_unlisted_file_is_refused() {
    let folder = Folder::with_model();
    fs::write(folder.file("manifest.json"), "{\"files\":{}}").expect("writes");
    assert!(matches!(
        folder.load().unwrap_err().problem,
        ModelDirProblem::Unlisted
    ));
}

#[test]
fn another_version_architecture_or_configuration_is_refused() {
    let folder = Folder::with_model();
    folder.replace(
        "config.json",
        "\"format_version\": 1",
        "\"format_version\": 9",
    );
    assert!(matches!(
        folder.load().unwrap_err().problem,
        ModelDirProblem::Version(9)
    ));
    folder.replace(
        "config.json",
        "\"format_version\": 9",
        "\"format_version\": 1",
    );
    folder.replace("config.json", "\"transformer\"", "\"lstm\"");
    assert!(matches!(
        folder.load().unwrap_err().problem,
        ModelDirProblem::Architecture { .. }
    ));
    folder.replace("config.json", "\"lstm\"", "\"transformer\"");
    folder.replace("config.json", "\"heads\": 4", "\"heads\": 0");
    assert!(matches!(
        folder.load().unwrap_err().problem,
        ModelDirProblem::Config { .. }
    ));
    folder.replace("config.json", "\"heads\": 0", "\"heads\": 8");
    assert!(matches!(
        folder.load().unwrap_err().problem,
        ModelDirProblem::Size { .. }
    ));
    folder.replace("config.json", "\"heads\": 8", "\"heads\": \"x\"");
    assert!(matches!(
        folder.load().unwrap_err().problem,
        ModelDirProblem::Damaged { .. }
    ));
}

#[test]
fn hostile_safetensors_headers_are_refused() {
    let path = Path::new("model.safetensors");
    let huge = [&u64::MAX.to_le_bytes()[..], b"{}"].concat();
    let header = br#"{"a":{"dtype":"F32","shape":[4],"data_offsets":[0,16]},"b":{"dtype":"F32","shape":[4],"data_offsets":[8,24]}}"#;
    let overlap = [&(header.len() as u64).to_le_bytes()[..], header, &[0; 24]].concat();
    let half = br#"{"a":{"dtype":"F16","shape":[2],"data_offsets":[0,4]}}"#;
    let half = [&(half.len() as u64).to_le_bytes()[..], half, &[0; 4]].concat();
    for bytes in [huge, overlap, half, vec![], vec![1; 7]] {
        assert!(matches!(
            read_tensors(path, &bytes),
            Err(ModelDirError {
                problem: ModelDirProblem::Damaged(_),
                ..
            })
        ));
    }
}

#[test]
fn a_config_that_claims_a_huge_model_allocates_nothing() {
    for width in ["1000000", "1000000000", "18446744073709551615"] {
        let folder = Folder::with_model();
        let claimed = format!("\"d_model\": {width}");
        folder.replace("config.json", "\"d_model\": 128", &claimed);
        let error = folder.load().unwrap_err();
        let refused = matches!(
            error.problem,
            ModelDirProblem::Size { .. } | ModelDirProblem::Config { .. }
        );
        assert!(refused, "{error}");
    }
}

#[test]
fn a_configuration_of_another_size_is_refused() {
    let folder = Folder::with_model();
    folder.replace("config.json", "\"norm\": \"post\"", "\"norm\": \"pre\"");
    assert!(matches!(
        folder.load().unwrap_err().problem,
        ModelDirProblem::Size { .. }
    ));
    let folder = Folder::with_model();
    let names = [("encoder_layers", "2", "1"), ("decoder_layers", "2", "1")];
    for (name, from, to) in names {
        folder.replace(
            "config.json",
            &format!("\"{name}\": {from}"),
            &format!("\"{name}\": {to}"),
        );
    }
    assert!(matches!(
        folder.load().unwrap_err().problem,
        ModelDirProblem::Size { .. }
    ));
}

#[test]
fn a_listed_path_outside_the_folder_is_not_read() {
    let folder = Folder::with_model();
    let manifest = fs::read_to_string(folder.file("manifest.json")).expect("text");
    let absolute = folder.file("config.json").display().to_string();
    for name in [
        "../config.json",
        "./config.json",
        "config.json/",
        "",
        "..",
        &absolute,
    ] {
        let hostile = manifest.replace("\"config.json\"", &format!("\"{name}\""));
        fs::write(folder.file("manifest.json"), hostile).expect("writes");
        let error = verify(folder.path()).unwrap_err();
        assert!(
            matches!(error.problem, ModelDirProblem::Outside { .. }),
            "{name}: {error}"
        );
    }
}

#[cfg(unix)]
#[test]
fn a_link_out_of_the_folder_is_not_followed() {
    let folder = Folder::with_model();
    let other = Folder::with_model();
    fs::remove_file(folder.file("config.json")).expect("removes");
    std::os::unix::fs::symlink(other.file("config.json"), folder.file("config.json"))
        .expect("links");
    assert!(matches!(
        folder.load().unwrap_err().problem,
        ModelDirProblem::Outside { .. }
    ));
}

#[test]
fn a_folder_instead_of_a_file_and_a_missing_folder_are_named() {
    let folder = Folder::with_model();
    fs::remove_file(folder.file("config.json")).expect("removes");
    fs::create_dir(folder.file("config.json")).expect("makes");
    assert!(matches!(
        folder.load().unwrap_err().problem,
        ModelDirProblem::NotAFile
    ));
    fs::remove_file(folder.file("manifest.json")).expect("removes");
    assert!(matches!(
        folder.load().unwrap_err().problem,
        ModelDirProblem::NoManifest { .. }
    ));
    let nowhere = folder.file("nowhere");
    let error = load(&nowhere, &Device::default()).unwrap_err();
    assert!(matches!(error.problem, ModelDirProblem::NoDirectory));
}

#[test]
fn a_folder_of_models_names_one_of_them() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let model = Folder::with_model();
    for inside in ["runs/b/best", "runs/c", "runs/d/last"] {
        let dir = folder.path().join(inside);
        fs::create_dir_all(&dir).expect("makes");
        fs::copy(model.file("manifest.json"), dir.join("manifest.json")).expect("copies");
        let runs = folder.path().join("runs");
        let message = load(&runs, &Device::default()).unwrap_err().to_string();
        assert!(
            message.contains(&format!("such as {}", dir.display())),
            "{message}"
        );
        fs::remove_dir_all(&runs).expect("removes");
    }
}

/// A change of the bytes of a file.
type Damage = fn(&mut Vec<u8>);
