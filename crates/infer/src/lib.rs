//! Translation with a trained model: greedy search, beam search, sampling, and scoring of given
//! translations.
//!
//! A program with text uses the [`Translator`], which loads a model directory and translates
//! sentences. A program with token ids or another kind of model implements [`StepModel`] and calls
//! [`search`] or [`force_score`].
//!
//! The trade-off: *search runs on the host, the model on its device*. Each step copies the logits
//! to the host, normalises them and selects the best without sorting. Search is therefore written
//! once, in plain numbers with float64 sums, for every device and every architecture, and gives the
//! results of `tests/reference` token for token. Results depend only on the sentence and the
//! settings, not on batch size, order or the other sentences, except for rounding: a library
//! computes the matrix products of the encoder's attention, and the order of its sums may depend on
//! the padded length of the batch. (A fixed order, as everywhere else on the CPU, took 5 % more
//! time for single sentences and 30 % more for lines of 600 tokens.) This holds for sampling too:
//! each draw is a function of the seed, the sentence, the number of the sample and the position of
//! the token.
//!
//! | idea | item |
//! |---|---|
//! | beam search with GNMT's length penalty (paper §6.1) | [`search`], [`SearchSettings`], [`LengthPenalty`] |
//! | sampling | [`Sampling`] |
//! | what a translator does besides the search; the settings file of a model | [`Protections`], [`GenerationSettings`] |
//! | the interface of a model | [`StepModel`], [`Decoding`] |
//! | a trained model of any architecture; several models as one | [`NeuralModel`], [`Ensemble`] |
//! | log-probabilities of given translations | [`force_score`], [`TargetScore`] |
//! | attention of every layer and head; word alignment | [`Translator::attention`], [`Attention`], [`word_alignment`], [`Translator::links`] |
//! | attention pages | [`view`] |
//! | required terms | [`Terms`], [`Phrase`], [`TranslateOptions::glossary`] |
//! | lexical shortlists | [`TranslateOptions::shortlist`], [`Request::shortlist`] |
//! | language codes | [`find_language`] |
//! | text in, text out | [`Translator`], [`Translation`] |
//!
//! # Example
//!
//! ```no_run
//! use burn::tensor::Device;
//! use burnformer_infer::Translator;
//!
//! let translator = Translator::load("runs/en-de/best", &Device::default())?;
//! let options = translator.options();
//! for translation in translator.translate(&["The house is small.", "A dog."], &options)? {
//!     println!("{:.2}\t{}", translation.score, translation.text);
//! }
//! # Ok::<(), burnformer_infer::InferError>(())
//! ```
//!
//! A model need not be loaded from a directory:
//!
//! ```
//! use burn::tensor::Device;
//! use burnformer_core::TransformerConfig;
//! use burnformer_data::{Tokenizer, TokenizerSettings, Tokenizers};
//! use burnformer_infer::{SearchSettings, NeuralModel, Translator};
//!
//! let settings = TokenizerSettings { vocab_size: 265, ..TokenizerSettings::default() };
//! let tokenizer = Tokenizer::train(["a small house"], &settings)?;
//! let config = TransformerConfig::tiny(tokenizer.vocab_size());
//! let device = Device::default();
//! let model = NeuralModel::new(config.clone(), config.init(1, &device)?, &device);
//! let greedy = SearchSettings { max_length: Some(5), ..SearchSettings::greedy() };
//! let translator = Translator::new(Box::new(model), Tokenizers::joint(tokenizer), greedy)?;
//! let translations = translator.translate(&["a house", ""], &translator.options())?;
//! assert!(translations[0].tokens.len() <= 5);
//! assert_eq!(translations[1].text, "");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![forbid(unsafe_code)]
// The programs in the README are compiled and run as documentation tests.
#![cfg_attr(doctest, doc = include_str!("../../../README.md"))]
#![cfg_attr(doctest, doc = include_str!("../README.md"))]
#![cfg_attr(doctest, doc = include_str!("../../../docs/guide/embedding.md"))]
#![cfg_attr(doctest, doc = include_str!("../../../docs/guide/paper.md"))]

mod attention;
mod batching;
mod calibration;
mod error;
mod generation;
mod hypothesis;
mod model;
mod quality_warning;

mod search;
mod settings;
pub mod shortlist;
mod translator;
pub mod view;

pub use attention::{
    AlignmentOptions, Attention, AttentionWeights, HeadWeights, MAX_LINKED_TOKENS, Piece, pharaoh,
    word_alignment,
};
pub use batching::Batching;
pub use burnformer_terminology::{
    FuzzyMatch, Glossary, GlossaryError, MAX_TERMS, Term, TranslationMemory,
};
pub use burnformer_text::find_language;
pub use calibration::Calibration;
pub use error::InferError;
pub use generation::{GENERATION_FILE, GenerationSettings, Protections};
pub use hypothesis::{Alternative, FinishReason, Hypothesis, Translation};
pub use model::{Decoding, Ensemble, EnsembleError, NeuralModel, SpecialIds, StepModel};
pub use quality_warning::{QualityWarning, quality_warnings};
pub use search::{
    Cancel, Edge, Phrase, Request, SearchContext, SentenceError, Terms, Watch, WordEdges, search,
};
pub use settings::{
    AtLimit, BeamRule, EarlyStopping, LengthPenalty, Sampling, SearchSettings, SettingsError,
    length_penalty,
};
pub use shortlist::{Shortlist, ShortlistError};
pub use translator::{
    LanguageError, Languages, LongSources, MAX_SENTENCE_TOKENS, NamedOptions, Report,
    TOKENIZER_FILES, TargetScore, TermError, TextContext, TextLink, TextRequest, TranslateOptions,
    Translator, TranslatorError, begin_documents, force_score, load_settings, load_tokenizers,
    perplexity, perplexity_of, save_text_files, vocabularies,
};
