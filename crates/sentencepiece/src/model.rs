use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use prost::Message;

use crate::charsmap::Charsmap;
use crate::error::{ModelProblem, SentencePieceError};
use crate::normalizer::Normalizer;
use crate::proto::{ModelProto, NormalizerSpec, TrainerSpec};
use crate::trie::Trie;
use crate::types::{ModelType, PieceType, Segment};
use crate::vocabulary::{Vocabulary, byte_piece};
use crate::{bpe, unigram};

/// The size of the largest message of Protocol Buffers, in bytes.
const MAX_BYTES: u64 = i32::MAX as u64;

/// The error for an id outside the vocabulary of the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the id {id} is outside the vocabulary of {len} pieces; give ids of this model only")]
pub struct UnknownId {
    /// The id.
    pub id: u32,
    /// The number of pieces of the model.
    pub len: usize,
}

/// A SentencePiece model, which turns text into pieces or ids, and back.
///
/// It has no state between calls and can serve several threads at once.
#[derive(Clone, Debug)]
pub struct SentencePiece {
    pub(crate) vocabulary: Vocabulary,
    pub(crate) normalizer: Normalizer,
    pub(crate) denormalizer: Option<Normalizer>,
    /// The decoded text of the piece for unknown text.
    pub(crate) unknown_surface: String,
    model_type: ModelType,
    /// The score of unknown text in a unigram model.
    unknown_score: f32,
    special: Special,
}

/// The ids of the pieces with a special meaning.
#[derive(Clone, Copy, Debug)]
struct Special {
    unknown: Option<u32>,
    bos: Option<u32>,
    eos: Option<u32>,
    pad: Option<u32>,
}

impl SentencePiece {
    /// Reads a `.spm` or `.model` file.
    ///
    /// # Errors
    /// Returns a [`SentencePieceError`] that names the file and the problem.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, SentencePieceError> {
        let path = path.as_ref();
        named(path, read(path).and_then(|bytes| Self::parse(&bytes)))
    }

    /// Reads the content of a `.spm` or `.model` file. Error messages call it `name`.
    ///
    /// Memory is bounded by the size of the content: for each of its bytes at most 96 bytes are
    /// held while reading, and 24 afterwards.
    ///
    /// # Errors
    /// Returns a [`SentencePieceError`] that names the file and the problem.
    pub fn from_bytes(name: impl AsRef<Path>, bytes: &[u8]) -> Result<Self, SentencePieceError> {
        named(name.as_ref(), Self::parse(bytes))
    }

    fn parse(bytes: &[u8]) -> Result<Self, ModelProblem> {
        check_size(bytes.len() as u64)?;
        let model = ModelProto::decode(bytes).map_err(ModelProblem::Protobuf)?;
        let trainer = model.trainer_spec.clone().unwrap_or_default();
        let model_type = model_type(&trainer)?;
        let vocabulary = Vocabulary::new(&model, model_type)?;
        let spec = model.normalizer_spec.unwrap_or_default();
        let map = charsmap(&spec, "normalizer_spec")?;
        let suffix = trainer.treat_whitespace_as_suffix;
        let normalizer = Normalizer::new(&spec, map, vocabulary.symbols.clone(), suffix);
        let spec = model.denormalizer_spec.unwrap_or_default();
        let denormalizer = charsmap(&spec, "denormalizer_spec")?
            .map(|map| Normalizer::new(&spec, Some(map), Arc::new(Trie::new(&[])), false));
        Ok(Self {
            unknown_score: unigram::unknown_score(&vocabulary),
            unknown_surface: trainer.unk_surface().to_owned(),
            special: Special::new(&vocabulary, &trainer),
            vocabulary,
            normalizer,
            denormalizer,
            model_type,
        })
    }

    /// Returns the table of replacements in the content `bytes` of a `.spm` or `.model` file, as
    /// the file holds it, or nothing if it has none.
    ///
    /// # Errors
    /// Returns a [`SentencePieceError`] that names the file and the problem.
    pub fn charsmap(name: impl AsRef<Path>, bytes: &[u8]) -> Result<Vec<u8>, SentencePieceError> {
        let model = ModelProto::decode(bytes).map_err(ModelProblem::Protobuf);
        let model = named(name.as_ref(), model)?;
        let spec = model.normalizer_spec.unwrap_or_default();
        Ok(spec.precompiled_charsmap)
    }

    /// Returns the type of the model.
    pub fn model_type(&self) -> ModelType {
        self.model_type
    }

    /// Normalises `text` by the rules of the model. The result is the text that is segmented.
    pub fn normalize(&self, text: &str) -> String {
        self.normalizer.normalize(text)
    }

    /// Encodes `text` to ids. No special ids are added.
    ///
    /// ```
    /// # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/unigram.model");
    /// let model = burnformer_sentencepiece::SentencePiece::open(path)?;
    /// let ids = model.encode("The house is small.");
    /// assert_eq!(model.decode(&ids)?, "The house is small.");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn encode(&self, text: &str) -> Vec<u32> {
        let text = self.normalize(text);
        let segments = self.joined(&text);
        let mut ids = Vec::with_capacity(segments.len());
        for Segment { start, end, id } in segments {
            match &self.vocabulary.bytes {
                Some(bytes) if id == self.vocabulary.unknown => {
                    ids.extend(text[start..end].bytes().map(|byte| bytes[byte as usize]));
                }
                _ => ids.extend(id),
            }
        }
        ids
    }

    /// Encodes `text` to pieces. [`encode`](Self::encode) returns their ids. Unknown text is
    /// returned as it is in the normalised text, or as byte pieces if the model has them.
    pub fn encode_pieces(&self, text: &str) -> Vec<String> {
        let text = self.normalize(text);
        let mut pieces: Vec<String> = Vec::new();
        for Segment { start, end, id } in self.joined(&text) {
            let piece = &text[start..end];
            match self.vocabulary.bytes {
                Some(_) if id == self.vocabulary.unknown => {
                    pieces.extend(piece.bytes().map(byte_piece));
                }
                _ => pieces.push(piece.to_owned()),
            }
        }
        pieces
    }

    /// Returns the number of pieces. All ids are below it.
    pub fn len(&self) -> usize {
        self.vocabulary.len()
    }

    /// Returns whether there are no pieces. This is never true for a model that was read.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the id of a piece in the spelling of the vocabulary (`▁house`, `<0x0A>`, `</s>`).
    pub fn id(&self, piece: &str) -> Option<u32> {
        self.vocabulary.id(piece)
    }

    /// Returns the piece with this id in the spelling of the vocabulary.
    pub fn piece(&self, id: u32) -> Option<&str> {
        self.vocabulary.text(id)
    }

    /// Returns the purpose of the piece with this id.
    pub fn piece_type(&self, id: u32) -> Option<PieceType> {
        ((id as usize) < self.len()).then(|| self.vocabulary.kind(id))
    }

    /// Returns the score of the piece with this id: in a unigram model the logarithm of its
    /// probability, in a BPE model the negative rank of its merge.
    pub fn score(&self, id: u32) -> Option<f32> {
        ((id as usize) < self.len()).then(|| self.vocabulary.score(id))
    }

    /// Returns the id of the piece for unknown text (`<unk>`).
    pub fn unk_id(&self) -> Option<u32> {
        self.special.unknown
    }

    /// Returns the id of the start of a sentence (`<s>`).
    pub fn bos_id(&self) -> Option<u32> {
        self.special.bos
    }

    /// Returns the id of the end of a sentence (`</s>`).
    pub fn eos_id(&self) -> Option<u32> {
        self.special.eos
    }

    /// Returns the id of padding (`<pad>`).
    pub fn pad_id(&self) -> Option<u32> {
        self.special.pad
    }

    /// Returns the segments of `text`, which is normalised. Unknown neighbours that are not spelt
    /// in bytes are one segment.
    fn joined(&self, text: &str) -> Vec<Segment> {
        let mut segments = self.segment(text);
        let unknown = self.vocabulary.unknown;
        if self.vocabulary.bytes.is_some() {
            return segments;
        }
        segments.dedup_by(|next, last| {
            let joins = next.id == unknown && last.id == unknown;
            if joins {
                last.end = next.end;
            }
            joins
        });
        segments
    }

    fn segment(&self, text: &str) -> Vec<Segment> {
        match self.model_type {
            ModelType::Unigram => unigram::segment(&self.vocabulary, self.unknown_score, text),
            ModelType::Bpe => bpe::segment(&self.vocabulary, text),
            ModelType::Word => bpe::words(&self.vocabulary, text),
            ModelType::Char => bpe::characters(&self.vocabulary, text),
        }
    }
}

