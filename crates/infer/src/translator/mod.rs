//! The translator: from text to text.

mod attention;
mod capitals;
mod files;
mod kept;
mod languages;
mod links;
mod load;
mod options;
mod score;
mod stream;
mod terms;
mod translate;
mod translation;
mod unknown;

pub use files::{
    SOURCE_SENTENCEPIECE_FILE, SOURCE_TOKENIZER_FILE, TARGET_SENTENCEPIECE_FILE,
    TARGET_TOKENIZER_FILE, TARGET_VOCABULARY_FILE, TOKENIZER_FILE, TOKENIZER_FILES,
    VOCABULARY_FILE, load_settings, load_tokenizers, save_text_files,
};
pub use languages::find_language;
pub use links::TextLink;
pub use load::{Translator, vocabularies};
pub use options::{LONGEST_SENTENCE, Languages, LongSources, TranslateOptions};
pub use translation::{Alternative, Translation};
