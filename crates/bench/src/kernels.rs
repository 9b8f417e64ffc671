use std::time::Instant;

use anyhow::{Context, Result};
use burn::tensor::{Device, Tensor, TensorData};
use burnformer_core::RandomKey;
use burnformer_kernels::linear;
use serde_json::{Map, Value, json};

use crate::alternation::{Alternation, Comparison};
use crate::options::{DeviceOptions, Format};
use crate::peer::Peer;
use crate::record::Record;
use crate::setting::{Setting, divisors, flat, thread_count};

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
    place: DeviceOptions,
    #[command(flatten)]
    format: Format,
    #[command(flatten)]
    alternation: Alternation,
}

/// Times the matrix products of affine maps, forward and backward, alone or beside PyTorch.
pub fn run(args: Args) -> Result<()> {
    if args.alternation.wanted() {
        return args.alternation.run(comparison(&args));
    }
    let device = args.place.open()?.autodiff();
    let (mut work, mut spent, mut shapes) = (0.0, 0.0, Map::new());
    for shape in &args.shapes {
        let (input, output) = parse(shape)?;
        let flop = 6.0 * (args.rows * input * output) as f64;
        let seconds = best_time(args.rows, [input, output], args.seconds, &device);
        (work, spent) = (work + flop, spent + seconds);
        shapes.insert(shape.clone(), json!(flop / seconds / 1e9));
    }
    let record = json!({
        "framework": concat!("burnformer ", env!("CARGO_PKG_VERSION")),
        "threads": rayon::current_num_threads(),
        "gflops": work / spent / 1e9,
        "shapes": Value::Object(shapes),
    });
    Record::new(record).print(args.format.json)
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
    let normal = |place: u64, shape: [usize; 2]| {
        let values = RandomKey::new(place).normal(shape[0] * shape[1]);
        Tensor::<2>::from_data(TensorData::new(values, shape), device)
    };
    let (x, weight) = (normal(1, [rows, input]), normal(2, [output, input]));
    let (x, weight) = (x.require_grad(), weight.require_grad());
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

fn comparison(args: &Args) -> Comparison {
    let theirs = flat([
        ("--rows", args.rows.to_string()),
        ("--seconds", args.seconds.to_string()),
        ("--shapes", args.shapes.join(",")),
    ]);
    let mut ours: Vec<String> = ["kernels", "--json"].map(String::from).into();
    ours.extend(theirs.iter().cloned());
    ours.extend(["--device".to_string(), args.place.device.to_string()]);
    Comparison {
        peer: Peer::TorchMatmul,
        ours,
        our_settings: vec![Setting::all_threads(args.place.threads)],
        theirs,
        their_settings: divisors(thread_count(args.place.threads))
            .iter()
            .map(usize::to_string)
            .collect(),
        figure: "gflops",
    }
}
