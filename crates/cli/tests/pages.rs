//! Every command of the README and of the guide, run in order by a shell in a fresh folder. The
//! README is one sequence, and all pages of the guide are another.
//!
//! Two things differ from a reader's session. Trainings are short and models are small, by settings
//! at the end of each `train`. A server listens at a free port, not at 5000.
#![cfg(unix)]

#[path = "it/common/mod.rs"]
mod common;

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use common::{opus_mt, pairs, run, stderr, stdout, write_pairs};

/// Parts of commands that cannot be run here, each with the reason.
const NOT_RUN: [(&str, &str); 24] = [
    (
        "pip install",
        "needs the wheel, which `cargo xtask wheel --test` builds and installs",
    ),
    (
        "hf:Helsinki-NLP",
        "needs the hub; tests/it/named.rs has a local one",
    ),
    ("hf:facebook", "needs the hub"),
    (
        "runs/m2m100",
        "fine-tunes for a while; tests/it/interop/fine_tuning.rs does it shortly",
    ),
    (
        "runs/languages",
        "needs the texts of three pairs; tests/it/pairs.rs has some",
    ),
    ("-d source=de -d target=fr", "asks the server of that model"),
    (
        "runs/talks",
        "needs documents; tests/it/context.rs has some",
    ),
    (
        "context='The lamp",
        "asks a server of that model; tests/it/context.rs asks one",
    ),
    (
        "--then",
        "needs two models that meet; tests/it/pivot.rs has them",
    ),
    (
        "firefox:de-en",
        "needs Mozilla's server; crates/interop tests a local one",
    ),
    (
        "apt-get download",
        "needs Debian's packages; the reader has their messages",
    ),
    ("dpkg-deb", "unpacks them"),
    ("msgunfmt", "needs gettext"),
    ("msgfmt", "needs gettext"),
    ("rustup target", "needs the network"),
    (
        "cargo xtask web",
        "needs the target wasm32-unknown-unknown and minutes",
    ),
    (
        "docs/images/draw.py",
        "draws into the repository; a test of xtask runs it",
    ),
    ("cargo install", "compiles the program, which the test has"),
    ("cargo rustc", "compiles the program, which the test has"),
    (
        "cargo xtask test",
        "is the suite of which this test is a part",
    ),
    (
        "--device wgpu",
        "needs a build for graphics cards, and one to compute on",
    ),
    (
        "--device cuda",
        "needs a build for graphics cards, and one to compute on",
    ),
    (
        "study table3",
        "trains some fifteen models; the tests of crates/lab run it with one",
    ),
    (
        "cargo xtask bench",
        "measures for minutes; the tests of crates/lab run it with small sizes",
    ),
];

/// The address in the pages that a server listens at.
const ADDRESS: &str = "127.0.0.1:5000";

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .unwrap()
}

/// The pages of the guide in the order of its table of contents.
fn guide() -> Vec<String> {
    let summary = fs::read_to_string(repository().join("docs/SUMMARY.md")).unwrap();
    let linked = summary
        .lines()
        .filter_map(|line| line.split_once("](")?.1.strip_suffix(')'));
    linked
        .filter(|page| page.starts_with("guide/"))
        .map(|page| format!("docs/{page}"))
        .collect()
}

/// A command of a page.
#[derive(Debug, PartialEq)]
struct PageCommand {
    /// The page and the line, from 1.
    location: String,
    text: String,
    /// The number of the block on the page. A server ends with its block.
    block: usize,
}

