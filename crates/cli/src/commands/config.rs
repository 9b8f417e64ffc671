use std::path::PathBuf;

use anyhow::{Result, bail};
use burnformer_train::config::reference::{Key, Section, SettingsFile, commented, wrapped};
use burnformer_train::config::{DEFAULT_PRESET, preset_description, preset_names};

use crate::output::{self, note};

/// The width of the explanation of a key, in columns.
const WIDTH: usize = 80;

/// Arguments of `config`.
#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true, after_help = include_str!("config.txt"))]
pub struct Args {
    /// The keys or sections to explain, such as training.budget or schedule [default: one line for
    /// every key]
    keys: Vec<String>,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(clap::Subcommand)]
enum Command {
    /// List the presets, and what each is for
    Presets,
    /// Write a configuration in which every key is explained, to change and give to
    /// `train --config`
    Init(Init),
}

/// Arguments of `config init`.
#[derive(clap::Args)]
struct Init {
    /// The new file
    #[arg(default_value = "burnformer.toml")]
    file: PathBuf,
    /// The preset to start from; `config presets` lists them
    #[arg(long, short, default_value = DEFAULT_PRESET)]
    preset: String,
}

/// Explains the keys of configurations, lists presets or writes a file.
///
/// # Errors
/// Returns an error if a key or a preset does not exist, or the file cannot be written.
pub fn run(args: Args) -> Result<()> {
    match args.command {
        Some(Command::Presets) => output::print(presets().trim_end()),
        Some(Command::Init(init)) => write(&init),
        None if args.keys.is_empty() => output::print(list().trim_end()),
        None => {
            let texts = args
                .keys
                .iter()
                .map(|name| explain(name))
                .collect::<Result<Vec<_>>>()?;
            output::print(texts.join("\n").trim_end())
        }
    }
}

/// A line for each preset.
fn presets() -> String {
    preset_names()
        .into_iter()
        .map(|name| {
            let default = if name == DEFAULT_PRESET {
                " (the default)"
            } else {
                ""
            };
            let text = format!("{}{default}", preset_description(name));
            format!("{name:<10} {}\n", indented(&text, 11).trim_start())
        })
        .collect()
}

/// Writes a commented configuration to a new file.
fn write(Init { file, preset }: &Init) -> Result<()> {
    let text = commented(preset).map_err(output::wrong_usage)?;
    let name = file.display();
    if file.symlink_metadata().is_ok() {
        bail!("{name}: exists already; name another file");
    }
    output::write_whole(file, text)?;
    note(format_args!(
        "wrote {name}; train with it by `burnformer train --config {name}`"
    ));
    Ok(())
}

/// Lists every key, one per line.
fn list() -> String {
    let mut text = String::new();
    for file in SettingsFile::ALL {
        text += &format!("# {}\n\n", heading(file));
        for Section { path, keys, .. } in file.sections() {
            if !path.is_empty() {
                text += &format!("[{path}]\n");
            }
            for key in keys {
                let name = key
                    .path
                    .strip_prefix(&format!("{path}."))
                    .unwrap_or(&key.path);
                let setting = format!("{name} = {}", key.default_text());
                text += &format!("{setting:<32} # {}\n", first_sentence(&key.description));
            }
            text.push('\n');
        }
    }
    text + "`config KEY` explains a key: its range, its presets, and when to change it.\n"
}

fn heading(file: SettingsFile) -> &'static str {
    match file {
        SettingsFile::Training => "a training run: --config FILE, --set KEY=VALUE (TOML)",
        SettingsFile::Generation => {
            "the search for translations: generation.json of a model directory"
        }
    }
}

/// The first clause of `text`, up to a full stop or semicolon outside parentheses.
fn first_sentence(text: &str) -> &str {
    let mut depth = 0;
    let end = text.char_indices().find(|&(at, c)| {
        depth += i32::from(c == '(') - i32::from(c == ')');
        let is_end = depth == 0 && (c == '.' || c == ';') && text[at + 1..].starts_with(' ');
        is_end && !text[..at].ends_with(" al")
    });
    text[..end.map_or(text.len(), |(at, _)| at)].trim_end_matches('.')
}

