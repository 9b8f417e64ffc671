//! Hostile models of every format: errors, never a panic, never memory beyond a multiple of what
//! the files hold.

#[path = "../../../tests/fuzz/mod.rs"]
mod fuzz;

use std::path::{Path, PathBuf};

use burnformer_interop::Format;
use fuzz::{damaged, within};
use proptest::prelude::*;

#[global_allocator]
static ALLOCATOR: fuzz::Counting = fuzz::Counting;

/// The largest amount of memory that reading a model takes, as a multiple of the bytes of its
/// files: opcodes of a byte become values of 24 and entries of a map.
const MULTIPLE: usize = 64;
/// The memory of a reading that does not depend on the size of the files.
const SLACK: usize = 1 << 20;

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures")
        .join(name)
}

/// A folder of a fixture's files. Each case replaces one file.
struct Target {
    format: Format,
    folder: tempfile::TempDir,
    file: &'static str,
    /// Bytes of the other files.
    others: usize,
}

impl Target {
    fn new(format: Format, name: &str, file: &'static str) -> Self {
        let target = Self::with(format, name, file, None);
        let good = target.good().len();
        Self {
            others: target.others - good,
            ..target
        }
    }

    /// A folder of a fixture's files and of another, `file`, which holds `good` and replaces the
    /// vocabulary.
    fn with(format: Format, name: &str, file: &'static str, good: Option<String>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut others = 0;
        for entry in std::fs::read_dir(fixture(name)).unwrap() {
            let path = entry.unwrap().path();
            let to = folder.path().join(path.file_name().unwrap());
            others += std::fs::copy(&path, to).unwrap() as usize;
        }
        if let Some(good) = good {
            std::fs::remove_file(folder.path().join("vocab.json")).unwrap();
            std::fs::write(folder.path().join(file), good).unwrap();
        }
        Self {
            format,
            folder,
            file,
            others,
        }
    }

    /// A model of NLLB, whose vocabulary and languages are in `tokenizer.json`.
    fn nllb() -> Self {
        let path = fixture("m2m100/relu/vocab.json");
        let vocabulary = std::fs::read_to_string(path).unwrap();
        let added = r#"[{"id": 61, "content": "ace_Arab"}, {"id": 62, "content": "fra_Latn"}]"#;
        let json = format!(
            r#"{{"model": {{"type": "BPE", "vocab": {vocabulary}}}, "added_tokens": {added}}}"#
        );
        Self::with(
            Format::HuggingFace,
            "m2m100/relu",
            "tokenizer.json",
            Some(json),
        )
    }

    fn good(&self) -> Vec<u8> {
        std::fs::read(self.folder.path().join(self.file)).unwrap()
    }

    /// Reads the folder with `bytes` as the content of the file. What is read is a whole model.
    fn read(&self, bytes: &[u8]) {
        std::fs::write(self.folder.path().join(self.file), bytes).unwrap();
        let limit = MULTIPLE * (bytes.len() + self.others) + SLACK;
        let package = within(limit, || self.format.read(self.folder.path()));
        if let Ok(package) = package {
            let held: usize = package
                .weights
                .values()
                .map(|tensor| tensor.values.len())
                .sum();
            assert_eq!(held, package.config.parameter_count());
            assert!(package.generation.validate().is_ok());
        }
    }
}

/// Numbers that sizes and offsets in binary files may claim.
const NUMBERS: [u64; 13] = [
    0,
    1,
    0x7f,
    0xff,
    0x7fff,
    0xffff,
    0x7fff_ffff,
    0xffff_ffff,
    1 << 32,
    1 << 62,
    (1 << 62) + 1,
    i64::MAX as u64,
    u64::MAX,
];

