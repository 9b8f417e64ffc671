//! Serves an engine of one's own, here one that shouts:
//! `cargo run --example custom_engine -- 127.0.0.1:5000`.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use burnformer_server::{
    Candidate, Choice, Engine, EngineError, Job, ModelSource, Server, ServerSettings,
};

struct Shouting;

impl Engine for Shouting {
    fn translate(
        &self,
        work: &[&Job],
        _: Choice,
        _: &[Arc<AtomicBool>],
    ) -> Result<Vec<Vec<Candidate>>, EngineError> {
        let shout = |work: &&Job| {
            let text = format!("{}{}", work.prefix, work.text.to_uppercase());
            vec![Candidate { text, ..Candidate::default() }]
        };
        Ok(work.iter().map(shout).collect())
    }

    fn fits(&self, sentence: &str) -> bool {
        sentence.len() < 1000
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let listen = std::env::args().nth(1).unwrap_or("127.0.0.1:5000".into()).parse()?;
    let model = |pair: &str| {
        Ok::<_, String>(ModelSource {
            pair: pair.parse()?,
            name: pair.into(),
            bytes: 0,
            glossary: None,
            load: Arc::new(|| Ok(Arc::new(Shouting))),
        })
    };
    let models = vec![model("de-en")?, model("en-de")?];
    let server = Server::new(ServerSettings::new(listen, models))?;
    println!("listening at http://{}", server.address()?);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(server.run(std::future::pending()))?;
    Ok(())
}