impl Special {
    /// Finds the ids by the names in the model. Each must have the right type.
    fn new(vocabulary: &Vocabulary, trainer: &TrainerSpec) -> Self {
        let [unk, bos, eos, pad] = [
            (&trainer.unk_piece, "<unk>", PieceType::Unknown),
            (&trainer.bos_piece, "<s>", PieceType::Control),
            (&trainer.eos_piece, "</s>", PieceType::Control),
            (&trainer.pad_piece, "<pad>", PieceType::Control),
        ]
        .map(|(name, usual, kind)| {
            let id = vocabulary.id(if name.is_empty() { usual } else { name });
            id.or(vocabulary.unknown)
                .filter(|&id| vocabulary.kind(id) == kind)
        });
        Self {
            unknown: unk,
            bos,
            eos,
            pad,
        }
    }
}

/// Adds the name of the file to a problem.
fn named<T>(path: &Path, result: Result<T, ModelProblem>) -> Result<T, SentencePieceError> {
    result.map_err(|problem| SentencePieceError {
        path: path.into(),
        problem,
    })
}

fn read(path: &Path) -> Result<Vec<u8>, ModelProblem> {
    let file = File::open(path).map_err(ModelProblem::Unreadable)?;
    check_size(file.metadata().map_err(ModelProblem::Unreadable)?.len())?;
    let mut bytes = Vec::new();
    // A pipe or a growing file can be longer than its size says. The first byte beyond the limit is
    // read, and refused.
    file.take(MAX_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(ModelProblem::Unreadable)?;
    Ok(bytes)
}

fn check_size(bytes: u64) -> Result<(), ModelProblem> {
    if bytes > MAX_BYTES {
        return Err(ModelProblem::TooLarge(bytes));
    }
    Ok(())
}

fn model_type(trainer: &TrainerSpec) -> Result<ModelType, ModelProblem> {
    match trainer.model_type() {
        1 => Ok(ModelType::Unigram),
        2 => Ok(ModelType::Bpe),
        3 => Ok(ModelType::Word),
        4 => Ok(ModelType::Char),
        found => Err(ModelProblem::ModelType(found)),
    }
}

fn charsmap(spec: &NormalizerSpec, name: &'static str) -> Result<Option<Charsmap>, ModelProblem> {
    let bytes = &spec.precompiled_charsmap;
    if bytes.is_empty() {
        return Ok(None);
    }
    let parsed = Charsmap::parse(bytes);
    parsed.map(Some).map_err(|problem| ModelProblem::Charsmap {
        spec: name,
        problem,
    })
}
