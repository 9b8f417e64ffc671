//! The attention page in headless Chromium: choosing by click, by key and by address.
//!
//! Without Chromium these tests say so and pass; `apt-get install chromium` runs them.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use burnformer_infer::view::{AttentionMatrix, Panel, PanelKind, SentenceAttention, page};

/// A page of two sentences; weight (layer, head, query, key) of the first is `expected` below.
fn example() -> String {
    let tokens = |words: &[&str]| words.iter().map(ToString::to_string).collect::<Vec<_>>();
    let panel = |kind, queries: &[&str], keys: &[&str]| {
        let head = |layer: usize, head: usize| {
            let cells = (0..queries.len() * keys.len())
                .map(|i| expected(layer, head, i / keys.len(), i % keys.len()));
            AttentionMatrix::new(keys.len(), cells.collect())
        };
        let layers = (0..2)
            .map(|layer| (0..2).map(|h| head(layer, h)).collect())
            .collect();
        Panel {
            kind,
            queries: tokens(queries),
            keys: tokens(keys),
            layers,
        }
    };
    let source = ["▁ein", "▁Haus", "</s>"];
    let sentence = |text: &str| SentenceAttention {
        source: text.into(),
        target: "a house".into(),
        alignment: vec![(0, 0), (1, 1)],
        panels: vec![
            panel(PanelKind::Encoder, &source, &source),
            panel(PanelKind::Decoder, &["<s>", "▁a"], &["<s>", "▁a"]),
            panel(PanelKind::Cross, &["▁a", "▁house"], &source),
        ],
    };
    page(
        "An <example>",
        &[sentence("ein Haus"), sentence("ein </script> zwei")],
    )
}

/// Thousandths that say where they stand: layer, head, query and key from 1.
fn expected(layer: usize, head: usize, query: usize, key: usize) -> f32 {
    let digits = 100 * (layer + 1) + 10 * (head + 1) + 3 * query + key;
    digits as f32 / 1000.0
}

fn chromium() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let names = ["chromium", "chromium-browser", "google-chrome"];
    let mut paths = std::env::split_paths(&path).flat_map(|dir| names.map(|name| dir.join(name)));
    paths.find(|path| path.is_file())
}

/// The document after `steps` (JavaScript that calls `log`) ran in the page at `address`, as what
/// they logged; `None` where there is no browser.
fn logged(address: &str, steps: &str) -> Option<Vec<String>> {
    let Some(browser) = chromium() else {
        eprintln!("skipped: no Chromium in PATH");
        return None;
    };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("page.html");
    let script = format!(
        "<script>const lines = []; const log = (x) => lines.push(String(x));
         const at = (q) => document.querySelector(q);
         try {{ {steps} }} catch (error) {{ log(error); }}
         document.body.append(Object.assign(document.createElement('pre'),
           {{ id: 'log', textContent: '\\n' + lines.join('\\n') + '\\n' }}));</script></body>"
    );
    std::fs::write(&file, example().replace("</body>", &script)).unwrap();
    let dom = dump(
        &browser,
        folder.path(),
        &format!("file://{}{address}", file.display()),
    );
    let log = dom
        .split("<pre id=\"log\">")
        .nth(1)
        .unwrap_or_else(|| panic!("no log in {dom}"));
    let log = log.split("</pre>").next().unwrap().trim();
    Some(
        log.lines()
            .map(|line| {
                line.replace("&gt;", ">")
                    .replace("&lt;", "<")
                    .replace("&amp;", "&")
            })
            .collect(),
    )
}

fn dump(browser: &Path, folder: &Path, address: &str) -> String {
    let flags = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--dump-dom",
    ];
    let output = folder.join("dom.html");
    let mut child = Command::new(browser)
        .args(flags)
        .arg(format!(
            "--user-data-dir={}",
            folder.join("profile").display()
        ))
        .arg(address)
        .stdin(Stdio::null())
        .stdout(std::fs::File::create(&output).unwrap())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let start = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if start.elapsed() > Duration::from_secs(120) {
            child.kill().unwrap();
            panic!("Chromium did not end within two minutes");
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    std::fs::read_to_string(output).unwrap()
}

const TITLE: &str = "at('#map-title').textContent";
const CELL: &str = "at('#map td[data-q=\"1\"][data-k=\"2\"]').dataset.w";

