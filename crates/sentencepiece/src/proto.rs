//! The fields of `sentencepiece_model.proto` that determine how text is segmented. All others are
//! skipped.

use prost::Message;

/// The whole file.
#[derive(Clone, PartialEq, Message)]
pub struct ModelProto {
    #[prost(message, repeated, tag = "1")]
    pub pieces: Vec<PieceProto>,
    #[prost(message, optional, tag = "2")]
    pub trainer_spec: Option<TrainerSpec>,
    #[prost(message, optional, tag = "3")]
    pub normalizer_spec: Option<NormalizerSpec>,
    #[prost(message, optional, tag = "5")]
    pub denormalizer_spec: Option<NormalizerSpec>,
}

/// One piece of the vocabulary. Its id is its index.
#[derive(Clone, PartialEq, Message)]
pub struct PieceProto {
    #[prost(string, tag = "1")]
    pub piece: String,
    #[prost(float, tag = "2")]
    pub score: f32,
    #[prost(int32, optional, tag = "3", default = "1")]
    pub kind: Option<i32>,
}

/// The settings of training.
#[derive(Clone, PartialEq, Message)]
pub struct TrainerSpec {
    #[prost(int32, optional, tag = "3", default = "1")]
    pub model_type: Option<i32>,
    #[prost(bool, tag = "24")]
    pub treat_whitespace_as_suffix: bool,
    #[prost(bool, tag = "35")]
    pub byte_fallback: bool,
    #[prost(string, optional, tag = "44", default = " \u{2047} ")]
    pub unk_surface: Option<String>,
    #[prost(string, tag = "45")]
    pub unk_piece: String,
    #[prost(string, tag = "46")]
    pub bos_piece: String,
    #[prost(string, tag = "47")]
    pub eos_piece: String,
    #[prost(string, tag = "48")]
    pub pad_piece: String,
}

/// The settings of normalisation.
#[derive(Clone, PartialEq, Message)]
pub struct NormalizerSpec {
    #[prost(bytes = "vec", tag = "2")]
    pub precompiled_charsmap: Vec<u8>,
    #[prost(bool, optional, tag = "3", default = "true")]
    pub add_dummy_prefix: Option<bool>,
    #[prost(bool, optional, tag = "4", default = "true")]
    pub remove_extra_whitespaces: Option<bool>,
    #[prost(bool, optional, tag = "5", default = "true")]
    pub escape_whitespaces: Option<bool>,
}
