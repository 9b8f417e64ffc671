//! Programs of the guide and of the folders `examples` compile and run in packages outside of this
//! workspace, with only the dependencies that their page names.
//!
//! `cargo test --release -p xtask --test outside -- --ignored --nocapture --test-threads 1`
//! compiles Burn again and trains the language model for ten minutes. The machine has to be idle.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag};

/// A program and its arguments. Without arguments it is only compiled.
struct Program {
    name: String,
    text: String,
    arguments: Option<Vec<String>>,
}

/// The workspace.
fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .expect("xtask lies in the workspace")
}

/// The code blocks in the page at `path` that are marked as `language`: the whole info string and
/// the text of each.
fn blocks(path: &str, language: &str) -> Vec<(String, String)> {
    let page = fs::read_to_string(root().join(path)).expect(path);
    let mut blocks: Vec<(String, String)> = Vec::new();
    let mut inside = false;
    for event in Parser::new(&page) {
        match event {
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(mark))) => {
                inside = mark.split(',').next() == Some(language);
                if inside {
                    blocks.push((mark.into_string(), String::new()));
                }
            }
            Event::End(_) => inside = false,
            Event::Text(text) if inside => blocks.last_mut().expect("it is open").1 += &text,
            _ => {}
        }
    }
    assert!(!blocks.is_empty(), "{path} has no block of {language}");
    blocks
}

/// The blocks of dependencies in the page at `path`.
fn dependencies(path: &str) -> Vec<String> {
    let here = format!("path = \"{}/", root().display());
    blocks(path, "toml")
        .into_iter()
        .map(|(_, text): (String, String)| {
            let lines = text.lines().filter(|line| !line.starts_with('['));
            lines
                .map(|line| line.replace("path = \"burnformer/", &here) + "\n")
                .collect()
        })
        .collect()
}

/// The programs in the page at `path`, including hidden lines, as rustdoc reads them.
fn programs(path: &str) -> Vec<Program> {
    let stem = path
        .trim_end_matches(".md")
        .replace('/', "_")
        .to_lowercase();
    let program = |(number, (mark, text)): (usize, (String, String))| {
        let lines = text
            .lines()
            .map(|line| line.strip_prefix("# ").unwrap_or(line));
        let mut text = lines.collect::<Vec<_>>().join("\n");
        if !text.contains("fn main()") {
            text = format!(
                "fn main() {{\nfn run() -> Result<(), impl std::fmt::Debug> {{\n{text}\n}}\nrun().expect(\"it runs\");\n}}"
            );
        }
        let arguments = (!mark.contains("no_run")).then(Vec::new);
        Program {
            name: format!("{stem}_{number}"),
            text,
            arguments,
        }
    };
    blocks(path, "rust")
        .into_iter()
        .enumerate()
        .map(program)
        .collect()
}

/// The example at `path`.
fn example(path: &str, arguments: Option<&[&str]>) -> Program {
    let name = path
        .rsplit('/')
        .next()
        .unwrap_or(path)
        .trim_end_matches(".rs")
        .to_owned();
    let text = fs::read_to_string(root().join(path)).expect(path);
    let arguments = arguments.map(|all| all.iter().map(|&one| one.to_owned()).collect());
    Program {
        name,
        text,
        arguments,
    }
}

/// Writes the package, compiles it as the page describes, and runs its programs.
fn check(name: &str, dependencies: &str, programs: &[Program]) {
    let target = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("outside");
    let folder = std::env::temp_dir()
        .join(format!("burnformer-outside-{}", std::process::id()))
        .join(name);
    fs::create_dir_all(folder.join("src/bin")).unwrap();
    let package = format!("[package]\nname = \"{name}\"\nedition = \"2024\"\n\n[workspace]\n\n");
    fs::write(
        folder.join("Cargo.toml"),
        package + "[dependencies]\n" + dependencies,
    )
    .unwrap();
    fs::copy(root().join("Cargo.lock"), folder.join("Cargo.lock")).unwrap();
    fs::write(folder.join("input"), "Ein kleines Haus.\n").unwrap();
    for program in programs {
        fs::write(
            folder.join("src/bin").join(format!("{}.rs", program.name)),
            &program.text,
        )
        .unwrap();
    }
    let cargo = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO"));
        command
            .args(arguments)
            .current_dir(&folder)
            .env("CARGO_TARGET_DIR", &target);
        command.stdin(fs::File::open(folder.join("input")).expect("it was written"));
        let status = command.status().expect("cargo starts");
        assert!(
            status.success(),
            "{name}: cargo {arguments:?}: {status}\n{dependencies}"
        );
    };
    cargo(&["build", "--release"]);
    for program in programs {
        if let Some(arguments) = &program.arguments {
            let mut words = vec!["run", "--release", "--bin", &program.name, "--"];
            words.extend(arguments.iter().map(String::as_str));
            cargo(&words);
        }
    }
    fs::remove_dir_all(&folder).unwrap();
}

