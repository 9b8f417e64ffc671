use std::time::Instant;

use anyhow::{Context, Result};
use burn::tensor::{Device, Tensor, TensorData};
use burnformer_core::RandomKey;
use burnformer_kernels::linear;
use serde_json::{Map, json};

use crate::compare::{Against, Comparison, divisors, thread_count};
use crate::options::Common;
use crate::record::{FRAMEWORK, print};

/// Arguments of the benchmark `kernels`.
#[derive(clap::Args)]
pub struct Args {
    /// Number of rows: the tokens of a batch
    #[arg(long, default_value_t = 4096)]
    rows: usize,
    /// Affine maps as INxOUT; the default ones are those of d_model 256 and 512 with 8,000 tokens
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "256x256,256x1024,1024x256,256x8000,512x512,512x2048,2048x512,512x8000"
    )]
    shapes: Vec<String>,
    /// Seconds spent on each; the best time counts
    #[arg(long, default_value_t = 1.0)]
    seconds: f64,
    #[command(flatten)]
    common: Common,
    #[command(flatten)]
    against: Against,
}

/// Times the matrix products of affine maps, forward and backward, alone or beside PyTorch.
pub fn run(args: Args) -> Result<()> {
    if args.against.against.is_some() {
        let threads = thread_count(args.common.threads);
        return args.against.run(Comparison {
            peer: ("torch_matmul.py", &["torch"]),
            ours: vec![format!("--threads {threads}")],
            files: vec![],
            theirs: divisors(threads).map(|threads| threads.to_string()).collect(),
            figure: "gflops",
        });
    }
    let device = args.common.open()?.autodiff();
    let (mut work, mut spent, mut shapes) = (0.0, 0.0, Map::new());
    for shape in &args.shapes {
        let (input, output) = parse(shape)?;
        let flop = 6.0 * (args.rows * input * output) as f64;
        let seconds = best_time(args.rows, [input, output], args.seconds, &device);
        (work, spent) = (work + flop, spent + seconds);
        shapes.insert(shape.clone(), json!(flop / seconds / 1e9));
    }
    let record = json!({
        "framework": FRAMEWORK,
        "threads": rayon::current_num_threads(),
        "gflops": work / spent / 1e9,
        "shapes": shapes,
    });
    print(&record, args.common.json)
}

fn parse(shape: &str) -> Result<(usize, usize)> {
    let sizes = shape.split_once('x');
    let sizes = sizes.and_then(|(i, o)| Some((i.parse().ok()?, o.parse().ok()?)));
    sizes
        .filter(|&(i, o)| i > 0 && o > 0)
        .with_context(|| format!("--shapes: {shape} is not IN x OUT; write for example 256x1024"))
}

/// The seconds of one forward and backward pass, which are three products.
fn best_time(rows: usize, [input, output]: [usize; 2], seconds: f64, device: &Device) -> f64 {
    let normal = |index: u64, shape: [usize; 2]| {
        let values = RandomKey::new(index).normal(shape[0] * shape[1]);
        Tensor::<2>::from_data(TensorData::new(values, shape), device).require_grad()
    };
    let (x, weight) = (normal(1, [rows, input]), normal(2, [output, input]));
    let (mut best, begin) = (f64::INFINITY, Instant::now());
    while begin.elapsed().as_secs_f64() < seconds || best.is_infinite() {
        let start = Instant::now();
        let gradients = linear(x.clone(), weight.clone(), None).backward();
        // Reading waits for devices that compute in the background.
        let read = weight.grad(&gradients).map(|g| g.slice([0..1, 0..1]).into_scalar::<f32>());
        best = best.min(start.elapsed().as_secs_f64());
        drop((gradients, read));
    }
    best
}
