//! The commands that write files, each in the smallest form that does all of its steps.

use std::fs;
use std::path::Path;

use crate::case::{Case, home};
use crate::common::{opus_mt, pairs, run, stdout, tiny_settings, write_pairs};
use crate::compare::{Files, files};

/// Texts and models that the commands read.
pub struct Inputs {
    folder: tempfile::TempDir,
}

/// The settings of a run in which everything happens within six updates.
const SHORT: [&str; 12] = [
    "model.d_model=16",
    "model.heads=2",
    "model.d_ff=32",
    "training.max_updates=6",
    "training.log_every=1",
    "training.budget=128",
    "validation.every=3",
    "validation.max_sentences=4",
    "checkpoints.every=2",
    "checkpoints.keep=2",
    "checkpoints.average=2",
    "schedule.warmup=2",
];

impl Inputs {
    pub fn new() -> Self {
        let inputs = Self { folder: home() };
        write_pairs(inputs.folder.path(), "train", &pairs(1, 60));
        write_pairs(inputs.folder.path(), "valid", &pairs(2, 4));
        write_pairs(inputs.folder.path(), "test", &pairs(3, 4));
        let page = "<p>eins <b>zwei</b></p>\n<p>drei</p>\n";
        fs::write(inputs.folder.path().join("page.html"), page).unwrap();
        let cache = inputs.folder.path().join("cache");
        let model = inputs.path("run");
        stdout(&run(&inputs.train(&model, &cache)));
        let [theirs, imported] = ["theirs", "imported"].map(|name| inputs.path(name));
        opus_mt(Path::new(&theirs), &["fra"]);
        stdout(&run(&["import", &theirs, "-o", &imported]));
        inputs.train_start();
        inputs
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    /// Trains the model that adaptations start from. It knows a little of what it could learn.
    fn train_start(&self) {
        write_pairs(self.folder.path(), "start", &pairs(4, 600));
        let cache = self.folder.path().join("cache");
        let mut arguments = self.train_on("start", &self.path("start"), &cache);
        for setting in ["model.d_model=32", "training.max_updates=100"] {
            arguments.extend(["--set", setting].map(String::from));
        }
        stdout(&run(&arguments));
    }

    /// The arguments of a short run.
    fn train(&self, out: &str, cache: &Path) -> Vec<String> {
        let mut arguments = self.train_on("train", out, cache);
        for name in ["valid", "test"] {
            arguments.push(format!("--{name}"));
            arguments.extend(self.sides(name));
        }
        for setting in SHORT {
            arguments.extend(["--set", setting].map(String::from));
        }
        arguments
    }

    fn train_on(&self, text: &str, out: &str, cache: &Path) -> Vec<String> {
        let mut arguments: Vec<String> = ["train", "--out", out, "--train"]
            .map(String::from)
            .to_vec();
        arguments.extend(self.sides(text));
        arguments.extend(tiny_settings(cache));
        arguments
    }

    fn sides(&self, text: &str) -> [String; 2] {
        ["de", "en"].map(|side| self.path(&format!("{text}.{side}")))
    }

    /// All commands.
    pub fn cases(&self) -> Vec<Case> {
        let mut cases = self.models();
        cases.extend(self.texts());
        cases.extend(self.runs());
        cases
    }

    /// Commands that make or change a model without training.
    fn models(&self) -> Vec<Case> {
        let model = self.path("run/last");
        let best = self.path("run/best");
        let [source, target] = ["train.de", "train.en"].map(|name| self.path(name));
        let [theirs, imported] = ["theirs", "imported"].map(|name| self.path(name));
        let out = "{}/new";
        let mut cases = vec![
            Case::new("average", &["average", &model, &best, "-o", out], &["new"]),
            Case::new("quantize", &["quantize", "-m", &model, "-o", out], &["new"]),
            Case::new("import", &["import", &theirs, "-o", out], &["new"]),
            Case::new(
                "shortlist",
                &[
                    "shortlist",
                    "-m",
                    &model,
                    "--train",
                    &source,
                    &target,
                    "-o",
                    out,
                ],
                &["new"],
            ),
        ];
        for (name, format) in [
            ("export hugging-face", "hugging-face"),
            ("export ctranslate2", "ctranslate2"),
            ("export ctranslate2-int8", "ctranslate2-int8"),
        ] {
            let arguments = ["export", format, "-m", &imported, "-o", out];
            cases.push(Case::new(name, &arguments, &["new"]));
        }
        let settings = ["settings", out, "--set", "beam_size=3"];
        let settings = Case::new("settings", &settings, &["new"]);
        cases.push(settings.with(inside("new/", files(Path::new(&model)))));
        cases
    }

    /// Commands that write texts.
    fn texts(&self) -> Vec<Case> {
        let model = self.path("run/last");
        let [source, page] = ["test.de", "page.html"].map(|name| self.path(name));
        let out = "{}/new";
        let translate = ["translate", "--model", &model, "--output", out, "--input"];
        let more = |more: &[&str]| -> Vec<String> {
            let all = translate.iter().chain(more);
            all.map(|argument| argument.to_string()).collect()
        };
        let distill = ["distill", "-m", &model, "--input", &source, "-o", out];
        let plot = ["plot", &self.path("run"), "-o", "{}/new.svg"];
        let mut cases = vec![
            Case::new("distill", &distill, &["new"]),
            Case::new("plot", &plot, &["new.svg"]),
            Case::new(
                "config init",
                &["config", "init", "{}/new.toml"],
                &["new.toml"],
            ),
        ];
        let document = Case::new("translate", &more(&[&page, "--format", "html"]), &["new"]);
        let old = Files::from([("new".into(), b"<p>old</p>\n".to_vec())]);
        cases.push(document.with(old));
        let shard = |number: &str| more(&[&source, "--chunk", "2", "--shard", number]);
        cases.push(Case::new("translate --shard", &shard("1/2"), &[]));
        let gather = Case::new("gather", &["gather", out, "--shards", "2"], &["new"]);
        cases.push(gather.after(&["1/2", "2/2"].map(shard)));
        cases
    }

    /// Commands that train.
    fn runs(&self) -> Vec<Case> {
        let train = |more: &[&str]| {
            let mut arguments = self.train("{}/run", Path::new("{}/cache"));
            arguments.extend(more.iter().map(|argument| argument.to_string()));
            arguments
        };
        let longer = ["--resume", "--set", "training.max_updates=9"];
        let resumed = Case::new("resume", &train(&longer), &[]);
        let further = Case::new("adapt further", &self.adapt(200), &["new"]);
        vec![
            Case::new("train", &train(&[]), &[]),
            resumed.after(&[train(&[])]),
            Case::new("adapt", &self.adapt(100), &["new"]),
            further.after(&[self.adapt(100)]),
        ]
    }

    /// The arguments of an adaptation to `count` pairs.
    fn adapt(&self, count: usize) -> Vec<String> {
        let name = format!("memory-{count}");
        let memory = write_pairs(self.folder.path(), &name, &pairs(7, count));
        let general = write_pairs(self.folder.path(), "general", &pairs(8, 60));
        let model = self.path("start/last");
        let mut arguments: Vec<String> = ["adapt", "--model", &model, "--out", "{}/new"]
            .map(String::from)
            .to_vec();
        for (option, files) in [("--memory", memory), ("--general", general)] {
            arguments.push(option.into());
            arguments.extend(files.map(|path| path.display().to_string()));
        }
        arguments.extend(["--updates", "30", "--mix", "1"].map(String::from));
        arguments
    }
}

/// `files` in a folder, such as `new/`.
fn inside(folder: &str, files: Files) -> Files {
    let moved = files
        .into_iter()
        .map(|(name, content)| (folder.to_owned() + &name, content));
    moved.chain([(folder.into(), Vec::new())]).collect()
}
