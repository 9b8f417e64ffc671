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

#[test]
fn a_quantised_directory_holds_8_bit_matrices_and_its_compute_type() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let dense = Folder::with_model();
    let (config, model) = dense.load().expect("loads");
    save_parameters(
        folder.path(),
        config.as_ref(),
        &named_parameters(&model),
        ComputeType::Int8,
    )
    .expect("saves");
    seal(folder.path()).expect("seals");
    assert_eq!(
        load_compute_type(folder.path()).expect("loads"),
        ComputeType::Int8
    );
    assert_eq!(
        load_compute_type(dense.path()).expect("loads"),
        ComputeType::Float32
    );
    let size = |dir: &Path| fs::metadata(dir.join(WEIGHTS)).expect("weights").len();
    assert!(
        size(folder.path()) * 3 < size(dense.path()),
        "{}",
        size(folder.path())
    );
    let (_, loaded) = load(folder.path(), &Device::default()).expect("loads");
    let exact = named_parameters(&model);
    for (name, rounded) in named_parameters(&loaded) {
        let exact: Vec<f32> = exact[&name].iter().collect();
        let columns = rounded.shape().last().copied().expect("a tensor");
        let rows = exact.chunks_exact(columns);
        let rounded: Vec<f32> = rounded.iter().collect();
        for (exact, rounded) in rows.zip(rounded.chunks_exact(columns)) {
            // The largest sum of two neighbours of one sign.
            let sums = exact.chunks(2).flat_map(|pair| {
                let sum = |sign: f32| pair.iter().map(|x| (sign * x).max(0.0)).sum::<f32>();
                [sum(1.0), sum(-1.0)]
            });
            let largest = sums.fold(0.0, f32::max);
            let half_a_step = largest / 254.0 * 1.000_01;
            assert!(
                exact
                    .iter()
                    .zip(rounded)
                    .all(|(a, b)| (a - b).abs() <= half_a_step),
                "{name}"
            );
        }
    }
    // Quantised again, the integers are the same.
    let again = tempfile::tempdir().expect("a temporary folder");
    save_parameters(
        again.path(),
        config.as_ref(),
        &named_parameters(&loaded),
        ComputeType::Int8,
    )
    .expect("saves");
    let integers = |dir: &Path| {
        let bytes = fs::read(dir.join(WEIGHTS)).expect("reads");
        let file = safetensors::SafeTensors::deserialize(&bytes).expect("weights");
        file.tensor("embedding.weight")
            .expect("an embedding")
            .data()
            .to_vec()
    };
    assert_eq!(integers(folder.path()), integers(again.path()));
}

/// The file has the bytes that the library for safetensors writes.
#[test]
fn weights_are_written_as_the_library_writes_them() {
    let dense = Folder::with_model();
    let (config, model) = dense.load().expect("loads");
    let parameters = named_parameters(&model);
    for compute in [ComputeType::Float32, ComputeType::Int8] {
        let folder = tempfile::tempdir().expect("a temporary folder");
        save_parameters(folder.path(), config.as_ref(), &parameters, compute).expect("saves");
        let ours = fs::read(folder.path().join(WEIGHTS)).expect("reads");
        let file = safetensors::SafeTensors::deserialize(&ours).expect("weights");
        let theirs = safetensors::serialize(file.tensors(), None).expect("serializes");
        assert!(ours == theirs, "{compute:?}");
    }
}

#[test]
fn a_quantised_matrix_without_its_scales_is_refused_by_name() {
    let folder = Folder::with_model();
    let path = folder.file(WEIGHTS);
    let matrix = vec![1u8; 20 * 128];
    for scales in [None, Some(19), Some(21)] {
        let numbers = vec![0u8; 4 * scales.unwrap_or(0)];
        let view = |dtype, shape: Vec<usize>, bytes| {
            safetensors::tensor::TensorView::new(dtype, shape, bytes).expect("a view")
        };
        use safetensors::Dtype;
        let mut tensors = vec![(
            "embedding.weight",
            view(Dtype::I8, vec![20, 128], &matrix[..]),
        )];
        if let Some(rows) = scales {
            tensors.push((
                "embedding.weight.scale",
                view(Dtype::F32, vec![rows], &numbers[..]),
            ));
        }
        fs::write(
            &path,
            safetensors::serialize(tensors, None).expect("serializes"),
        )
        .expect("writes");
        seal(folder.path()).expect("seals");
        let error = folder.load().unwrap_err().to_string();
        assert!(
            error.contains("embedding.weight") && error.contains("scale"),
            "{error}"
        );
    }
}

#[test]
fn an_unknown_compute_type_is_an_error_that_names_the_file() {
    let folder = Folder::with_model();
    folder.replace(
        CONFIG,
        r#""format_version": 1,"#,
        r#""format_version": 1, "compute": "int4","#,
    );
    let error = load_compute_type(folder.path()).unwrap_err().to_string();
    assert!(
        error.contains("config.json") && error.contains("int4"),
        "{error}"
    );
}

/// The folder as files in memory, under the folder's name.
fn in_memory(folder: &Path) -> ModelFiles {
    let entries = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let file = |path: PathBuf| {
        (
            path.file_name().unwrap().to_str().unwrap().to_owned(),
            fs::read(&path).unwrap(),
        )
    };
    let contents = entries.map(file).collect();
    ModelFiles {
        name: folder.into(),
        contents,
        ..ModelFiles::default()
    }
}

