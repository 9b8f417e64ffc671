//! A file of each format, and its translation into capitals.

use burnformer_documents::Format;

/// A catalogue with each kind of entry, and its translation into capitals by the rules of the
/// gettext manual.
pub const PO: [&str; 2] = [
    r##"# Header
msgid ""
msgstr ""
"Language: de\n"
"Content-Type: text/plain; charset=UTF-8\n"
"Plural-Forms: nplurals=2; plural=(n != 1);\n"

#. For the button
#: a.c:1
#, c-format
msgid "Save %s"
msgstr ""

msgctxt "menu"
msgid "Open"
msgstr ""
msgctxt "door"
msgid "Open"
msgstr "Öffnen"

#, fuzzy
msgid "Close"
msgstr "Zu"

#| msgid "One"
msgid "One file"
msgid_plural "%d \"good\" files"
msgstr[0] ""
msgstr[1] ""

msgid ""
"First line\n"
"<b>second</b> line\n"
msgstr ""

msgid "100"
msgstr ""

#~ msgid "Old"
#~ msgstr "Alt"
"##,
    r##"# Header
msgid ""
msgstr ""
"Language: de\n"
"Content-Type: text/plain; charset=UTF-8\n"
"Plural-Forms: nplurals=2; plural=(n != 1);\n"

#. For the button
#: a.c:1
#, fuzzy, c-format
msgid "Save %s"
msgstr "SAVE %s"

#, fuzzy
msgctxt "menu"
msgid "Open"
msgstr "OPEN"
msgctxt "door"
msgid "Open"
msgstr "Öffnen"

#, fuzzy
msgid "Close"
msgstr "Zu"

#, fuzzy
#| msgid "One"
msgid "One file"
msgid_plural "%d \"good\" files"
msgstr[0] "ONE FILE"
msgstr[1] "%d \"GOOD\" FILES"

#, fuzzy
msgid ""
"First line\n"
"<b>second</b> line\n"
msgstr ""
"FIRST LINE\n"
"<b>SECOND</b> LINE\n"

msgid "100"
msgstr ""

#~ msgid "Old"
#~ msgstr "Alt"
"##,
];

pub const XLIFF: [&str; 2] = [
    r##"<?xml version="1.0"?>
<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2">
 <file source-language="en" target-language="de" original="a"><body>
  <trans-unit id="1">
    <source>Press <g id="1">save</g> &amp; <x id="2"/> go &lt;now></source>
  </trans-unit>
  <trans-unit id="2"><source>Two <ph id="0">%s</ph> <bpt id="1">&lt;b></bpt>words<ept id="1">&lt;/b></ept></source><target state="new"/></trans-unit>
  <trans-unit id="3" translate="no"><source>Three</source></trans-unit>
  <trans-unit id="4"><source>Four</source><target state="final">Vier</target><alt-trans><source>x</source><target/></alt-trans></trans-unit>
  <trans-unit id="5"><source><![CDATA[<i>Five</i> & more]]></source><note>Note</note></trans-unit>
 </body></file>
</xliff>
"##,
    r##"<?xml version="1.0"?>
<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2">
 <file source-language="en" target-language="de" original="a"><body>
  <trans-unit id="1">
    <source>Press <g id="1">save</g> &amp; <x id="2"/> go &lt;now></source>
    <target state="needs-review-translation">PRESS <g id="1">SAVE</g> &amp; <x id="2"/> GO &lt;now></target>
  </trans-unit>
  <trans-unit id="2"><source>Two <ph id="0">%s</ph> <bpt id="1">&lt;b></bpt>words<ept id="1">&lt;/b></ept></source><target state="needs-review-translation">TWO <ph id="0">%s</ph> <bpt id="1">&lt;b></bpt>WORDS<ept id="1">&lt;/b></ept></target></trans-unit>
  <trans-unit id="3" translate="no"><source>Three</source></trans-unit>
  <trans-unit id="4"><source>Four</source><target state="final">Vier</target><alt-trans><source>x</source><target/></alt-trans></trans-unit>
  <trans-unit id="5"><source><![CDATA[<i>Five</i> & more]]></source><target state="needs-review-translation">&lt;i&gt;FIVE&lt;/i&gt; &amp; MORE</target><note>Note</note></trans-unit>
 </body></file>
</xliff>
"##,
];