/// The commands in the fenced `sh` blocks of `page`.
fn commands(page: &str, text: &str) -> Vec<PageCommand> {
    let mut found: Vec<PageCommand> = Vec::new();
    let mut block = 0;
    let mut inside = false;
    let mut goes_on = false;
    for (number, line) in (1..).zip(text.lines()) {
        if line.trim_start().starts_with("```") {
            inside = !inside && line.trim() == "```sh";
            block += usize::from(inside);
            continue;
        }
        if !inside || (!goes_on && (line.trim().is_empty() || line.trim_start().starts_with('#'))) {
            continue;
        }
        match found.last_mut().filter(|_| goes_on) {
            Some(begun) => begun.text += &format!("\n{line}"),
            None => {
                let location = format!("{page}:{number}");
                let text = line.to_owned();
                found.push(PageCommand {
                    location,
                    text,
                    block,
                });
            }
        }
        goes_on = line.ends_with('\\');
    }
    found
}

fn commands_of(page: &str) -> Vec<PageCommand> {
    commands(page, &fs::read_to_string(repository().join(page)).unwrap())
}

/// A reader: a folder with the reader's own files and the programs that the pages call.
struct Reader {
    home: tempfile::TempDir,
    cache: PathBuf,
    /// The server that runs until the end of a block, and its address.
    server: Option<(Child, String)>,
}

impl Reader {
    fn new(cache: &Path) -> Self {
        let home = tempfile::tempdir().unwrap();
        let reader = Self {
            home,
            cache: cache.into(),
            server: None,
        };
        fs::create_dir(reader.path("bin")).unwrap();
        fs::create_dir(reader.path("work")).unwrap();
        reader.write_programs();
        reader.write_texts();
        reader.write_models();
        reader
    }

    fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(name)
    }

    /// `cargo xtask …` and `burnformer …`. Both run the program under test.
    fn write_programs(&self) {
        let write = |name: &str, script: &str| {
            let path = self.path("bin").join(name);
            fs::write(&path, script).unwrap();
            fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
        };
        write(
            "cargo",
            "#!/bin/sh\n[ \"$1\" = xtask ] && shift && exec burnformer \"$@\"\nexit 99\n",
        );
        // Enough updates to end a sentence. Every training is two longer than the one before, so
        // that there is something left to resume.
        let short = "--set training.max_minutes=0 --set training.budget=512 --set training.log_every=50 \
                     --set validation.max_sentences=3 --set checkpoints.every=50 --set validation.test_beam=1 \
                     --set validation.test_alphas=[] --set schedule.warmup=20";
        let small = "--set model.d_model=32 --set model.heads=4 --set model.d_ff=64 --set model.encoder_layers=1 \
                     --set model.decoder_layers=1 --set tokenizer.train.allow_smaller=true";
        let program = env!("CARGO_BIN_EXE_burnformer");
        let count = self.path("updates");
        let script = format!(
            "#!/bin/sh\n\
             case \"$1\" in\n\
             train)\n\
                 updates=$(($(cat '{count}' 2>/dev/null || echo 100) + 2)); echo $updates > '{count}'\n\
                 case \" $* \" in *' --from '*|*' --resume '*) small= ;; *) small='{small}' ;; esac\n\
                 exec '{program}' \"$@\" {short} $small --set training.max_updates=$updates ;;\n\
             serve) exec '{program}' \"$@\" --listen 127.0.0.1:0 ;;\n\
             adapt) rm -rf my-model; exec '{program}' \"$@\" --updates 30 --mix 0.3 ;;\n\
             *) exec '{program}' \"$@\" ;;\n\
             esac\n",
            count = count.display()
        );
        write("burnformer", &script);
    }

    fn write_texts(&self) {
        let work = self.path("work");
        let toy = |seed, count| pairs(seed, count);
        write_pairs(&work, "all", &toy(1, 1300));
        for (seed, name, count) in [
            (2, "train", 300),
            (3, "valid", 10),
            (4, "test", 10),
            (5, "captions", 60),
            (6, "news", 60),
        ] {
            write_pairs(&work, name, &toy(seed, count));
        }
        for (seed, name) in [
            (7, "my"),
            (7, "mine"),
            (8, "news"),
            (9, "talks"),
            (3, "valid"),
        ] {
            let lines: Vec<(String, String)> = toy(seed, 60);
            let [de, en] = write_pairs(&work, &format!("{name}-"), &lines);
            fs::rename(de, work.join(format!("{name}.fr"))).unwrap();
            fs::rename(en, work.join(format!("{name}.en"))).unwrap();
        }
        // The same number of lines as in the other language.
        write_pairs(&work, "news", &toy(6, 60));
        write_pairs(&work, "valid", &toy(3, 60));
        let [input, _] = write_pairs(&work, "input", &toy(10, 5));
        fs::copy(input, work.join("input.en")).unwrap();
        let tsv: String = toy(11, 300)
            .iter()
            .map(|(de, en)| format!("{de}\t{en}\n"))
            .collect();
        fs::write(work.join("corpus.tsv"), &tsv).unwrap();
        let gz = fs::File::create(work.join("corpus.tsv.gz")).unwrap();
        let mut gz = flate2::write::GzEncoder::new(gz, flate2::Compression::fast());
        gz.write_all(tsv.as_bytes()).unwrap();
        gz.finish().unwrap();
        let messages = include_str!("it/messages.tsv").lines().skip(1).map(|line| {
            let columns: Vec<&str> = line.split('\t').collect();
            [columns[0], columns[3]]
        });
        let message = |number: usize, [en, ko]: [&str; 2]| {
            format!("msgid \"{en} {number}\"\nmsgstr \"{ko} {number}\"\n\n")
        };
        let messages: Vec<_> = messages.collect();
        let all = (0..25).flat_map(|number| messages.iter().map(move |&it| message(number, it)));
        fs::write(work.join("messages.po"), all.collect::<String>()).unwrap();
        // A memory of one kind of message, which thirty updates teach, and the next version of it.
        let of = |i: usize| {
            let first = [
                "Tom", "Mary", "John", "Anna", "Peter", "Paul", "Lisa", "Max", "Eva", "Karl",
            ][i % 10];
            let last = [
                "Adams", "Baker", "Clark", "Davis", "Evans", "Frank", "Green", "Hill",
            ][i / 10 % 8];
            let middle = ["", "Ann ", "Lee "][i / 80];
            let name = format!("{first} {middle}{last}");
            format!("msgid \"{name} has two cats.\"\nmsgstr \"{name} hat zwei Kater.\"\n\n")
        };
        fs::create_dir_all(work.join("locale/de")).unwrap();
        for (part, name) in ["a.po", "b.po"].into_iter().enumerate() {
            let text: String = (part * 100..part * 100 + 100).map(of).collect();
            fs::write(work.join("locale/de").join(name), text).unwrap();
        }
        fs::write(
            work.join("next.po"),
            of(1) + "msgid \"Tom Baker has two cats.\"\nmsgstr \"\"\n",
        )
        .unwrap();
        fs::write(work.join("page.html"), "<p>eins <b>zwei</b> drei.</p>\n").unwrap();
    }

    /// Models from elsewhere: one in the form of OPUS-MT with a target language, and two in the
    /// form of M2M100.
    fn write_models(&self) {
        let fixtures = repository().join("crates/interop/tests/fixtures");
        let opus = self.path("work/opus-mt-en-fr");
        let m2m100 = fixtures.join("m2m100/relu");
        opus_mt(&opus, &["fra"]);
        for (from, name) in [(&m2m100, "m2m100"), (&m2m100, "nllb"), (&opus, "en-roa")] {
            let out = self.path("work/models").join(name);
            let [from, out] = [from, &out].map(|path| path.to_str().unwrap());
            stdout(&run(&["import", from, "--out", out]));
        }
    }

    /// A shell that runs `text` in the reader's folder.
    fn shell(&self, text: &str) -> Command {
        let path = format!(
            "{}:{}",
            self.path("bin").display(),
            std::env::var("PATH").unwrap()
        );
        let mut command = Command::new("bash");
        command
            .args(["-o", "pipefail", "-c", text])
            .current_dir(self.path("work"));
        command
            .env("PATH", path)
            .env("XDG_CACHE_HOME", &self.cache)
            .stdin(Stdio::null());
        command
    }

    /// Runs `command`; a server runs on.
    fn follow(&mut self, command: &PageCommand) {
        let PageCommand { location, text, .. } = command;
        let without_comment = text.split(" # ").next().unwrap_or_default();
        assert!(
            !without_comment.contains('…'),
            "{location}: {text}: a reader cannot run what is left out"
        );
        if text.contains(" serve") {
            self.serve(command);
            return;
        }
        let text = match &self.server {
            Some((_, address)) => text.replace(ADDRESS, address),
            None => text.clone(),
        };
        let begun = std::time::Instant::now();
        let output = self.shell(&text).output().unwrap();
        let told = format!(
            "{}{}",
            String::from_utf8_lossy(&output.stdout),
            stderr(&output)
        );
        assert!(
            output.status.success(),
            "{location}: {text}: {}\n{told}",
            output.status
        );
        println!(
            "{:5.1} s  {location}: {text}",
            begun.elapsed().as_secs_f64()
        );
    }

    /// Starts the server of `command` and waits until it listens.
    fn serve(&mut self, PageCommand { location, text, .. }: &PageCommand) {
        self.stop();
        let mut child = self
            .shell(&format!("exec {text}"))
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.as_mut().unwrap())
            .read_line(&mut line)
            .unwrap();
        let address = line
            .trim()
            .strip_prefix("listening at http://")
            .map(str::to_owned);
        let address = address.unwrap_or_else(|| panic!("{location}: {text}: {line:?}"));
        self.server = Some((child, address));
    }

    fn stop(&mut self) {
        if let Some((mut child, _)) = self.server.take() {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Runs the commands of `pages` that can be run, one after another. Readers with the same `cache`
/// tokenise the embedded text once.
fn follow(pages: &[String], cache: &Path) {
    let mut reader = Reader::new(cache);
    for page in pages {
        let mut block = 0;
        let runs = |text: &str| NOT_RUN.iter().all(|(part, _)| !text.contains(part));
        for command in commands_of(page)
            .iter()
            .filter(|command| runs(&command.text))
        {
            // A page of the guide shows calls of one server in several blocks.
            if command.block != block && !command.text.contains(ADDRESS) {
                reader.stop();
            }
            block = command.block;
            reader.follow(command);
        }
        reader.stop();
    }
}

#[test]
fn every_command_of_the_readme_and_of_the_guide_runs() {
    let guide = guide();
    let cache = tempfile::tempdir().unwrap();
    assert!(guide.len() > 8, "{guide:?}");
    follow(&["README.md".into()], cache.path());
    follow(&guide, cache.path());
}

#[test]
fn every_exception_from_running_is_on_a_page() {
    let pages = [vec!["README.md".into()], guide()].concat();
    let all: Vec<PageCommand> = pages.iter().flat_map(|page| commands_of(page)).collect();
    for (part, reason) in NOT_RUN {
        let is_there = all.iter().any(|command| command.text.contains(part));
        assert!(
            is_there,
            "no page has a command with {part:?} any more ({reason}); remove the entry"
        );
    }
}

#[test]
fn commands_are_the_lines_of_sh_blocks() {
    let page = "a\n```sh\n# why\none \\\n  more # comment\n\ntwo\n```\n```text\nno\n```\n```sh\nthree\n```\n";
    let command = |line: u32, text: &str, block| PageCommand {
        location: format!("p.md:{line}"),
        text: text.into(),
        block,
    };
    let expected = [
        command(4, "one \\\n  more # comment", 1),
        command(7, "two", 1),
        command(13, "three", 2),
    ];
    assert_eq!(commands("p.md", page), expected);
}
