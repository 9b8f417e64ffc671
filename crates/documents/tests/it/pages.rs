//! Two hundred generated pages, read before and after by a browser's parser (html5ever).

use crate::common;
use crate::common::{identity, reverse, translate, unlinked, upper};
use burnformer_documents::{Format, PendingSentence, Translated};
use html5ever::tendril::TendrilSink;
use html5ever::{Attribute, parse_document};
use markup5ever_rcdom::{Handle, NodeData, RcDom};

/// A generator of numbers that needs no state elsewhere (Knuth's MMIX).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % limit
    }

    fn one_of<'a>(&mut self, all: &[&'a str]) -> &'a str {
        all[self.below(all.len())]
    }
}

const WORDS: [&str; 12] = [
    "house",
    "red",
    "the",
    "river",
    "quickly",
    "Straße",
    "été",
    "a",
    "seldom",
    "writes",
    "日本語",
    "book",
];
const INLINE: [&str; 8] = [
    "<b>|</b>",
    "<i class='x > y'>|</i>",
    "<a href=\"/q?a=1&amp;b=2\" title='3&#39;4'>|</a>",
    "<em>|</em>",
    "<span data-x=1>|</span>",
    "<U>|</U>",
    "<strong\nid=z>|</strong>",
    "<q>|</q>",
];
const BLOCKS: [&str; 8] = [
    "<p>|</p>\n",
    "<div class=\"a b\">|</div>",
    "<h2>|</h2>\n",
    "<ul>\n  <li>|</li>\n</ul>",
    "<blockquote>|</blockquote>",
    "<section>|</section>",
    "<table><tr><td>|</td></tr></table>",
    "<details><summary>|</summary></details>",
];
const OTHERS: [&str; 9] = [
    "<img src=x alt='1 > 2'>",
    "<!-- <p>no</p> -->",
    "<wbr>",
    " <code>keep_me()</code> ",
    " <span translate=no>Keep Me</span> ",
    "<script>if (a<b) keep('<p>')</script>",
    "<svg><text>keep</text></svg>",
    "<sup>[2]</sup>",
    "&eacute;&nbsp;&amp;",
];
const HOSTILE: [&str; 12] = [
    "</>",
    "<",
    "&",
    "</p>",
    "</nope>",
    "<b>",
    "<i></b></i>",
    "\0",
    "<!x>",
    "<?y?>",
    "<p>",
    "<a <b>",
];

fn text(numbers: &mut Numbers) -> String {
    let count = 1 + numbers.below(8);
    let words: Vec<&str> = (0..count).map(|_| numbers.one_of(&WORDS)).collect();
    words.join(" ") + numbers.one_of(&["", "", ",", ".", ". ", "! ", " (so)"])
}

/// Text with markup. A link holds no other link.
fn inline(numbers: &mut Numbers, depth: usize, linked: bool) -> String {
    let mut all = String::new();
    for _ in 0..1 + numbers.below(4) {
        match numbers.below(4) {
            0 if depth < 6 => {
                let mut element = numbers.one_of(&INLINE);
                if linked && element.starts_with("<a") {
                    element = INLINE[0];
                }
                let inner = inline(numbers, depth + 1, linked || element.starts_with("<a"));
                all.push_str(&element.replace('|', &inner));
            }
            1 => all.push_str(numbers.one_of(&OTHERS)),
            _ => all.push_str(&text(numbers)),
        }
        all.push_str(numbers.one_of(&["", " ", " "]));
    }
    all
}

fn blocks(numbers: &mut Numbers, depth: usize) -> String {
    let mut all = String::new();
    for _ in 0..1 + numbers.below(5) {
        let nested = depth < 4 && numbers.below(3) == 0;
        let inner = if nested {
            blocks(numbers, depth + 1)
        } else {
            inline(numbers, 0, false)
        };
        // A paragraph holds no other block.
        let block = if nested {
            "<div>|</div>\n"
        } else {
            numbers.one_of(&BLOCKS)
        };
        all.push_str(&block.replace('|', &inner));
    }
    all
}

fn page(numbers: &mut Numbers) -> String {
    let title = text(numbers);
    let body = blocks(numbers, 0);
    format!(
        "<!DOCTYPE html>\n<html><head><title>{title}</title><style>b{{}}</style></head>\n<body>{body}</body></html>\n"
    )
}

/// `page` with things at random places that nobody should write.
fn damaged(numbers: &mut Numbers, page: &str) -> String {
    let mut page = page.to_string();
    for _ in 0..1 + numbers.below(12) {
        let at = (0..=numbers.below(page.len()))
            .rev()
            .find(|&at| page.is_char_boundary(at))
            .unwrap();
        page.insert_str(at, numbers.one_of(&HOSTILE));
    }
    page
}

/// A node of a page as a browser sees it.
struct PageNode {
    node: Handle,
    /// The elements around it and itself, the outermost first.
    path: Vec<String>,
    /// If true, the text is in something that must not be translated.
    kept: bool,
}