pub const XLIFF_2: [&str; 2] = [
    r##"<xliff version="2.0" srcLang="en" trgLang="de" xmlns="urn:oasis:names:tc:xliff:document:2.0">
<file id="f"><unit id="1"><segment><source>Read <pc id="1">this <ph id="2"/></pc> now</source></segment>
<segment state="initial"><source>One</source><target></target></segment><ignorable><source> </source></ignorable></unit>
<unit id="2" translate="no"><segment><source>Not this</source></segment></unit></file></xliff>
"##,
    r##"<xliff version="2.0" srcLang="en" trgLang="de" xmlns="urn:oasis:names:tc:xliff:document:2.0">
<file id="f"><unit id="1"><segment state="translated"><source>Read <pc id="1">this <ph id="2"/></pc> now</source><target>READ <pc id="1">THIS <ph id="2"/></pc> NOW</target></segment>
<segment state="translated"><source>One</source><target>ONE</target></segment><ignorable><source> </source></ignorable></unit>
<unit id="2" translate="no"><segment><source>Not this</source></segment></unit></file></xliff>
"##,
];

pub const TMX: [&str; 2] = [
    r##"<tmx version="1.4"><header srclang="en-US"/><body>
<tu changedate="20240102T000000Z"><tuv xml:lang="de"><seg>Haus &amp; Hof</seg></tuv><tuv xml:lang="en-US"><seg>House and home</seg></tuv></tu>
<tu><tuv xml:lang="en-US"><seg>One <bpt i="1">{</bpt>cat<ept i="1">}</ept></seg></tuv><tuv xml:lang="de"><seg/></tuv></tu>
<tu><tuv xml:lang="fr"><seg>Maison</seg></tuv><tuv xml:lang="en-US"><seg>House</seg></tuv></tu>
</body></tmx>
"##,
    r##"<tmx version="1.4"><header srclang="en-US"/><body>
<tu changedate="20240102T000000Z"><tuv xml:lang="de"><seg>Haus &amp; Hof</seg></tuv><tuv xml:lang="en-US"><seg>House and home</seg></tuv></tu>
<tu><tuv xml:lang="en-US"><seg>One <bpt i="1">{</bpt>cat<ept i="1">}</ept></seg></tuv><tuv xml:lang="de"><seg>ONE <bpt i="1">{</bpt>CAT<ept i="1">}</ept></seg></tuv></tu>
<tu><tuv xml:lang="fr"><seg>Maison</seg></tuv><tuv xml:lang="en-US"><seg>House</seg></tuv></tu>
</body></tmx>
"##,
];

pub const JSON: [&str; 2] = [
    r##"{
  "@@locale": "en",
  "title": "Hello, {name}!", "@title": {"description": "The title"},
  "files": "{n, plural, =0{no files} one{# file} other{# {kind} files}}",
  "list": ["one more", 3, true, null, "https://example.org/a", "user_name", ""],
  "entry": {"message": "Sent \"now\"\n", "description": "A note",
            "placeholders": {"user": {"content": "$1", "example": "Ann Lee"}}},
  "both_one": "{{count}} item", "link": "Go to <a href=\"/x\">page</a> $t(next)"
}
"##,
    r##"{
  "@@locale": "en",
  "title": "HELLO, {name}!", "@title": {"description": "The title"},
  "files": "{n, plural, =0{NO FILES} one{# FILE} other{# {kind} FILES}}",
  "list": ["ONE MORE", 3, true, null, "https://example.org/a", "user_name", ""],
  "entry": {"message": "SENT \"NOW\"\n", "description": "A note",
            "placeholders": {"user": {"content": "$1", "example": "Ann Lee"}}},
  "both_one": "{{count}} ITEM", "link": "GO TO <a href=\"/x\">PAGE</a> $t(next)"
}
"##,
];

