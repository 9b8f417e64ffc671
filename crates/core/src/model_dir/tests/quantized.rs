//! Weights in 8 bits, and the types of files.

use super::*;

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
