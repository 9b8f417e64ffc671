// What the build needs is looked for before the first module compiles, which takes minutes.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmodSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const script = fileURLToPath(new URL("../build.mjs", import.meta.url));

/** Runs the build with these programs alone, each a script of the shell, and takes what it says. */
function built(programs) {
  const folder = mkdtempSync(join(tmpdir(), "burnformer-web-"));
  for (const [name, text] of Object.entries(programs)) {
    writeFileSync(join(folder, name), `#!/bin/sh\n${text}\n`);
    chmodSync(join(folder, name), 0o755);
  }
  const { status, stderr } = spawnSync(process.execPath, [script, "wasm32-unknown-unknown", "paper"], { env: { PATH: folder }, encoding: "utf8" });
  return { status, said: stderr };
}

const isUnix = process.platform !== "win32";

test("a build without its tools ends at once and names them", { skip: !isUnix && "the programs are scripts of the shell" }, () => {
  const none = built({});
  assert.equal(none.status, 1);
  assert.match(none.said, /^web: wasm-bindgen is not installed\nhint: cargo install wasm-bindgen-cli --version 0\.2\.\d+\n$/);
  const old = built({ "wasm-bindgen": "echo wasm-bindgen 0.2.1" });
  assert.match(old.said, /^web: wasm-bindgen has version 0\.2\.1, and this build needs 0\.2\.\d+\nhint: cargo install/);
  const version = none.said.match(/--version (\S+)/)[1];
  const target = built({ "wasm-bindgen": `echo wasm-bindgen ${version}`, rustc: "echo /no/such/folder", cargo: "echo compiles >&2; exit 1" });
  assert.match(target.said, /^web: the compiler has no target wasm32-unknown-unknown\nhint: rustup target add wasm32-unknown-unknown/);
  assert.doesNotMatch(target.said, /compiles/);
});
