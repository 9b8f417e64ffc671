//! Requirements of every kernel for GPUs, tested on the GPU that `BURN_DEVICE` names.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use crate::common::{device, leaf, normal, values};
use burn::backend::DispatchDevice;
use burn::tensor::{Device, Int, Tensor};
use burnformer_kernels::gpu::philox::{
    Draw, DrawLaunch, dropout_factor, element_index, index_in_block, words_of_block,
};
use burnformer_kernels::{self as kernels, DropoutMask, RandomKey};
use cubecl::client::Client;
use cubecl::logging::{LaunchObservation, LaunchObserver};
use cubecl::prelude::*;

/// Storage buffers that a kernel may bind at WebGPU's default limits
/// (`maxStorageBuffersPerShaderStage`).
const STORAGE_BUFFERS: usize = 8;

/// The client of the default device, if that is a GPU.
fn client() -> Option<Client> {
    match Device::default().as_dispatch() {
        DispatchDevice::Cube(device) => Some(device.client()),
        _ => None,
    }
}

/// The WGSL that CubeCL gave to the driver, as it logs it.
struct Sources(Mutex<Vec<String>>);

static SOURCES: Sources = Sources(Mutex::new(Vec::new()));

/// The beginning of a line of the log; the name of the kernel follows.
const COMPILING: &str = "[cubecl-wgpu] compiling WGSL module `";

impl log::Log for Sources {
    fn enabled(&self, metadata: &log::Metadata<'_>) -> bool {
        metadata.target().starts_with("cubecl_wgpu")
    }

    fn log(&self, record: &log::Record<'_>) {
        if self.enabled(record.metadata()) {
            let text = record.args().to_string();
            if let Some(source) = text.strip_prefix(COMPILING) {
                self.0.lock().expect("no panic before").push(source.to_owned());
            }
        }
    }

    fn flush(&self) {}
}

/// The paths of the kernels of this crate that were launched.
#[derive(Default)]
struct Launched(Mutex<BTreeSet<&'static str>>);

impl LaunchObserver for Launched {
    fn launched(&self, kernel: &'static str) {
        if kernel.starts_with("burnformer_kernels::") {
            self.0.lock().expect("no panic before").insert(kernel);
        }
    }
}

/// Every launch of a kernel of ours, in each variant that binds other buffers or has other code.
fn launch_every_kernel() {
    loss();
    let x = normal(1, [40, 50]).inner();
    DropoutMask::new(RandomKey::new(1), 0.3).tensor_like(&x);
    Device::default().sync().expect("the device computes");
}

/// The gradient over the logits, and beside them where they are held.
fn loss() {
    for held in [false, true] {
        let x = leaf(1, [5, 30]);
        let logits = x.clone() * 2.0;
        let holder = held.then(|| logits.clone());
        let targets = Tensor::<1, Int>::from_data([1, 2, 3, 4, 0], &device());
        let (loss, _) = kernels::label_smoothed_cross_entropy(logits, targets, 0, 0.1);
        values(x.grad(&loss.backward()).expect("a gradient"));
        drop(holder);
    }
}

/// The sources of this crate.
fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("the folder of the sources");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    paths.flat_map(|path| if path.is_dir() { rust_files(&path) } else { vec![path] }).collect()
}

/// The number of functions of this crate that are kernels.
fn kernels_in_the_sources() -> usize {
    let files = rust_files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"));
    let of_file = |path| std::fs::read_to_string(path).expect("a source");
    files.into_iter().map(|path| of_file(path).matches("#[cube(launch").count()).sum()
}

/// Storage buffers that a module in WGSL binds.
fn storage_buffers(source: &str) -> usize {
    source.lines().filter(|line| line.contains("@binding(") && line.contains("var<storage")).count()
}

