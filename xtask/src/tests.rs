use super::*;

fn words(line: &str) -> Vec<OsString> {
    line.split_whitespace().map(OsString::from).collect()
}

#[test]
fn a_gpu_device_asks_for_the_feature_of_its_name() {
    for device in DEVICE_FEATURES {
        assert_eq!(features(&words(&format!("--out run --device {device}"))), [device]);
        assert_eq!(features(&words(&format!("--device={device} --seed 1"))), [device]);
    }
}

#[test]
fn an_index_or_a_list_does_not_hide_the_device() {
    assert_eq!(features(&words("--device cuda:1")), ["cuda"]);
    assert_eq!(features(&words("--device=vulkan:0,vulkan:1")), ["vulkan"]);
}

#[test]
fn devices_of_the_default_build_ask_for_nothing() {
    for line in ["", "--device cpu", "--device=flex", "--device auto", "--device", "--device tpu"] {
        assert!(features(&words(line)).is_empty(), "{line}");
    }
}

#[test]
fn only_the_device_option_is_read() {
    for line in ["--source cuda", "--devices cuda", "-- --device cuda", "cuda"] {
        assert!(features(&words(line)).is_empty(), "{line}");
    }
}

#[test]
fn arguments_reach_the_binary_as_they_are() {
    let given = [OsString::from("--device=cuda"), "a b".into(), "".into()];
    let expected = "--release --package burnformer --features cuda -- train --device=cuda";
    let expected = [words(expected), vec!["a b".into(), "".into()]].concat();
    assert_eq!(run_arguments("train", &given), expected);
}

#[test]
fn a_slip_or_an_abbreviation_finds_its_command() {
    for (slip, meant) in
        [("trian", "train"), ("tets", "test"), ("evalbleu", "eval-bleu"), ("dev", "devices")]
    {
        assert_eq!(nearest(slip), Some(meant));
    }
    assert_eq!(nearest("frobnicate"), None);
}

#[test]
fn edits_are_levenshteins() {
    // Textbook values: kitten to sitting takes three edits.
    assert_eq!(edits("kitten", "sitting"), 3);
    assert_eq!(edits("", "abc"), 3);
    assert_eq!(edits("same", "same"), 0);
}

#[test]
fn the_manifest_is_the_workspace_s() {
    let text = std::fs::read_to_string(manifest()).unwrap();
    assert!(text.starts_with("[workspace]"), "{}", manifest().display());
}
