//! MPI processes that train one model together.

use std::rc::Rc;

use anyhow::Result;
#[cfg(not(feature = "mpi"))]
use anyhow::bail;
use burnformer_train::Ranks;

/// The variables where MPI launchers store the number of processes.
const SIZES: [&str; 4] = [
    "OMPI_COMM_WORLD_SIZE",
    "PMI_SIZE",
    "MV2_COMM_WORLD_SIZE",
    "SLURM_STEP_NUM_TASKS",
];

/// The number of processes that an MPI launcher started, this one included.
pub fn launched() -> usize {
    SIZES
        .iter()
        .find_map(|name: &&str| std::env::var(name).ok()?.parse().ok())
        .unwrap_or(1)
}

/// The processes that a launcher such as `mpirun` started; `None` if this is the only process.
///
/// # Errors
/// Returns an error if there are several and this program was built without MPI.
pub fn ranks() -> Result<Option<Rc<dyn Ranks>>> {
    match launched() {
        1 => Ok(None),
        #[cfg(feature = "mpi")]
        _ => Ok(Some(Rc::new(world::World::join()?))),
        #[cfg(not(feature = "mpi"))]
        count => bail!(
            "{count} processes were started together, and this program was built without MPI: each would train alone. \
             Build it with `cargo build --release -p burnformer --features mpi`, or start one process"
        ),
    }
}

#[cfg(feature = "mpi")]
mod world {
    use std::cell::RefCell;
    use std::mem::ManuallyDrop;

    use anyhow::bail;
    use burnformer_data::Rank;
    use burnformer_train::{ExchangePrecision, Ranks};
    use half::bf16;
    use mpi::Threading;
    use mpi::datatype::Equivalence;
    use mpi::environment::Universe;
    use mpi::topology::SimpleCommunicator;
    use mpi::traits::*;

    use super::*;

    /// All processes of the launcher.
    pub struct World {
        world: SimpleCommunicator,
        /// Ends MPI when dropped, which waits for all processes. A process that ends before the run
        /// must not wait: the launcher sees that it has not ended MPI, and ends the others.
        universe: RefCell<ManuallyDrop<Option<Universe>>>,
    }

    impl World {
        /// Starts MPI in this process.
        ///
        /// # Errors
        /// Returns an error if MPI was started before, or does not allow other threads besides the
        /// one that calls it.
        pub fn join() -> Result<Self> {
            match mpi::initialize_with_threading(Threading::Funneled) {
                Some((universe, threading)) if threading >= Threading::Funneled => {
                    let universe = ManuallyDrop::new(Some(universe));
                    let world = universe.as_ref().expect("MPI was started").world();
                    let found = world.size() as usize;
                    let launched = launched();
                    if found == launched {
                        Ok(Self {
                            world,
                            universe: RefCell::new(universe),
                        })
                    } else {
                        bail!(
                            "the launcher started {launched} processes, but MPI sees {found}: use the mpirun of the MPI \
                             that this program was built with (Slurm: --mpi=pmix)"
                        )
                    }
                }
                _ => bail!("MPI cannot be started in a process with several threads"),
            }
        }

        /// Exchanges one chunk of `values` with each process, lets `add` sum the chunks, and
        /// gathers the sums.
        fn reduce<T: Equivalence + Copy + Default>(
            &self,
            values: &mut [T],
            add: impl Fn(&[T], usize) -> Vec<T>,
        ) {
            let ranks = self.world.size() as usize;
            let chunk = values.len().div_ceil(ranks);
            let mut padded = values.to_vec();
            padded.resize(chunk * ranks, T::default());
            let mut received = padded.clone();
            self.world.all_to_all_into(&padded[..], &mut received[..]);
            let sums = add(&received, chunk);
            self.world.all_gather_into(&sums[..], &mut padded[..]);
            values.copy_from_slice(&padded[..values.len()]);
        }
    }

    impl Ranks for World {
        fn rank(&self) -> Rank {
            Rank {
                number: self.world.rank() as usize,
                count: self.world.size() as usize,
            }
        }

        fn broadcast(&self, bytes: &mut Vec<u8>) {
            let root = self.world.process_at_rank(0);
            let mut length = bytes.len() as u64;
            root.broadcast_into(&mut length);
            bytes.resize(length as usize, 0);
            for part in bytes.chunks_mut(1 << 30) {
                root.broadcast_into(part);
            }
        }

        fn sum(&self, values: &mut [f32], precision: ExchangePrecision) {
            match precision {
                ExchangePrecision::Float32 => self.reduce(values, add),
                ExchangePrecision::BFloat16 => {
                    let mut rounded: Vec<u16> = values.iter().map(|&value| narrow(value)).collect();
                    self.reduce(&mut rounded, |parts, chunk| {
                        let parts: Vec<f32> = parts.iter().map(|&bits| wide(bits)).collect();
                        add(&parts, chunk).into_iter().map(narrow).collect()
                    });
                    for (value, bits) in values.iter_mut().zip(rounded) {
                        *value = wide(bits);
                    }
                }
            }
        }

        fn end(&self) {
            self.universe.borrow_mut().take();
        }
    }

    /// The sums of the chunks of `parts`, added in their order.
    fn add(parts: &[f32], chunk: usize) -> Vec<f32> {
        let (first, others) = parts.split_at(chunk);
        let mut sums = first.to_vec();
        for part in others.chunks_exact(chunk.max(1)) {
            sums.iter_mut()
                .zip(part)
                .for_each(|(sum, value)| *sum += value);
        }
        sums
    }

    /// The bits of the bfloat16 nearest to `value`, ties to even.
    fn narrow(value: f32) -> u16 {
        bf16::from_f32(value).to_bits()
    }

    fn wide(bits: u16) -> f32 {
        bf16::from_bits(bits).to_f32()
    }
}
