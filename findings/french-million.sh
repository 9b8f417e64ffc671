#!/usr/bin/env bash
# i18next 26.7.2 (npm): a French text with the forms `_one` and `_other`, which is all that most
# files have, shows its key for a million.
#
# Expected, as for every other number without a form of its own: the form `_other`.
# Seen: "2 fichiers", but "files" for 1000000, because CLDR has the category `many` for it since
# version 38, and i18next looks for `_many` alone.
#
# The script fails if that changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-save i18next@26.7.2
node - <<'JS'
const assert = require("assert");
const i18next = require("i18next");
const texts = { files_one: "{{count}} fichier", files_other: "{{count}} fichiers" };
i18next.init({ lng: "fr", resources: { fr: { translation: texts } } }).then(() => {
  const seen = [2, 1000000].map((count) => i18next.t("files", { count }));
  console.log("i18next:", seen);
  assert.deepStrictEqual(seen, ["2 fichiers", "files"]);
});
JS
