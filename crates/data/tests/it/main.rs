//! Corpora, tokenisers and batches as other crates use them.

mod batches;
mod corpus;
mod errors;
mod hostile_tokenizers;
mod marian_tokenizer;
mod prepare;
mod sentencepiece;
mod shared_data;
mod tokenizer;
