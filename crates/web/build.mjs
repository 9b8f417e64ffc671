// Builds the npm package into target/npm, `node build.mjs TARGET`, which `cargo xtask web` calls. With `paper` after it, builds
// the page of the paper alone, which needs one build of Burn and no other.

import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { brotliCompressSync, gzipSync } from "node:zlib";

/** The modules, and the feature of the crate that each has. All but the last share one build of Burn. */
const MODULES = {
  burnformer_documents: "documents",
  burnformer_web: "translator",
  burnformer_relaxed: "relaxed-simd",
  burnformer_paper: "paper",
  burnformer_gpu: "gpu",
};
/** Modules that the script of another one starts. */
const SCRIPTS = { burnformer_relaxed: "burnformer_web" };
// Vector instructions, and random numbers from the page.
const FLAGS = '-C target-feature=+simd128 --cfg getrandom_backend="wasm_js"';

const [target, only] = process.argv.slice(2);
const modules = Object.entries(MODULES).filter(([, feature]) => [undefined, feature].includes(only));
const workspace = fileURLToPath(new URL("../..", import.meta.url));
const folder = join(workspace, "target/npm");

function fail(message) {
  process.stderr.write(`web: ${message}\n`);
  process.exit(1);
}

/** Runs a program; where it fails, says how it is installed. */
function run(program, args, { env = {}, remedy }) {
  const { status, error } = spawnSync(program, args, { cwd: workspace, env: { ...process.env, ...env }, stdio: "inherit" });
  if (error) fail(`${program} does not start (${error.code}): ${remedy}`);
  if (status !== 0) fail(`${program} failed: ${remedy}`);
}

/** What a program prints, or nothing if it does not start. */
function printed(program, args) {
  return spawnSync(program, args, { cwd: workspace, encoding: "utf8" }).stdout?.trim() ?? "";
}

/** Variables of cargo for WebAssembly alone: `WEB_CARGO`, `WEB_RUSTC` and others are those without `WEB_`. */
const own = Object.fromEntries(Object.entries(process.env)
  .filter(([name]) => name.startsWith("WEB_")).map(([name, value]) => [name.slice("WEB_".length), value]));

const lock = readFileSync(join(workspace, "Cargo.lock"), "utf8");
const version = lock.match(/name = "wasm-bindgen"\nversion = "(.*)"/)[1];

/** Looks for what the build needs before the first module compiles, which takes minutes. */
function check() {
  const remedy = `hint: cargo install wasm-bindgen-cli --version ${version}`;
  const bindgen = printed("wasm-bindgen", ["--version"]).split(" ")[1];
  if (!bindgen) fail(`wasm-bindgen is not installed\n${remedy}`);
  if (bindgen !== version) fail(`wasm-bindgen has version ${bindgen}, and this build needs ${version}\n${remedy}`);
  const library = printed(own.RUSTC ?? process.env.RUSTC ?? "rustc", ["--print", "target-libdir", "--target", target]);
  const isBuilt = Object.keys(own).some((name) => name.startsWith("CARGO_UNSTABLE_BUILD_STD"));
  if (!isBuilt && !existsSync(library)) {
    fail(`the compiler has no target ${target}\nhint: rustup target add ${target}; without rustup, docs/guide/browser.md`);
  }
}

check();
rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });
const cargo = own.CARGO ?? process.env.CARGO ?? "cargo";
const built = join(own.CARGO_TARGET_DIR ?? process.env.CARGO_TARGET_DIR ?? join(workspace, "target"), target, "web/burnformer_web.wasm");
for (const [name, feature] of modules) {
  run(cargo, ["build", "--locked", "--profile", "web", "--target", target, "--package", "burnformer-web", "--no-default-features", "--features", feature], {
    env: { ...own, CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS: FLAGS },
    remedy: "the compiler's message is above",
  });
  const script = SCRIPTS[name] ?? name;
  const out = script === name ? folder : join(folder, name);
  run("wasm-bindgen", ["--target", "web", "--no-typescript", "--remove-name-section", "--remove-producers-section", "--out-name", script, "--out-dir", out, built], {
    remedy: `cargo install wasm-bindgen-cli --version ${version}`,
  });
  if (script === name) continue;
  const [needed, shared] = [out, folder].map((at) => readFileSync(join(at, `${script}.js`), "utf8"));
  if (needed !== shared) fail(`${name} needs another script than ${script}.js`);
  renameSync(join(out, `${script}_bg.wasm`), join(folder, `${name}_bg.wasm`));
  rmSync(out, { recursive: true });
}

// Binaryen's wasm-opt made the module a tenth smaller, and 5 % larger once it was compressed.
const isOurs = (path) => ![".toml", ".rs"].includes(extname(path));
for (const part of ["package", "page"]) cpSync(join(workspace, "crates/web", part), folder, { recursive: true });
if (only) {
  // The pages have the parts that were built.
  writeFileSync(join(folder, "parts.js"), `export const PARTS = ${JSON.stringify([only])};\n`);
  cpSync(join(folder, `${only}.html`), join(folder, "index.html"));
}
for (const pair of ["de-en", "en-de"]) {
  cpSync(join(workspace, "assets/models", pair), join(folder, "models", pair), { recursive: true, filter: isOurs });
}
// The code that the paper's page links to, as text, which every browser shows.
const linked = readFileSync(join(folder, "paper.html"), "utf8").matchAll(/href="code\/(\w+)\/(.*?)\.txt"/g);
for (const [, crate, file] of linked) {
  const copy = join(folder, "code", crate, `${file}.txt`);
  mkdirSync(dirname(copy), { recursive: true });
  cpSync(join(workspace, "crates", crate, "src", file), copy);
}
mkdirSync(join(folder, "guide"));
cpSync(join(workspace, "docs/guide/paper.md"), join(folder, "guide/paper.md.txt"));
for (const text of ["LICENSE-APACHE", "LICENSE-MIT", "NOTICE"]) cpSync(join(workspace, text), join(folder, text));
const manifest = readFileSync(join(workspace, "Cargo.toml"), "utf8");
const description = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
description.version = manifest.match(/\[workspace.package\]\nversion = "(.*)"/)[1];
writeFileSync(join(folder, "package.json"), `${JSON.stringify(description, null, 2)}\n`);

process.stderr.write(`web: the package is ${folder}\n`);
for (const [name] of modules) {
  const bytes = readFileSync(join(folder, `${name}_bg.wasm`));
  const [gzip, brotli] = [gzipSync(bytes, { level: 9 }), brotliCompressSync(bytes)].map((it) => it.length);
  process.stderr.write(`web: ${name} has ${bytes.length} bytes, ${gzip} by gzip, ${brotli} by brotli\n`);
}
