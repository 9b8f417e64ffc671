// The package under the Content-Security-Policy that the guide names, from the origin of the page and from another one.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";

import { BROWSERS, found, toldBy } from "./browsers.mjs";
import { folder, temporary } from "./common.mjs";

const PAGE = `<!doctype html><meta charset=utf-8><title>A page</title><script type=module src=./main.js></script>`;
const MAIN = `
const addresses = location.hash.slice(1).split(",");

async function translated() {
  const { Translator } = await import(addresses.at(-1) + "/index.js");
  const translator = await Translator.load(addresses.at(-1) + "/models/de-en", { workers: 2 });
  const { text } = await translator.translate("Das Haus ist klein.");
  const document = await translator.translateDocument("<p>Das <b>Haus</b> ist klein.</p>", "html");
  return text + " " + document;
}

translated().catch((error) => "error: " + error.message).then((body) => fetch("/told", { method: "POST", body }));
`;
const EXPECTED = "The house is small. <p>The <b>house</b> is small.</p>";

/** A folder with a page that imports the package from the last origin. */
function newPage() {
  const path = temporary();
  for (const [name, content] of Object.entries({ "index.html": PAGE, "main.js": MAIN })) writeFileSync(join(path, name), content);
  return path;
}

/** The policy of a page that has the package from its own origin, or from `other`. */
function policy(other = "") {
  const workers = other ? `blob: ${other}` : "'self'";
  return `default-src 'none'; script-src 'self' ${other} 'wasm-unsafe-eval'; worker-src ${workers}; connect-src 'self' ${other}`;
}

for (const [name, { programs, opening }] of Object.entries(BROWSERS)) {
  const browser = found(programs);
  const skip = browser ? false : `no ${name} in PATH`;
  const open = (profile) => opening(profile, false);

  test(`${name}: the package of the page's origin needs no more than the guide's policy`, { skip }, async () => {
    const page = newPage();
    const own = ["/", "/main.js"];
    const fileAt = (path) => (own.includes(path) ? join(page, path === "/" ? "index.html" : path) : join(folder, path));
    const headersAt = () => ({ "content-security-policy": policy() });
    assert.equal(await toldBy(browser, open, [{ fileAt, headersAt }]), EXPECTED);
  });

  test(`${name}: the package of another origin needs no more than the guide's policy`, { skip }, async () => {
    const page = newPage();
    const fileAt = (path) => join(page, path === "/" ? "index.html" : path);
    const headersAt = ([, other]) => ({ "content-security-policy": policy(other) });
    const other = { fileAt: (path) => join(folder, path), headersAt: () => ({ "access-control-allow-origin": "*" }) };
    assert.equal(await toldBy(browser, open, [{ fileAt, headersAt }, other]), EXPECTED);
  });
}
