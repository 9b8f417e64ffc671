#[path = "it/common/mod.rs"]
mod common;
use burnformer_documents::*;
fn cpu() -> f64 {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut t) };
    t.tv_sec as f64 + t.tv_nsec as f64 / 1e9
}
#[test]
fn t() {
    for piece in ["~~a", "**a", "a "] {
        for n in [5000usize, 10000, 20000, 40000, 80000] {
            let text = format!("a {}", piece.repeat(n / piece.len()));
            let a = cpu();
            let fits = |part: &str| part.chars().filter(|c| c.is_alphanumeric()).count() <= 200;
            let mut d = Document::parse(&text, Format::Markdown, Some("en"), &fits);
            let b = cpu();
            loop {
                let p = d.pending();
                if p.is_empty() {
                    break;
                }
                d.accept(p.iter().map(common::reverse).collect());
            }
            let c = cpu();
            d.finish();
            let e = cpu();
            println!("{piece} {n} parse {:.4} accept {:.4} finish {:.4}", b - a, c - b, e - c);
        }
    }
}