#[test]
fn a_known_hash_must_match_the_manifest() {
    let folder = Folder::with_model();
    for name in [CONFIG, WEIGHTS] {
        let mut files = in_memory(folder.path());
        let hash = format!("{:x}", Sha256::digest(&files.contents[name]));
        files.hashes.insert(name.into(), hash.clone());
        assert_eq!(loaded(&files), loaded(folder.path()));
        files
            .hashes
            .insert(name.into(), hash.replace(&hash[..1], "x"));
        assert!(loaded(&files).unwrap_err().contains("hash"), "{name}");
    }
}

/// The parameters, or the message of the error.
fn loaded<'a>(source: impl Into<Source<'a>>) -> Result<StateDict, String> {
    let (_, model) = load(source, &Device::default()).map_err(|error| error.to_string())?;
    Ok(named_parameters(&model))
}

/// A change of the bytes of a file.
type Damage = fn(&mut Vec<u8>);

#[test]
fn files_in_memory_load_and_fail_like_a_folder() {
    let damages: [Damage; 6] = [
        |_| {},
        Vec::clear,
        |bytes| bytes.truncate(bytes.len() / 2),
        |bytes| bytes.push(0),
        |bytes| bytes[0] ^= 1,
        |bytes| *bytes.last_mut().unwrap() ^= 1,
    ];
    for name in [CONFIG, WEIGHTS, "manifest.json"] {
        for (index, damage) in damages.iter().enumerate() {
            let folder = Folder::with_model();
            let mut bytes = fs::read(folder.file(name)).unwrap();
            damage(&mut bytes);
            fs::write(folder.file(name), bytes).unwrap();
            let files = in_memory(folder.path());
            let found = loaded(&files);
            assert_eq!(found, loaded(folder.path()), "{name} {index}");
            assert_eq!(found.is_ok(), index == 0, "{name} {index}");
        }
        let folder = Folder::with_model();
        let mut files = in_memory(folder.path());
        files.contents.remove(name);
        fs::remove_file(folder.file(name)).unwrap();
        assert_eq!(
            loaded(&files).unwrap_err(),
            loaded(folder.path()).unwrap_err(),
            "{name}"
        );
    }
}

/// In 8-bit integers, a stored model gives the same logits as the rounded one does after it was
/// loaded in float32 and packed, up to the last bits of scales.
#[test]
fn a_model_is_packed_as_it_is_loaded() {
    let device = Device::flex();
    let config = TransformerConfig::tiny(37);
    let model = config.init(3, &device).expect("a preset is valid");
    let source = Tensor::<2, Int>::from_ints([[5, 6, 36, 2]], &device);
    let target = Tensor::<2, Int>::from_ints([[1, 7]], &device);
    let logits = |m: &Model| {
        let logits = m.forward(source.clone(), target.clone(), Mode::Inference);
        logits.into_data().try_to_vec::<f32>().expect("float32")
    };
    for stored in [ComputeType::Float32, ComputeType::Int8] {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let parameters = named_parameters(&model);
        save_parameters(folder.path(), &config, &parameters, stored).expect("saves");
        seal(folder.path()).expect("seals");
        for compute in ComputeType::ALL {
            let (_, mut later) = load(folder.path(), &device).expect("loads");
            later.pack(compute);
            let (_, packed) = load_packed(folder.path(), &device, compute).expect("loads");
            for (packed, later) in logits(&packed).into_iter().zip(logits(&later)) {
                let bound = match stored {
                    ComputeType::Float32 => 0.0,
                    _ => 1e-4,
                };
                assert!((packed - later).abs() <= bound, "{stored:?} {compute:?}");
            }
        }
    }
}

/// Integers of another program, whose sums would not fit into 16 bits, are quantised again.
#[test]
fn integers_of_another_program_are_packed_too() {
    let device = Device::flex();
    let folder = Folder::with_model();
    let (config, parameters) = load_parameters(folder.path()).expect("loads");
    save_parameters(
        folder.path(),
        config.as_ref(),
        &parameters,
        ComputeType::Int8,
    )
    .expect("saves");
    let path = folder.file(WEIGHTS);
    let mut bytes = fs::read(&path).expect("the file is there");
    let end = bytes.len() - 64;
    // The last matrix by name has the last integers of the file.
    for byte in &mut bytes[end..] {
        *byte = 127;
    }
    fs::write(&path, &bytes).expect("writes");
    seal(folder.path()).expect("seals");
    let Ok((_, mut plain)) = load(folder.path(), &device) else {
        panic!("the last bytes are integers");
    };
    plain.pack(ComputeType::Int8);
    let (_, packed) = load_packed(folder.path(), &device, ComputeType::Int8).expect("loads");
    let ids = Tensor::<2, Int>::from_ints([[5, 6, 2]], &device);
    let logits = |m: &Model| {
        m.forward(ids.clone(), ids.clone(), Mode::Inference)
            .into_data()
    };
    let worst: f32 = (Tensor::<3>::from_data(logits(&plain), &device)
        - Tensor::<3>::from_data(logits(&packed), &device))
    .abs()
    .max()
    .into_scalar();
    assert!(worst < 1e-4, "{worst}");
}
