#!/usr/bin/env bash
# translate-toolkit 3.20.4 (PyPI): `resx2po` gives a translator every value of a .NET resource file
# of a window, not only its texts.
#
# Expected: a message for the title alone. A value with a `type` or `mimetype` is an object, and the
# designer of Windows Forms keeps names and types of controls under keys that begin with `>>`.
# Seen: messages also for a size, an icon in Base64, the name of a file, and the type of a button.
#
# The script fails if that changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet translate-toolkit==3.20.4 lxml==6.1.1
cd "$folder"
cat > window.resx <<'XML'
<?xml version="1.0" encoding="utf-8"?>
<root>
  <resheader name="resmimetype"><value>text/microsoft-resx</value></resheader>
  <resheader name="version"><value>2.0</value></resheader>
  <data name="$this.Text" xml:space="preserve"><value>Main window</value></data>
  <data name="button1.Size" type="System.Drawing.Size, System.Drawing"><value>75, 23</value></data>
  <data name="$this.Icon" type="System.Drawing.Icon, System.Drawing" mimetype="application/x-microsoft.net.object.bytearray.base64"><value>AAABAAEAEBAAAAEA</value></data>
  <data name="Logo" type="System.Resources.ResXFileRef, System.Windows.Forms"><value>logo.png;System.Drawing.Bitmap, System.Drawing</value></data>
  <data name="&gt;&gt;button1.Type" xml:space="preserve"><value>System.Windows.Forms.Button, System.Windows.Forms</value></data>
</root>
XML
venv/bin/resx2po --progress=none window.resx window.po
venv/bin/resx2po --version
grep '^msgid "[^"]' window.po
grep -q '^msgid "Main window"' window.po
for value in '75, 23' 'AAABAAEAEBAAAAEA' 'logo.png;System.Drawing.Bitmap, System.Drawing' 'System.Windows.Forms.Button, System.Windows.Forms'; do
    grep -qF "msgid \"$value\"" window.po
done
