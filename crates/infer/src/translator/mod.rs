//! The translator: from text to text.

mod capitals;
mod error;
mod files;
mod joins;
mod languages;
mod links;
mod load;
mod options;
mod parts;
mod request;
mod results;
mod score;
mod terms;
mod translate;
mod unknown;

pub use error::{LanguageError, TermError, TranslatorError};
pub use files::{TOKENIZER_FILES, load_settings, load_tokenizers, save_text_files};
pub use links::TextLink;
pub use load::{Translator, vocabularies};
pub use options::{Languages, LongSources, MAX_SENTENCE_TOKENS, TranslateOptions};
pub use request::TextRequest;
pub use score::{TargetScore, force_score, perplexity, perplexity_of};