pub const PROPERTIES: [&str; 2] = [
    r##"# A comment \
! Another
one = The file {0} isn''t here
two:Long text \
    that goes on\n
three   caf\u00e9 au lait
url=https://example.org/
class = com.example.Thing
on=true
empty=
four\ five = \ begins with a space
choice={0,choice,0#no files|1#one file}
"##,
    r##"# A comment \
! Another
one = THE FILE {0} ISN''T HERE
two:LONG TEXT THAT GOES ON\n
three   CAF\u00e9 AU LAIT
url=https://example.org/
class = com.example.Thing
on=true
empty=
four\ five = \ BEGINS WITH A SPACE
choice={0,choice,0#no files|1#one file}
"##,
];

pub const ANDROID: [&str; 2] = [
    r##"<?xml version="1.0" encoding="utf-8"?>
<resources xmlns:xliff="urn:oasis:names:tc:xliff:document:1.2">
    <!-- Comment -->
    <string name="a">Don\'t &amp; \"do\" %1$s</string>
    <string name="b" translatable="false">Name</string>
    <string name="c">Go <b>to</b> <xliff:g id="x">Acme</xliff:g></string>
    <string name="d"><![CDATA[<i>Five</i> & more]]></string>
    <string name="e">"  two  spaces "</string>
    <string name="f">@string/a</string>
    <string name="g">one
        two\nthree</string>
    <plurals name="h"><item quantity="one">%d file</item><item quantity="other">%d files</item></plurals>
    <string-array name="i"><item>first one</item></string-array>
    <style name="j"><item name="k">value here</item></style>
    <string name="l" />
</resources>
"##,
    r##"<?xml version="1.0" encoding="utf-8"?>
<resources xmlns:xliff="urn:oasis:names:tc:xliff:document:1.2">
    <!-- Comment -->
    <string name="a">DON\'T &amp; \"DO\" %1$s</string>
    <string name="b" translatable="false">Name</string>
    <string name="c">GO <b>TO</b> <xliff:g id="x">Acme</xliff:g></string>
    <string name="d">&lt;i&gt;FIVE&lt;/i&gt; &amp; MORE</string>
    <string name="e">"  TWO  SPACES "</string>
    <string name="f">@string/a</string>
    <string name="g">ONE TWO\nTHREE</string>
    <plurals name="h"><item quantity="one">%d FILE</item><item quantity="other">%d FILES</item></plurals>
    <string-array name="i"><item>FIRST ONE</item></string-array>
    <style name="j"><item name="k">value here</item></style>
    <string name="l" />
</resources>
"##,
];

pub const STRINGS: [&str; 2] = [
    r##"/* A "comment" = "x"; */
"a key" = "It is \"%@\"\n\U00e9 now"; // more
key.two="Two words";
"url" = "https://example.org";
"##,
    r##"/* A "comment" = "x"; */
"a key" = "IT IS \"%@\"\né NOW"; // more
key.two="TWO WORDS";
"url" = "https://example.org";
"##,
];

pub const YAML: [&str; 2] = [
    r##"# A comment
en: &all
  plain: The %{count} files # note
  quoted: "Say \"hi\"" # More
  single: 'It''s here'
  yes: Yes
  order: [ :year, :month ]
  folded: >
    One line
    goes on

    and ends
  literal: |-
    First line
    second line
  several: the text
    goes on
  number: 12
  'list':
    - one more
    - colon: "a: b"
de:
  <<: *all
"##,
    r##"# A comment
en: &all
  plain: "THE %{count} FILES" # note
  quoted: "SAY \"HI\"" # More
  single: 'IT''S HERE'
  yes: Yes
  order: [ :year, :month ]
  folded: >
    ONE LINE GOES ON

    AND ENDS
  literal: |-
    FIRST LINE
    SECOND LINE
  several: THE TEXT GOES ON
  number: 12
  'list':
    - ONE MORE
    - colon: "A: B"
de:
  <<: *all
"##,
];

pub const ASS: [&str; 2] = [
    r##"[Script Info]
Title: The title

[V4+ Styles]
Format: Name, Fontname
Style: Default,Arial

[Events]
Format: Layer, Start, End, Style, Name, MarginL, MarginR, MarginV, Effect, Text
Comment: 0,0:00:01.00,0:00:02.00,Default,Ann,0,0,0,,A note, here
Dialogue: 0,0:00:01.00,0:00:02.00,Default,Ann,0,0,0,,{\i1}Well{\i0}, yes\Nand no
Dialogue: 0,0:00:01.00,0:00:02.00,Default,,0,0,0,,{\p1}m 0 0 l 9 9{\p0}
"##,
    r##"[Script Info]
Title: The title

[V4+ Styles]
Format: Name, Fontname
Style: Default,Arial

[Events]
Format: Layer, Start, End, Style, Name, MarginL, MarginR, MarginV, Effect, Text
Comment: 0,0:00:01.00,0:00:02.00,Default,Ann,0,0,0,,A note, here
Dialogue: 0,0:00:01.00,0:00:02.00,Default,Ann,0,0,0,,{\i1}WELL{\i0}, YES\NAND NO
Dialogue: 0,0:00:01.00,0:00:02.00,Default,,0,0,0,,{\p1}m 0 0 l 9 9{\p0}
"##,
];

pub const FLUENT: [&str; 2] = [
    r##"# Comment
-brand = Fire Fox
hello = Hello, { $name } of { -brand }!
    .title = A title
    .accesskey = H
long =
    First line
    goes on

    second <b>part</b>
files = { $n ->
    [one] One file
   *[other]
        { $n } files { $kind ->
           *[a] of kind
        }
} left here
"##,
    r##"# Comment
-brand = Fire Fox
hello = HELLO, { $name } OF { -brand }!
    .title = A TITLE
    .accesskey = H
long =
    FIRST LINE
    GOES ON

    SECOND <b>PART</b>
files = { $n ->
    [one] ONE FILE
   *[other]
        { $n } FILES { $kind ->
           *[a] OF KIND
        }
} LEFT HERE
"##,
];

/// As lupdate of Qt 5.15.8 writes it; lrelease reads the same translations from the result.
pub const QT: [&str; 2] = [
    r##"<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="pl_PL" sourcelanguage="en">
<context>
    <name>Main</name>
    <message>
        <location filename="a.cpp" line="7"/>
        <source>Save &quot;%1&quot; &amp; close</source>
        <extracomment>For the button</extracomment>
        <translation type="unfinished"></translation>
    </message>
    <message>
        <source>Open</source>
        <comment>door</comment>
        <translation type="unfinished"/>
    </message>
    <message>
        <source>Open</source>
        <comment>menu</comment>
        <translation>Otwórz</translation>
    </message>
    <message>
        <source>Close</source>
        <translation type="unfinished">Zamknij</translation>
    </message>
    <message>
        <source>An old text</source>
        <translation type="vanished"></translation>
    </message>
    <message>
        <source>&lt;b&gt;Bold&lt;/b&gt; text<byte value="x9"/> here</source>
        <translation type="unfinished"></translation>
    </message>
    <message id="x">
        <source>No place yet</source>
    </message>
    <message numerus="yes">
        <source>%n small file(s)</source>
        <translation type="unfinished">
            <numerusform></numerusform>
            <numerusform/>
            <numerusform></numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n dog(s)</source>
        <translation type="unfinished"></translation>
    </message>
    <message numerus="yes">
        <source>%n house(s)</source>
        <translation><numerusform>%n dom</numerusform></translation>
    </message>
    <message>
        <source>A long one</source>
        <translation variants="yes"><lengthvariant>Długi</lengthvariant><lengthvariant>D</lengthvariant></translation>
    </message>
</context>
</TS>
"##,
    r##"<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="pl_PL" sourcelanguage="en">
<context>
    <name>Main</name>
    <message>
        <location filename="a.cpp" line="7"/>
        <source>Save &quot;%1&quot; &amp; close</source>
        <extracomment>For the button</extracomment>
        <translation type="unfinished">SAVE "%1" &amp; CLOSE</translation>
    </message>
    <message>
        <source>Open</source>
        <comment>door</comment>
        <translation type="unfinished">OPEN</translation>
    </message>
    <message>
        <source>Open</source>
        <comment>menu</comment>
        <translation>Otwórz</translation>
    </message>
    <message>
        <source>Close</source>
        <translation type="unfinished">Zamknij</translation>
    </message>
    <message>
        <source>An old text</source>
        <translation type="vanished"></translation>
    </message>
    <message>
        <source>&lt;b&gt;Bold&lt;/b&gt; text<byte value="x9"/> here</source>
        <translation type="unfinished">&lt;b&gt;BOLD&lt;/b&gt; TEXT<byte value="x9"/> HERE</translation>
    </message>
    <message id="x">
        <source>No place yet</source>
        <translation type="unfinished">NO PLACE YET</translation>
    </message>
    <message numerus="yes">
        <source>%n small file(s)</source>
        <translation type="unfinished">
            <numerusform>%n SMALL FILE(S)</numerusform>
            <numerusform>%n SMALL FILE(S)</numerusform>
            <numerusform>%n SMALL FILE(S)</numerusform>
        </translation>
    </message>
    <message numerus="yes">
        <source>%n dog(s)</source>
        <translation type="unfinished"><numerusform>%n DOG(S)</numerusform><numerusform>%n DOG(S)</numerusform><numerusform>%n DOG(S)</numerusform></translation>
    </message>
    <message numerus="yes">
        <source>%n house(s)</source>
        <translation type="unfinished"><numerusform>%n dom</numerusform><numerusform>%n HOUSE(S)</numerusform><numerusform>%n HOUSE(S)</numerusform></translation>
    </message>
    <message>
        <source>A long one</source>
        <translation variants="yes"><lengthvariant>Długi</lengthvariant><lengthvariant>D</lengthvariant></translation>
    </message>
</context>
</TS>
"##,
];

/// As Visual Studio and the designer of Windows Forms write it.
pub const RESX: [&str; 2] = [
    include_str!("../../fixtures/resx/source.resx"),
    include_str!("../../fixtures/resx/translated.resx"),
];

/// As Xcode 16 writes it.
pub const XCSTRINGS: [&str; 2] = [
    include_str!("../../fixtures/xcstrings/source.xcstrings"),
    include_str!("../../fixtures/xcstrings/translated.xcstrings"),
];

pub const STRINGSDICT: [&str; 2] = [
    include_str!("../../fixtures/stringsdict/source.stringsdict"),
    include_str!("../../fixtures/stringsdict/translated.stringsdict"),
];

/// As JupyterLab 4 writes it.
pub const NOTEBOOK: [&str; 2] = [
    include_str!("../../fixtures/ipynb/source.ipynb"),
    include_str!("../../fixtures/ipynb/translated.ipynb"),
];

pub const ALL: [(Format, [&str; 2]); 16] = [
    (Format::Po, PO),
    (Format::Xliff, XLIFF),
    (Format::Xliff, XLIFF_2),
    (Format::Tmx, TMX),
    (Format::Json, JSON),
    (Format::Properties, PROPERTIES),
    (Format::Android, ANDROID),
    (Format::Strings, STRINGS),
    (Format::Yaml, YAML),
    (Format::Fluent, FLUENT),
    (Format::Ass, ASS),
    (Format::Qt, QT),
    (Format::Resx, RESX),
    (Format::XcStrings, XCSTRINGS),
    (Format::StringsDict, STRINGSDICT),
    (Format::Notebook, NOTEBOOK),
];