/// CubeCL asks for all that an adapter offers, so that more buffers would pass unnoticed on most of
/// them.
#[test]
fn no_kernel_binds_more_storage_buffers_than_webgpu_guarantees() {
    let Some(client) = client().filter(|client| client.name() == "wgpu<wgsl>") else { return };
    log::set_logger(&SOURCES).expect("the only logger of this process");
    log::set_max_level(log::LevelFilter::Trace);
    let launched = Arc::<Launched>::default();
    let observation = LaunchObservation::new(launched.clone());
    launch_every_kernel();
    drop(observation);
    drop(client);

    let launched = launched.0.lock().expect("no panic before");
    let sources = SOURCES.0.lock().expect("no panic before");
    assert_eq!(launched.len(), kernels_in_the_sources(), "kernels launched here: {launched:#?}");
    for path in launched.iter() {
        let name =
            path.rsplit("::").nth(1).expect("the module of a kernel has the function's name");
        // Types and a hash may follow the name.
        let of_kernel = |source: &&String| source.starts_with(&format!("{name}_"));
        let counts: Vec<usize> =
            sources.iter().filter(of_kernel).map(|source| storage_buffers(source)).collect();
        eprintln!("{name}: {counts:?}");
        assert!(!counts.is_empty(), "CubeCL logged no source of {path}");
        assert!(
            counts.iter().all(|count| (1..=STORAGE_BUFFERS).contains(count)),
            "{path} binds {counts:?} storage buffers; WebGPU guarantees {STORAGE_BUFFERS}",
        );
    }
}

/// Each unit draws the factor of one element.
#[cube(launch)]
fn factors_of_elements(
    rows: &[u32],
    widths: &[u32],
    columns: &[u32],
    factors: &mut [f32],
    draw: Draw,
) {
    let unit = ABSOLUTE_POS;
    if unit >= factors.len() {
        terminate!();
    }
    let index = element_index(rows[unit], widths[unit], columns[unit]);
    let words = words_of_block(&index, &draw);
    factors[unit] = dropout_factor(&words, index_in_block(&index), &draw);
}

/// Elements `[row, width, column]` whose indices, row·width + column, lie around those at which a
/// counter of 32 bits ends: that of the elements and that of the blocks of eight.
fn elements_past_32_bits() -> Vec<[u32; 3]> {
    let mut elements = Vec::new();
    for (row, width) in [
        (1 << 16, 1 << 16),         // 2³²: the product alone overflows
        ((1 << 16) - 1, 1 << 16),   // 2³² − 2¹⁶
        (1, 7),                     // the sum overflows, at the last columns
        (1 << 20, 1 << 15),         // 2³⁵: the number of the block is 2³²
        ((1 << 20) - 1, 1 << 15),   // 2³⁵ − 2¹⁵
        (4_000_000_007, 3_999_971), // about 2⁵³·⁸
        (u32::MAX, u32::MAX),
    ] {
        let around = |center: u32| center.saturating_sub(20)..center.saturating_add(20);
        let columns = [0, 1 << 15, 1 << 16, u32::MAX].map(around);
        elements.extend(columns.into_iter().flatten().map(|column| [row, width, column]));
    }
    elements
}

/// The factors of `elements`, drawn on the device.
fn drawn_on_the_device(client: &Client, elements: &[[u32; 3]], mask: DropoutMask) -> Vec<f32> {
    let count = elements.len();
    let [rows, widths, columns] = [0, 1, 2].map(|which| {
        let words: Vec<u32> = elements.iter().map(|element| element[which]).collect();
        let handle = client.create_from_slice(bytemuck::cast_slice(&words));
        // SAFETY: the buffer has `count` words.
        unsafe { BufferArg::from_raw_parts(handle, count) }
    });
    let factors = client.empty(count * size_of::<f32>());
    // SAFETY: the buffer has room for `count` floats.
    let output = unsafe { BufferArg::from_raw_parts(factors.clone(), count) };
    let [key_0, key_1] = mask.key().words();
    factors_of_elements::launch(
        client,
        CubeCount::new_1d(count.div_ceil(32) as u32),
        CubeDim::new_1d(32),
        rows,
        widths,
        columns,
        output,
        DrawLaunch::new(key_0, key_1, mask.drop_threshold(), mask.keep_value()),
    );
    let bytes = client.read_one(factors).expect("the device computes");
    bytemuck::pod_collect_to_vec(&bytes[..count * size_of::<f32>()])
}

#[test]
fn dropout_draws_the_bits_of_the_cpu_past_32_bits_of_elements_and_of_blocks() {
    let Some(client) = client() else { return };
    let elements = elements_past_32_bits();
    for seed in 1..4 {
        let mask = DropoutMask::new(RandomKey::new(seed), 0.5);
        let expected: Vec<f32> = elements
            .iter()
            .map(|&[row, width, column]| {
                let index = u64::from(row) * u64::from(width) + u64::from(column);
                let mut factor = [0.0];
                mask.fill_at(index as usize, &mut factor);
                factor[0]
            })
            .collect();
        assert_eq!(drawn_on_the_device(&client, &elements, mask), expected);
    }
}
