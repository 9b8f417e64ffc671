//! A siege: attacks and load together on one process, for as long as `BURNFORMER_MINUTES` says. In
//! the end another process takes over. Meanwhile, clients with known answers check every answer.
//!
//! `cargo xtask siege` runs it, and the suite runs a sample.

mod answers;
mod attacks;
mod hub;
mod known;
mod phase;
mod watch;

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::sync::{Arc, PoisonError};
use std::thread::{JoinHandle, sleep, spawn};
use std::time::{Duration, Instant};

use attacks::Camp;
use known::{Outcome, Sample};
use phase::{Clock, Phase};

use crate::ONE_AT_A_TIME;
use crate::client::SECOND;
use crate::server::{Server, Surroundings};

/// How long a siege takes, and what it promises.
struct Plan {
    /// The largest number of open files of the besieged server.
    files: usize,
    quiet: Duration,
    siege: Duration,
    /// The largest allowed growth of the memory between the second and the last quarter, in
    /// percent.
    growth: u64,
    /// The number of processes that take over, one after the other.
    restarts: usize,
}

#[test]
fn a_server_under_siege_answers_as_a_quiet_one() {
    run(&Plan {
        // So many that no connection is closed for another one.
        files: 1024,
        quiet: 2 * SECOND,
        siege: 10 * SECOND,
        growth: 1_000,
        restarts: 1,
    });
}

#[test]
#[ignore = "an hour; BURNFORMER_MINUTES shortens it"]
fn a_long_siege_changes_no_answer_and_needs_no_more_memory() {
    let minutes = std::env::var("BURNFORMER_MINUTES");
    let minutes = minutes
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(60);
    run(&Plan {
        files: 128,
        quiet: minutes * SECOND * 3,
        siege: minutes * SECOND * 57,
        growth: 10,
        restarts: 2,
    });
}

fn run(plan: &Plan) {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = tempfile::tempdir().unwrap();
    let options = options(folder.path());
    let socket = TcpListener::bind("127.0.0.1:0").unwrap();
    let surroundings = Surroundings {
        files: plan.files,
        socket: Some(&socket),
        is_disk_full: false,
    };
    let server = Server::start_in(surroundings, &options);
    let address = server.address.clone();
    let known = Arc::new(known::ask_all(&address));

    let clock = Arc::new(Clock::default());
    let clients = known::start(&address, &known, &clock);
    sleep(plan.quiet);
    clock.begin(Phase::Siege);
    let memory = watch::start(server.process(), &clock);
    let signals = watch::send_signals(server.process(), &clock);
    let camp = Camp::new(&address, &clock);
    let attacks = camp.attack();
    let liars = ask_liars(folder.path(), &clock);
    sleep(plan.siege);

    clock.begin(Phase::Restart);
    signals.join().unwrap();
    let mut faults = server.logged("panicked");
    let mut server = server;
    for number in 0..plan.restarts {
        server = replace(server, surroundings, &options, number);
    }
    clock.begin(Phase::End);
    attacks
        .into_iter()
        .for_each(|attack| attack.join().unwrap());
    let clients = clients.into_iter();
    let samples: Vec<Sample> = clients.flat_map(|client| client.join().unwrap()).collect();
    assert!(
        known::ask_all(&address) == *known,
        "the answers differ from those at the start"
    );
    server.end();

    let quarters = watch::quarters(&memory.join().unwrap());
    println!("memory in MB, the peak of each quarter: {quarters:?}");
    println!("attacks:\n{}", camp.table());
    report(&samples);
    faults.extend(camp.faults());
    faults.extend(liars.join().unwrap());
    faults.extend(wrong(&samples));
    assert!(
        faults.is_empty(),
        "{}: {:#?}",
        faults.len(),
        &faults[..faults.len().min(20)]
    );
    let [_, early, _, late] = quarters;
    assert!(
        late * 100 <= early * (100 + plan.growth),
        "the memory grows: {quarters:?}"
    );
}

/// The options of the besieged server: without a cache, so that each answer is computed, with a
/// memory of 20,000 segments and a damaged model.
fn options(folder: &Path) -> String {
    let segments = (0..20_000).map(|n| format!("Satz Nummer {n}.\tSentence number {n}.\n"));
    let memory = folder.join("memory.tsv");
    fs::write(&memory, segments.collect::<String>()).unwrap();
    let damaged = damaged_model(folder);
    format!(
        "--lazy --cache 0 --timeout 30 --memory de-en={} \
         --model de-en=embedded:de-en --model en-de=embedded:en-de --model de-fr={}",
        memory.display(),
        damaged
    )
}

/// The folder of a model with a damaged byte.
fn damaged_model(folder: &Path) -> String {
    let good = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../assets/models/de-en");
    let damaged = folder.join("damaged");
    fs::create_dir(&damaged).unwrap();
    for entry in fs::read_dir(good).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), damaged.join(entry.file_name())).unwrap();
    }
    let weights = damaged.join("model.safetensors");
    let mut bytes = fs::read(&weights).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(weights, bytes).unwrap();
    damaged.display().to_string()
}

/// Starts servers that fetch from a lying hub, one every ten seconds. Returns their faults.
fn ask_liars(folder: &Path, clock: &Arc<Clock>) -> JoinHandle<Vec<String>> {
    let (cache, clock) = (folder.join("hub"), clock.clone());
    let hub = hub::start();
    spawn(move || {
        let mut faults = Vec::new();
        while clock.phase() == Phase::Siege {
            faults.extend(hub::fault(&hub, &cache));
            sleep(10 * SECOND);
        }
        faults
    })
}

/// Replaces a server by a new process. The first one is started before the old one is told to stop,
/// the second one afterwards, and its disk is full.
fn replace(old: Server, surroundings: Surroundings, options: &str, number: usize) -> Server {
    let begun = Instant::now();
    let surroundings = Surroundings {
        is_disk_full: number > 0,
        ..surroundings
    };
    let new = if number == 0 {
        let new = Server::start_in(surroundings, options);
        old.end();
        new
    } else {
        old.end();
        Server::start_in(surroundings, options)
    };
    println!("another process took over: {:.1?}", begun.elapsed());
    new
}

/// The faults of the answers to known requests.
fn wrong(samples: &[Sample]) -> impl Iterator<Item = String> {
    samples.iter().filter_map(|sample| match &sample.outcome {
        Outcome::Wrong(what) => {
            let Sample { kind, phase, .. } = sample;
            Some(format!("{kind}, {phase:?}: {what}"))
        }
        _ => None,
    })
}

/// Prints the times of the answers to known requests.
fn report(samples: &[Sample]) {
    let mut groups: Vec<(&str, Phase)> = Vec::new();
    for sample in samples {
        if !groups.contains(&(sample.kind, sample.phase)) {
            groups.push((sample.kind, sample.phase));
        }
    }
    for (kind, phase) in groups {
        let all = samples
            .iter()
            .filter(|sample| (sample.kind, sample.phase) == (kind, phase));
        let refused = all
            .clone()
            .filter(|sample| matches!(sample.outcome, Outcome::Refused))
            .count();
        let mut times: Vec<Duration> = all.map(|sample| sample.took).collect();
        times.sort();
        let part = |percent: usize| times[(times.len() - 1) * percent / 100];
        println!(
            "{kind}, {phase:?}: {} requests, {refused} refused, p50 {:.1?}, p99 {:.1?}, longest {:.1?}",
            times.len(),
            part(50),
            part(99),
            part(100)
        );
    }
}
