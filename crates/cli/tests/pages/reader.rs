//! A reader who runs commands in a folder of their own.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use crate::common::{opus_mt, pairs, run, stderr, stdout, write_pairs};
use crate::page::{PageCommand, repository};

/// The address in the pages that a server listens at.
pub const ADDRESS: &str = "127.0.0.1:5000";

/// A reader: a folder with the reader's own files and the programs that the pages call.
pub struct Reader {
    home: tempfile::TempDir,
    /// The server that runs until the end of a block, and its address.
    server: Option<(Child, String)>,
}

impl Reader {
    pub fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let reader = Self { home, server: None };
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
        let messages = include_str!("../it/messages.tsv")
            .lines()
            .skip(1)
            .map(|line| {
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
        self.write_languages();
        self.write_talks();
    }

    /// `languages.toml` of the guide, and its texts.
    fn write_languages(&self) {
        self.write_configuration("languages");
        for (seed, pair) in [(12, "de-en"), (13, "fr-en"), (14, "de-fr")] {
            for (part, count) in [("train", 300), ("valid", 10), ("test", 10)] {
                let lines = pairs(seed, count);
                let lines = lines.iter().map(|(from, into)| format!("{from}\t{into}\n"));
                let path = self.path("work").join(format!("{part}.{pair}.tsv"));
                fs::write(path, lines.collect::<String>()).unwrap();
            }
        }
    }

    /// `talks.toml` of the guide, its texts, and a talk to translate. An empty line ends a talk.
    fn write_talks(&self) {
        self.write_configuration("context");
        let work = self.path("work");
        fs::rename(work.join("context.toml"), work.join("talks.toml")).unwrap();
        for (seed, part, count) in [(15, "train", 300), (16, "valid", 12), (17, "test", 12)] {
            let lines = pairs(seed, count);
            let talks: Vec<(String, String)> = lines
                .chunks(5)
                .flat_map(|talk| [talk, &[(String::new(), String::new())]].concat())
                .collect();
            write_pairs(&work, &format!("talks.{part}"), &talks);
        }
        fs::copy(work.join("talks.test.en"), work.join("talk.en")).unwrap();
    }

    /// The configuration in the first TOML block of the page `name` of the guide, as `name.toml`.
    fn write_configuration(&self, name: &str) {
        let page = repository().join(format!("docs/guide/{name}.md"));
        let page = fs::read_to_string(page).unwrap();
        let (_, block) = page.split_once("```toml\n").unwrap();
        let (block, _) = block.split_once("```").unwrap();
        fs::write(self.path("work").join(format!("{name}.toml")), block).unwrap();
    }

    /// Models from elsewhere: one in the form of OPUS-MT with a target language, by three names,
    /// and two in the form of M2M100.
    fn write_models(&self) {
        let fixtures = repository().join("crates/interop/tests/fixtures");
        let opus = self.path("work/opus-mt-en-fr");
        let m2m100 = fixtures.join("m2m100/relu");
        opus_mt(&opus, &["fra"]);
        for (from, name) in [
            (&m2m100, "m2m100"),
            (&m2m100, "nllb"),
            (&opus, "en-roa"),
            (&opus, "de-en"),
            (&opus, "en-sv"),
        ] {
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
            .env("XDG_CACHE_HOME", self.path("cache"))
            .stdin(Stdio::null());
        command
    }

    /// Runs `command`; a server runs on.
    /// Runs `command`, which must succeed.
    pub fn follow(&mut self, command: &PageCommand) {
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

    /// Ends the server.
    pub fn stop(&mut self) {
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
