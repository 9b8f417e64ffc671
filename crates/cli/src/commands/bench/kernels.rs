use std::time::Instant;

use anyhow::{Context, Result};
use burn::tensor::{Device, Tensor, TensorData};
use burnformer_core::RandomKey;
use burnformer_kernels::linear;
use serde_json::{Map, Value, json};

use super::peer::{Alternation, Peer};
use super::record::Record;
use super::use_threads;
use crate::device::DeviceName;

/// Arguments of `bench kernels`.
#[derive(clap::Args)]
pub struct Args {
    /// Rows: tokens of a batch
    #[arg(long, default_value_t = 4096)]
    rows: usize,
    /// Affine maps as IN x OUT: those of d 256 and d 512 with 8,000 pieces
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "256x256,256x1024,1024x256,256x8000,512x512,512x2048,2048x512,512x8000"
    )]
    shapes: Vec<String>,
    /// Seconds spent on each; the best time counts
    #[arg(long, default_value_t = 1.0)]
    seconds: f64,
    /// Threads [default: one a core]
    #[arg(long, default_value_t = 0, hide_default_value = true)]
    threads: usize,
    /// One JSON line
    #[arg(long)]
    json: bool,
    /// Where to compute
    #[arg(long, default_value = "auto", value_name = "DEVICE")]
    device: DeviceName,
    #[command(flatten)]
    alternation: Alternation,
}

/// Times the matrix products of affine maps, forward and backward, alone or beside PyTorch.
pub fn run(args: Args) -> Result<()> {
    if args.alternation.wanted() {
        let options = options(&args);
        let mut ours: Vec<String> = ["bench", "kernels", "--json"].map(String::from).into();
        ours.extend(options.iter().cloned());
        ours.extend(["--threads".to_string(), args.threads.to_string()]);
        return args.alternation.run(Peer::TorchMatmul, &ours, &options, "gflops");
    }
    use_threads(args.threads)?;
    let device = args.device.open()?.autodiff();
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
    Record::new(record).print(args.json)
}

fn parse(shape: &str) -> Result<(usize, usize)> {
    let sizes = shape.split_once('x');
    let sizes = sizes.and_then(|(i, o)| Some((i.parse().ok()?, o.parse().ok()?)));
    sizes
        .filter(|&(i, o)| i > 0 && o > 0)
        .with_context(|| format!("--shapes: {shape} is not IN x OUT; write for example 256x1024"))
}

/// Seconds of one forward and backward pass: three products.
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

/// The options that both sides understand.
fn options(args: &Args) -> Vec<String> {
    let pairs = [
        ("--rows", args.rows.to_string()),
        ("--seconds", args.seconds.to_string()),
        ("--shapes", args.shapes.join(",")),
    ];
    pairs.into_iter().flat_map(|(name, value)| [name.to_string(), value]).collect()
}
