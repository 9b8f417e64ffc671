//! The translator: from text to text.

mod error;
mod files;
mod languages;
mod links;
mod load;
mod options;
mod protections;
mod request;
mod score;
mod terms;
mod translate;

pub use error::{LanguageError, TermError, TranslatorError};
pub use files::{TOKENIZER_FILES, load_settings, load_tokenizers, save_text_files};
pub use links::TextLink;
pub use load::{Translator, vocabularies};
pub use options::{Languages, LongSources, MAX_SENTENCE_TOKENS, TranslateOptions};
pub use request::TextRequest;
pub use score::{TargetScore, force_score, perplexity, perplexity_of};
