#!/usr/bin/env bash
# gettext-parser 10.0.0 (npm), under i18next-conv, node-gettext and WordPress's tools: mo.compile
# writes fuzzy entries to the .mo file, as if they were translations.
#
# Expected: they are left out, as msgfmt 0.21 does.
# Seen: the guess reaches the user.
#
# The script fails if that changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-fund --no-audit gettext-parser@10.0.0
cat > app.po <<'PO'
msgid ""
msgstr "Content-Type: text/plain; charset=UTF-8\n"

#, fuzzy
msgid "Open"
msgstr "A guess"

msgid "Close"
msgstr "Schließen"
PO
msgfmt --version | head -n 1
msgfmt app.po -o app.mo
cat > run.mjs <<'JAVASCRIPT'
import assert from "node:assert";
import fs from "node:fs";
import { mo, po } from "gettext-parser";

const compiled = mo.compile(po.parse(fs.readFileSync("app.po")));
const ours = Object.keys(mo.parse(compiled).translations[""]);
const theirs = Object.keys(mo.parse(fs.readFileSync("app.mo")).translations[""]);
console.log("gettext-parser:", ours, "msgfmt:", theirs);
assert.ok(ours.includes("Open"));
assert.ok(!theirs.includes("Open"));
assert.ok(theirs.includes("Close"));
JAVASCRIPT
node run.mjs