/// Creates a package outside of the workspace that uses the layers with `burn` 0.22.99: a copy of
/// Burn from cargo's registry, under `[patch]`.
fn host_of_another_version(name: &str) -> PathBuf {
    let metadata = Command::new(env!("CARGO"))
        .args(["metadata", "--offline", "--format-version", "1"])
        .current_dir(root())
        .output()
        .expect("cargo starts");
    let metadata = String::from_utf8(metadata.stdout).expect("JSON");
    let mut paths = metadata
        .split("\"manifest_path\":\"")
        .filter_map(|rest| rest.split('"').next());
    let manifest = paths
        .find(|path| path.contains("/burn-0.22."))
        .expect("burn is a dependency");
    let folder = std::env::temp_dir().join(format!("burnformer-{name}-{}", std::process::id()));
    fs::create_dir_all(folder.join("src")).unwrap();
    let from = Path::new(manifest).with_file_name("");
    let copy = folder.join("burn");
    let status = Command::new("cp").arg("-r").args([&from, &copy]).status();
    assert!(status.expect("cp starts").success());
    let text = fs::read_to_string(manifest).expect("a manifest");
    let version = text
        .lines()
        .find(|line| line.starts_with("version = "))
        .expect("a version");
    fs::write(
        copy.join("Cargo.toml"),
        text.replacen(version, "version = \"0.22.99\"", 1),
    )
    .unwrap();
    fs::write(
        folder.join("src/lib.rs"),
        "pub use burnformer_core::Transformer;\n",
    )
    .unwrap();
    // Only these versions of the other dependencies are sure to be on this machine.
    fs::copy(root().join("Cargo.lock"), folder.join("Cargo.lock")).unwrap();
    let core = root().join("crates/core");
    let text = format!(
        "[package]\nname = \"host\"\nedition = \"2024\"\n\n[workspace]\n\n[dependencies]\n\
         burn = {{ version = \"=0.22.99\", default-features = false, features = [\"std\"] }}\n\
         burnformer-core = {{ path = {core:?}, default-features = false }}\n\n\
         [patch.crates-io]\nburn = {{ path = \"burn\" }}\n"
    );
    fs::write(folder.join("Cargo.toml"), text).unwrap();
    folder
}

/// Runs cargo in the package and returns its output.
fn cargo_in(folder: &Path, arguments: &[&str]) -> String {
    let target = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("host");
    let mut command = Command::new(env!("CARGO"));
    command
        .args(arguments)
        .current_dir(folder)
        .env("CARGO_TARGET_DIR", &target);
    let output = command.output().expect("cargo starts");
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "cargo {arguments:?}: {errors}");
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn a_host_with_another_version_of_burn_takes_the_layers() {
    let host = host_of_another_version("tree");
    let tree = cargo_in(&host, &["tree", "--offline", "--prefix", "none"]);
    let versions = tree
        .lines()
        .filter(|line| line.starts_with("burn v"))
        .map(|line| &line[..13]);
    let versions: Vec<&str> = versions.collect();
    assert!(
        !versions.is_empty() && versions.iter().all(|&one| one == "burn v0.22.99"),
        "{tree}"
    );
    fs::remove_dir_all(host).unwrap();
}

#[test]
#[ignore = "it compiles Burn anew"]
fn a_host_with_another_version_of_burn_compiles_the_layers() {
    let host = host_of_another_version("check");
    cargo_in(&host, &["check", "--offline"]);
    fs::remove_dir_all(host).unwrap();
}

/// The newest pre-release of Burn.
const NEXT: &str = "=0.23.0-pre.1";

#[test]
#[ignore = "it compiles Burn anew, and fetches it"]
fn the_layers_and_their_fused_operations_compile_with_the_next_burn() {
    let name = format!("burnformer-next-{}", std::process::id());
    let folder = std::env::temp_dir().join(name);
    let clone = Command::new("git")
        .args(["clone", "--quiet"])
        .arg(root())
        .arg(&folder)
        .status();
    assert!(clone.expect("git starts").success());
    fs::remove_file(folder.join("Cargo.lock")).unwrap();
    let members = ["core", "kernels", "data", "files", "sentencepiece", "text"];
    let members: String = members
        .iter()
        .map(|name| format!("\"crates/{name}\", "))
        .collect();
    let members = format!("members = [{members}\"assets/corpus/tatoeba-de-en\"]");
    for manifest in [
        "Cargo.toml",
        "crates/core/Cargo.toml",
        "crates/kernels/Cargo.toml",
    ] {
        let path = folder.join(manifest);
        let text = fs::read_to_string(&path).unwrap();
        let line = |line: &str| match line {
            line if line.starts_with("members = ") => members.clone(),
            line if line.starts_with("burn") => {
                let next = format!("version = \"{NEXT}\"");
                line.replace("version = \"0.22\"", &next)
                    .replace("version = \"=0.22.1\"", &next)
            }
            line => line.to_owned(),
        };
        fs::write(
            &path,
            text.lines()
                .map(|text| line(text) + "\n")
                .collect::<String>(),
        )
        .unwrap();
    }
    cargo_in(&folder, &["check", "--package", "burnformer-core"]);
    let tree = cargo_in(
        &folder,
        &["tree", "--package", "burnformer-core", "--prefix", "none"],
    );
    assert!(
        tree.contains(&format!("burn v{}", NEXT.trim_start_matches('='))),
        "{tree}"
    );
    fs::remove_dir_all(folder).unwrap();
}

