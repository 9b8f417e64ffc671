//! Prepares a corpus, and prints the result and how long it took:
//!
//! ```text
//! cargo run --release -p burnformer-data --example prepare -- SOURCE TARGET VOCAB CACHE [bpe|unigram] [BUDGET]
//! ```
//!
//! A second run reads from the cache. `/usr/bin/time -v` shows the largest memory that was used.

use std::sync::Arc;
use std::time::Instant;

use burnformer_data::{
    BatchSampler, CleaningSettings, CorpusPaths, PrepareSettings, SamplerSettings, TokenizerKind,
    TokenizerSettings, TokenizerSource, prepare,
};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [source, target, vocab, cache, rest @ ..] = args.as_slice() else {
        return Err("usage: prepare SOURCE TARGET VOCAB CACHE [bpe|unigram] [BUDGET]".into());
    };
    let kind = if rest.first().is_some_and(|kind| kind == "unigram") {
        TokenizerKind::Unigram
    } else {
        TokenizerKind::Bpe
    };
    let budget = rest.get(1).map_or(Ok(4096), |budget| budget.parse())?;
    let settings = PrepareSettings {
        corpus: CorpusPaths::pair(source, target),
        tokenizer: TokenizerSource::Train(TokenizerSettings {
            kind,
            ..TokenizerSettings::bpe(vocab.parse()?)
        }),
        cleaning: CleaningSettings { budget: Some(budget), ..Default::default() },
        cache_dir: cache.into(),
    };
    let start = Instant::now();
    let mut stage = None;
    let prepared = prepare(&settings, &mut |progress| {
        if stage != Some(progress.stage) {
            eprintln!("{:6.2} s  {:?}", start.elapsed().as_secs_f64(), progress.stage);
        }
        stage = Some(progress.stage);
    })?;
    println!("{}", prepared.report);
    println!(
        "vocabulary {}, hash {}",
        prepared.tokenizers.target.vocab_size(),
        prepared.tokenizers.target.hash()
    );
    println!("reused: tokenizer {}, corpus {}", prepared.tokenizer_reused, prepared.corpus_reused);
    println!(
        "{} tokens, ready after {:.2} s",
        prepared.corpus.tokens(),
        start.elapsed().as_secs_f64()
    );
    let sampler = BatchSampler::new(
        Arc::new(prepared.corpus),
        SamplerSettings { budget, ..Default::default() },
    )?;
    let begun = Instant::now();
    let plan = sampler.plan(1, 0);
    let seconds = begun.elapsed().as_secs_f64();
    println!(
        "{} batches, padding {:.2} %, planned in {seconds:.2} s",
        plan.len(),
        100.0 * plan.padding_share()
    );
    Ok(())
}
