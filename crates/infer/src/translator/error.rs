use std::path::PathBuf;

/// The reasons why a model and its tokenisers do not fit together.
#[derive(Debug, thiserror::Error)]
pub enum TranslatorError {
    /// The model directory holds no tokeniser.
    #[error("{}: holds neither tokenizer.json nor source_tokenizer.json and target_tokenizer.json, \
        nor source.spm; make it again with its tokeniser, as by `import --sentencepiece SOURCE \
        TARGET`", .0.display())]
    NoTokenizer(PathBuf),
    /// A tokeniser and the model have different numbers of tokens.
    #[error(
        "the {side} tokeniser has {tokenizer} tokens but the model {model}; \
         use the tokeniser that the model was trained with"
    )]
    Vocabulary {
        /// `source` or `target`.
        side: &'static str,
        /// The number of tokens of the tokeniser.
        tokenizer: usize,
        /// The number of tokens of the model.
        model: usize,
    },
    /// The special ids of the model and the tokeniser differ.
    #[error(
        "the model's {token} has id {model} but the tokeniser's {tokenizer}; \
         use the tokeniser that the model was trained with"
    )]
    SpecialId {
        /// The token.
        token: &'static str,
        /// The id of the token in the model.
        model: u32,
        /// The id of the token in the tokeniser.
        tokenizer: u32,
    },
    /// The settings of the model ask for context, and a tokeniser has no separator.
    #[error(
        "the {0} tokeniser has no token <sep>, which the context in generation.json needs; \
         use the tokeniser that the model was trained with, or remove \"context\" from generation.json"
    )]
    NoSeparator(&'static str),
    /// The device has no matrix products of this type.
    #[error("the device has no products in {0}; use the CPU (--device cpu), or float32")]
    ComputeType(&'static str),
}

/// The model does not know a language, or needs a language that is not given.
#[derive(thiserror::Error)]
#[error("{side} language: {what}")]
pub struct LanguageError {
    /// `source` or `target`.
    pub side: &'static str,
    /// The problem and its remedy.
    pub what: String,
}

burnformer_text::debug_as_message!(LanguageError);

/// The model's vocabulary has no tokens for a term.
#[derive(thiserror::Error)]
#[error("{}the model can write the term {term:?} only as {written:?}; give it in characters of the \
    model's vocabulary",
    location.as_ref().map(|location| format!("{location}: ")).unwrap_or_default())]
pub struct TermError {
    /// The position of the entry in the glossary, if the glossary was checked as a whole.
    pub location: Option<String>,
    /// The term.
    pub term: String,
    /// The text of its tokens.
    pub written: String,
}

burnformer_text::debug_as_message!(TermError);
