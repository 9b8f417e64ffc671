/// Returns the shortest of five times of `work`. Other tests run beside it.
fn shortest_time(work: impl Fn()) -> std::time::Duration {
    let times = (0..5).map(|_| {
        let start = std::time::Instant::now();
        work();
        start.elapsed()
    });
    times.min().expect("five times")
}