#[test]
fn a_click_chooses_kind_layer_and_head() {
    let show = format!("log({TITLE}); log({CELL});");
    let steps = format!(
        "{show}
         at('#layer input[value=\"0\"]').click(); {show}
         at('#layer input[value=\"1\"]').click(); {show}
         at('#head input[value=\"0\"]').click(); {show}
         at('#part input[value=\"encoder\"]').click(); {show}
         at('#heads button[aria-label=\"layer 1, head 2\"]').click(); {show}
         log(at('#heads button[aria-pressed=\"true\"]').textContent); log(location.hash);"
    );
    let Some(log) = logged("#part=cross&layer=2&head=mean", &steps) else {
        return;
    };
    let first = "0.120";
    let last = "0.220";
    let head = "0.215";
    assert_eq!(
        log,
        [
            "Cross-attention, layer 2, mean of heads",
            last,
            "Cross-attention, layer 1, mean of heads",
            first,
            "Cross-attention, layer 2, mean of heads",
            last,
            "Cross-attention, layer 2, head 1",
            head,
            "Encoder self-attention, layer 2, head 1",
            head,
            "Encoder self-attention, layer 1, head 2",
            "0.125",
            "1.2",
            "#sentence=1&part=encoder&layer=1&head=2",
        ]
    );
    assert_eq!(format!("{:.3}", expected(1, 0, 1, 2)), head);
}

#[test]
fn the_page_opens_with_a_single_head_of_cross_attention() {
    let steps = format!("log({TITLE}); log({CELL});");
    let Some(log) = logged("", &steps) else {
        return;
    };
    assert_eq!(log, ["Cross-attention, layer 2, head 1", "0.215"]);
}

#[test]
fn an_address_chooses_a_view_within_bounds() {
    let steps = format!("log({TITLE}); log({CELL}); log(at('#source').textContent);");
    let Some(log) = logged("#sentence=2&part=cross&layer=2&head=2", &steps) else {
        return;
    };
    assert_eq!(
        log,
        [
            "Cross-attention, layer 2, head 2",
            "0.225",
            "ein </script> zwei"
        ]
    );
    let log = logged("#sentence=9&part=none&layer=99&head=99", &steps).unwrap();
    assert_eq!(
        log,
        [
            "Cross-attention, layer 2, mean of heads",
            "0.220",
            "ein Haus"
        ]
    );
}

#[test]
fn pointing_and_arrow_keys_show_weights() {
    let steps = "
        const cell = at('#map td[data-q=\"0\"][data-k=\"0\"]');
        cell.dispatchEvent(new MouseEvent('mouseover', { bubbles: true }));
        log(at('#readout').textContent);
        cell.focus();
        for (const key of ['ArrowDown', 'ArrowRight', 'ArrowRight', 'ArrowRight', 'ArrowUp', 'ArrowUp'])
          document.activeElement.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }));
        log(document.activeElement.getAttribute('aria-label'));
        log([...document.querySelectorAll('#map th.on')].map((th) => th.textContent).join(' '));
        log(document.querySelectorAll('#map td[tabindex=\"0\"]').length);";
    let Some(log) = logged("#part=cross&layer=1&head=1", steps) else {
        return;
    };
    assert_eq!(
        log,
        [
            "·a looks at ·ein with weight 0.110",
            "·a looks at </s> with weight 0.112",
            "</s> ·a",
            "1",
        ]
    );
}

#[test]
fn hidden_keys_are_not_drawn_as_weights() {
    let steps = "
        const cells = document.querySelectorAll('#map td.masked');
        log(cells.length); log(cells[0].getAttribute('aria-label')); log(at('#masked').hidden);";
    let Some(log) = logged("#part=decoder", steps) else {
        return;
    };
    assert_eq!(
        log,
        ["1", "<s> does not see ·a, which the mask hides", "false"]
    );
}

/// Weights below 0.02 and hidden pairs have no line; a row that is read keeps only its lines.
#[test]
fn lines_join_a_query_with_the_keys_that_it_sees() {
    let steps = "
        const count = (q) => document.querySelectorAll('#lines line' + q).length;
        log(count('')); log(at('#lines line').getAttribute('stroke-opacity'));
        at('#map td[data-q=\"1\"][data-k=\"0\"]').dispatchEvent(new MouseEvent('mouseover', { bubbles: true }));
        log(count(':not(.off)'));";
    let Some(log) = logged("#part=decoder&layer=1&head=1", steps) else {
        return;
    };
    assert_eq!(log, ["3", "0.11", "2"]);
    let log = logged("#part=decoder&layer=1&head=mean", steps).unwrap();
    assert_eq!(log[0], "6", "the lines of both heads");
}

#[test]
fn the_alignment_is_in_words() {
    let steps = "for (const li of document.querySelectorAll('#alignment li')) log(li.textContent);";
    let Some(log) = logged("", steps) else { return };
    assert_eq!(log, ["ein – a", "Haus – house"]);
}