#[test]
#[ignore = "it compiles Burn anew"]
fn the_example_of_another_architecture_compiles_as_a_package() {
    let name = format!("burnformer-convolution-{}", std::process::id());
    let from = root().join("examples/convolution");
    let folder = std::env::temp_dir().join(name);
    fs::create_dir_all(folder.join("src")).unwrap();
    for file in ["src/main.rs", "src/model.rs"] {
        fs::copy(from.join(file), folder.join(file)).unwrap();
    }
    let manifest = fs::read_to_string(from.join("Cargo.toml")).unwrap();
    let manifest = manifest.replace("../..", &root().display().to_string());
    fs::write(folder.join("Cargo.toml"), manifest).unwrap();
    fs::copy(root().join("Cargo.lock"), folder.join("Cargo.lock")).unwrap();
    cargo_in(&folder, &["check", "--offline"]);
    fs::remove_dir_all(folder).unwrap();
}

/// The page with the dependencies of the programs.
const PAGE: &str = "docs/guide/embedding.md";

/// The dependencies in [`PAGE`]: the facade crate, single crates, and further dependencies of the
/// examples.
fn of_the_page() -> [String; 3] {
    dependencies(PAGE)
        .try_into()
        .expect("the page has three blocks of dependencies")
}

// Other systems compile different crates.
#[test]
#[cfg(target_os = "linux")]
fn the_page_counts_the_crates_that_a_first_build_compiles() {
    let page = fs::read_to_string(root().join(PAGE)).expect(PAGE);
    let rows = page
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split_once("` | "));
    let counted = rows.filter_map(|(name, rest)| {
        let count = rest
            .split(|c: char| !c.is_ascii_digit())
            .next()?
            .parse::<usize>()
            .ok()?;
        Some((name, count))
    });
    let counted: Vec<_> = counted.collect();
    assert!(counted.len() > 4, "{counted:?}");
    for (name, count) in counted {
        let tree = Command::new(env!("CARGO"))
            .args([
                "tree",
                "--offline",
                "--edges",
                "normal,build",
                "--prefix",
                "none",
                "-p",
                name,
            ])
            .current_dir(root())
            .output()
            .expect("cargo starts");
        let tree = String::from_utf8(tree.stdout).expect("text");
        let packages: std::collections::BTreeSet<String> = tree
            .lines()
            .filter_map(|line: &str| line.split(" (").next().map(str::to_owned))
            .collect();
        assert_eq!(packages.len(), count, "{PAGE} counts the crates of {name}");
    }
}

/// The dependencies of the layers, out of the dependencies on single crates.
fn layers(crates: &str) -> String {
    let lines = crates.lines().filter(|line| !line.contains("infer"));
    lines.map(|line| format!("{line}\n")).collect()
}

#[test]
#[ignore = "it compiles Burn anew"]
fn every_program_runs_outside_of_the_workspace() {
    let [one_crate, crates, examples] = of_the_page();
    let optim: String = examples
        .lines()
        .take(1)
        .map(|line| format!("{line}\n"))
        .collect();
    let mut readme = programs("README.md");
    readme.extend(programs("crates/infer/README.md"));
    check("infer", &dependencies("README.md")[0], &readme);
    let mut pages = programs(PAGE);
    pages.extend(
        ["docs/guide/paper.md", "crates/core/README.md"]
            .into_iter()
            .flat_map(programs),
    );
    check("layers", &crates, &pages);
    let names = ["own_model", "hear_words"];
    let models = names.map(|name| example(&format!("crates/core/tests/it/{name}.rs"), Some(&[])));
    check("version", &(layers(&crates) + &optim), &models);
    let facade = layers(&crates).replace("\"autodiff\"", "\"autodiff\", \"optim\"");
    let models = models.map(|program| Program {
        text: program
            .text
            .replace("use burn_optim::", "use burn::optim::"),
        ..program
    });
    check("facade", &facade, &models);
    check("one", &one_crate, &programs("crates/cli/README.md"));
    const SERVER: &str = "crates/server/README.md";
    check("server", &dependencies(SERVER)[0], &programs(SERVER));
}

#[test]
#[ignore = "it compiles Burn anew and trains for ten minutes"]
fn the_language_model_falls_below_3_5_nats_per_token_outside_of_the_workspace() {
    let [_, crates, examples] = of_the_page();
    let language = example("crates/core/tests/it/language_model.rs", Some(&[]));
    check("language", &(layers(&crates) + &examples), &[language]);
}