/// Explains all keys that match `name`, in any of the files.
fn explain(name: &str) -> Result<String> {
    let found = SettingsFile::ALL.map(|file| file.find(name));
    if let [Err(hint), Err(also)] = &found {
        let hint = if hint.is_empty() { also } else { hint };
        return Err(output::wrong_usage(format_args!(
            "no configuration key is named \"{name}\"{hint}; `config` without arguments lists every key"
        )));
    }
    let files = SettingsFile::ALL.into_iter().zip(found);
    let sections = files.flat_map(|(file, found)| {
        found
            .unwrap_or_default()
            .into_iter()
            .map(move |section| (file, section))
    });
    let keys = sections.flat_map(|(file, Section { keys, .. })| {
        keys.into_iter().map(move |key| entry(file, &key))
    });
    Ok(keys.collect::<Vec<_>>().join("\n"))
}

fn entry(file: SettingsFile, key: &Key) -> String {
    let mut text = format!("{}\n", key.path);
    text += &format!("    {}, default {}\n", key.kind, key.default_text());
    if !key.presets.is_empty() {
        let presets = key.presets.iter().map(|(name, value)| match *name {
            DEFAULT_PRESET => format!("{name} (the default preset) {value}"),
            _ => format!("{name} {value}"),
        });
        let presets = presets.collect::<Vec<_>>().join("; ");
        text += &format!("{}\n", indented(&format!("with the preset {presets}"), 4));
    }
    text += &format!("\n{}\n", indented(&key.description, 4));
    if !key.choices.is_empty() {
        text.push('\n');
    }
    for choice in &key.choices {
        text += &format!(
            "    {}\n{}\n",
            choice.value,
            indented(&choice.description, 8)
        );
    }
    let value = key.default_text();
    text += &match file {
        SettingsFile::Training if key.fixed => {
            format!(
                "\n    --set {}={value}; a run that is resumed cannot change it\n",
                key.path
            )
        }
        SettingsFile::Training => format!("\n    --set {}={value}\n", key.path),
        SettingsFile::Generation => "\n    in generation.json of a model directory\n".into(),
    };
    text
}

/// `text` in lines of at most [`WIDTH`] columns, each after `indent` spaces.
fn indented(text: &str, indent: usize) -> String {
    wrapped(text, &" ".repeat(indent), WIDTH)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_explained_with_its_type_presets_and_how_to_set_it() {
        let text = explain("training.budget").unwrap();
        assert!(
            text.starts_with("training.budget\n    integer, default 4096\n"),
            "{text}"
        );
        assert!(
            text.contains("base 25000") && text.contains("--set training.budget"),
            "{text}"
        );
        assert!(
            text.lines().all(|line| line.chars().count() <= WIDTH),
            "{text}"
        );
        let preset = "    with the preset speedrun (the default preset) 300; tiny 500;";
        assert!(explain("warmup").unwrap().contains(preset));
        assert!(explain("beam_size").unwrap().contains("generation.json"));
        assert!(
            explain("model.norm")
                .unwrap()
                .contains("\"pre\"\n        Before each")
        );
    }

    #[test]
    fn a_typo_suggests_the_nearest_key() {
        let message = explain("training.buget").unwrap_err().to_string();
        assert!(
            message.contains("did you mean \"training.budget\"?"),
            "{message}"
        );
    }

    #[test]
    fn the_list_has_a_line_for_every_key() {
        let list = list();
        assert!(
            list.contains("# The width of the model, d_model in the paper (§3.1): the number"),
            "{list}"
        );
        let keys = SettingsFile::ALL
            .into_iter()
            .flat_map(SettingsFile::sections);
        for key in keys.flat_map(|section| section.keys) {
            let name = key.path.rsplit('.').next().unwrap();
            assert!(
                list.contains(&format!("{name} = {}", key.default_text())),
                "{name}"
            );
        }
    }
}