/// `good` with one to three numbers of up to 8 bytes overwritten, so that the rest keeps its
/// position.
fn overwritten(good: Vec<u8>) -> impl Strategy<Value = Vec<u8>> {
    let numbers = prop::sample::select(NUMBERS.to_vec());
    let one = (
        any::<prop::sample::Index>(),
        numbers,
        prop::sample::select(vec![1, 2, 4, 8]),
    );
    prop::collection::vec(one, 1..4).prop_map(move |all| {
        let mut bytes = good.clone();
        for (index, number, width) in all {
            let start = index.index(bytes.len());
            let new = number.to_le_bytes().into_iter().take(width);
            bytes[start..]
                .iter_mut()
                .zip(new)
                .for_each(|(old, new)| *old = new);
        }
        bytes
    })
}

fn cases(target: &Target) -> impl Strategy<Value = Vec<u8>> + use<> {
    let is_binary = target.good().contains(&0);
    prop_oneof![
        6 => damaged(target.good()),
        if is_binary { 3 } else { 0 } => overwritten(target.good()),
        1 => prop::collection::vec(any::<u8>(), 0..300),
    ]
}

/// A fuzz test of one file of a fixture.
macro_rules! target {
    ($name:ident, $format:ident, $folder:literal, $file:literal) => {
        target!($name, Target::new(Format::$format, $folder, $file));
    };
    ($name:ident, $target:expr) => {
        crate::fuzz_test!($name, cases(&$target), {
            let target = $target;
            move |bytes: &[u8]| target.read(bytes)
        });
    };
}

target!(
    hugging_face_config,
    HuggingFace,
    "hugging_face/shared_swish",
    "config.json"
);
target!(
    hugging_face_generation,
    HuggingFace,
    "hugging_face/shared_swish",
    "generation_config.json"
);
target!(
    hugging_face_safetensors,
    HuggingFace,
    "hugging_face/shared_swish",
    "model.safetensors"
);
target!(
    hugging_face_zip,
    HuggingFace,
    "hugging_face/gelu_unscaled",
    "pytorch_model.bin"
);
target!(
    hugging_face_legacy,
    HuggingFace,
    "hugging_face/wide_relu",
    "pytorch_model.bin"
);
target!(
    ctranslate2_config,
    CTranslate2,
    "ctranslate2/int8",
    "config.json"
);
target!(
    ctranslate2_vocabulary,
    CTranslate2,
    "ctranslate2/int8",
    "shared_vocabulary.json"
);
target!(
    ctranslate2_int8,
    CTranslate2,
    "ctranslate2/int8",
    "model.bin"
);
target!(
    ctranslate2_int16,
    CTranslate2,
    "ctranslate2/int16",
    "model.bin"
);
target!(marian_npz, Marian, "marian/post_swish", "model.npz");
target!(marian_int8, Marian, "marian/student", "model.int8.bin");
target!(marian_float32, Marian, "marian/ssru", "model.float32.bin");
target!(marian_shortlist, Marian, "marian/student", "lex.s2t.bin");
target!(marian_vocabulary, Marian, "marian/ssru", "vocab.yml");
target!(marian_decoder, Marian, "marian/ssru", "decoder.yml");
target!(m2m100_config, HuggingFace, "m2m100/relu", "config.json");
target!(m2m100_vocabulary, HuggingFace, "m2m100/relu", "vocab.json");
target!(nllb_tokenizer, Target::nllb());

#[test]
#[should_panic(expected = "were held")]
fn memory_beyond_the_bound_is_seen() {
    within(1000, || drop(std::hint::black_box(vec![1u8; 1001])));
}

/// Damaged files are not only refused: reading continues after the damage.
#[test]
fn many_damaged_weights_are_read_to_their_end() {
    use proptest::strategy::ValueTree;
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let target = Target::new(Format::CTranslate2, "ctranslate2/int16", "model.bin");
    let strategy = cases(&target);
    let mut reads = || {
        let bytes = strategy.new_tree(&mut runner).unwrap().current();
        std::fs::write(target.folder.path().join(target.file), bytes).unwrap();
        target.format.read(target.folder.path()).is_ok()
    };
    let read = (0..400).filter(|_| reads()).count();
    assert!(read > 40, "{read} of 400");
}