/// Elements with text that stays unchanged.
const KEPT: [&str; 23] = [
    "script",
    "style",
    "code",
    "svg",
    "math",
    "pre",
    "kbd",
    "samp",
    "var",
    "tt",
    "textarea",
    "template",
    "noscript",
    "iframe",
    "xmp",
    "noembed",
    "noframes",
    "plaintext",
    "object",
    "canvas",
    "audio",
    "video",
    "listing",
];

/// Every node of `page`.
fn nodes(page: &str) -> Vec<PageNode> {
    let dom = parse_document(RcDom::default(), html5ever::ParseOpts::default()).one(page);
    let mut all = Vec::new();
    let mut todo = vec![PageNode {
        node: dom.document.clone(),
        path: Vec::new(),
        kept: false,
    }];
    while let Some(PageNode {
        node,
        mut path,
        mut kept,
    }) = todo.pop()
    {
        if let NodeData::Element { name, attrs, .. } = &node.data {
            let mut attributes: Vec<String> = attrs.borrow().iter().map(attribute).collect();
            attributes.sort_unstable();
            kept |= KEPT.contains(&&*name.local)
                || attributes
                    .iter()
                    .any(|attribute| attribute == "translate=no");
            path.push(format!("{} {attributes:?}", name.local));
        }
        for child in node.children.borrow().iter() {
            todo.push(PageNode {
                node: child.clone(),
                path: path.clone(),
                kept,
            });
        }
        all.push(PageNode { node, path, kept });
    }
    all
}

/// An attribute; only its name if it is translated.
fn attribute(attribute: &Attribute) -> String {
    if common::TEXTS.contains(&&*attribute.name.local) {
        attribute.name.local.to_string()
    } else {
        format!("{}={}", attribute.name.local, attribute.value)
    }
}

/// Returns each element with the attributes of itself and its ancestors, sorted.
pub fn tree(page: &str) -> Vec<String> {
    let nodes = nodes(page);
    let elements = nodes
        .iter()
        .filter(|node| matches!(node.node.data, NodeData::Element { .. }));
    let mut all: Vec<String> = elements.map(|node| node.path.join(" > ")).collect();
    all.sort_unstable();
    all
}

/// Comments, and the text of what must not be translated, sorted.
pub fn untranslated(page: &str) -> Vec<String> {
    let mut all: Vec<String> = nodes(page)
        .iter()
        .filter_map(|node: &PageNode| match &node.node.data {
            NodeData::Comment { contents } => Some(contents.to_string()),
            NodeData::Text { contents } if node.kept => Some(contents.borrow().to_string()),
            _ => None,
        })
        .collect();
    all.sort_unstable();
    all
}

/// The letters, digits and marks of the text of a page, without case, sorted.
pub fn letters(page: &str) -> Vec<char> {
    let text = |node: &PageNode| match &node.node.data {
        NodeData::Text { contents } => Some(contents.borrow().to_lowercase()),
        _ => None,
    };
    let text: String = nodes(page).iter().filter_map(text).collect();
    let mut all: Vec<char> = text.chars().filter(|c| !c.is_whitespace()).collect();
    all.sort_unstable();
    all
}

/// Letters of text that should have been translated.
pub fn lower_case_text(page: &str) -> Vec<String> {
    let text = |node: &PageNode| match &node.node.data {
        NodeData::Text { contents } if !node.kept => Some(contents.borrow().to_string()),
        _ => None,
    };
    let texts = nodes(page);
    let texts = texts.iter().filter_map(text);
    texts
        .filter(|text| text.chars().any(|c| c.is_ascii_lowercase()))
        .collect()
}

#[test]
fn two_hundred_pages_keep_their_trees_and_their_text_is_translated() {
    let mut numbers = Numbers(1);
    for _ in 0..200 {
        let page = page(&mut numbers);
        let drop = |_: &PendingSentence| Translated::default();
        let blind = |sentence: &PendingSentence| unlinked(reverse(sentence));
        let models: [common::Model<'_>; 4] = [&upper, &reverse, &blind, &drop];
        for model in models {
            let translated = translate(&page, Format::Html, model);
            assert_eq!(tree(&translated), tree(&page), "{page}\n{translated}");
            assert_eq!(untranslated(&translated), untranslated(&page));
        }
        assert_eq!(
            lower_case_text(&translate(&page, Format::Html, &upper)),
            [""; 0]
        );
    }
}

#[test]
fn two_hundred_damaged_pages_keep_every_tag() {
    let mut numbers = Numbers(2);
    for _ in 0..200 {
        let page = page(&mut numbers);
        let page = damaged(&mut numbers, &page);
        for model in [&upper as common::Model<'_>, &reverse, &identity] {
            let translated = translate(&page, Format::Html, model);
            assert_eq!(
                common::markup(&translated),
                common::markup(&page),
                "{page}\n{translated}"
            );
        }
    }
}
