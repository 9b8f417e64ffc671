#!/usr/bin/env bash
# Qt's lrelease 5.15.8 (Debian's qttools5-dev-tools): a translation marked as unfinished is released
# all the same, if it has a text; a plural form that is missing is released as an empty one.
#
# Expected: only finished translations reach the user, as with gettext's fuzzy ones.
# Seen: lconvert reads both back from the .qm file. Only -nounfinished leaves the first out.
#
# The script fails if that changes.
set -euo pipefail
tools=/usr/lib/qt5/bin
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$tools/lrelease" -version
cd "$folder"
cat > app.ts <<'XML'
<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="de_DE">
<context><name>Window</name>
<message><source>Open</source><translation type="unfinished">A guess</translation></message>
<message><source>Close</source><translation type="unfinished"></translation></message>
<message numerus="yes"><source>%n files</source>
<translation><numerusform>%n Datei</numerusform></translation></message>
</context>
</TS>
XML
"$tools/lrelease" app.ts -qm app.qm
"$tools/lrelease" -silent -nounfinished app.ts -qm finished.qm
"$tools/lconvert" app.qm -of ts -o app.out
"$tools/lconvert" finished.qm -of ts -o finished.out
grep -E "<source>|<translation>|<numerusform>" app.out
[ "$(grep -c "<translation>A guess</translation>" app.out)" = 1 ]
[ "$(grep -c "<numerusform></numerusform>" app.out)" = 1 ]
[ "$(grep -c "<source>Close</source>" app.out)" = 0 ]
[ "$(grep -c "A guess" finished.out)" = 0 ]
