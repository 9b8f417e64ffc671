//! The texts in attributes.

use super::*;

#[test]
fn text_of_forms_stays_and_titles_are_translated() {
    assert_eq!(
        html("<textarea>a</textarea><title>b &lt;i&gt;</title>", &upper),
        "<textarea>a</textarea><title>B &lt;i&gt;</title>"
    );
}

/// The attributes that browsers translate, by the HTML standard.
#[test]
fn attributes_that_readers_see_are_translated() {
    for (before, after) in [
        (
            "<img src=a.png alt='a red house'>",
            "<img src=a.png alt='A RED HOUSE'>",
        ),
        (
            "<p title=\"a &amp; b\">c</p>",
            "<p title=\"A &amp; B\">C</p>",
        ),
        (
            "x <a title=\"b\">c</a> <img alt=d> <input placeholder=\"e &lt; f\">",
            "X <a title=\"B\">C</a> <img alt=\"D\"> <input placeholder=\"E &lt; F\">",
        ),
        (
            "<input type=submit value=Go>",
            "<input type=submit value=\"GO\">",
        ),
        (
            "<meta name=description content='x y'>",
            "<meta name=description content='X Y'>",
        ),
        (
            "<meta property=\"og:title\" content=\"x\">",
            "<meta property=\"og:title\" content=\"X\">",
        ),
        (
            "<option label=\"x\">y</option>",
            "<option label=\"X\">Y</option>",
        ),
        (
            "<textarea placeholder=\"x\">y</textarea>",
            "<textarea placeholder=\"X\">y</textarea>",
        ),
        (
            "<p>a <code title='b'>c</code></p>",
            "<p>A <code title='B'>c</code></p>",
        ),
        (
            "<p aria-label='a'><img alt='b'></p>",
            "<p aria-label='A'><img alt='B'></p>",
        ),
    ] {
        assert_eq!(html(before, &upper), after);
        assert_eq!(html(before, &identity), before);
    }
}

#[test]
fn other_attributes_stay() {
    for page in [
        "<img alt=\"\">",
        "<img alt=\"IMG_1.jpg\">",
        "<input value=x>",
        "<meta name=viewport content=\"width=device-width\">",
        "<p translate=no title=x>y</p>",
        "<link title=\"x\">",
        "<img src=\"x\" class=\"y z\" alt='{{ w }}'>",
    ] {
        assert_eq!(html(page, &upper), page);
    }
}

/// These characters mark the places of attributes while a page is translated.
#[test]
fn attributes_of_a_page_with_noncharacters_are_translated() {
    for (before, after) in [
        (
            "\u{fdd0}<b title=\"x\">y</b>\u{fdd1}<i title=\"z\"></i>",
            "<b title=\"X\">Y</b><i title=\"Z\"></i>",
        ),
        (
            "<a title='x \u{fdd0}0\u{fdd0} y'></a>",
            "<a title='X 0 Y'></a>",
        ),
        (
            "<p>\u{fdd0}</p><img alt=x>",
            "<p>\u{fdd0}</p><img alt=\"X\">",
        ),
    ] {
        assert_eq!(html(before, &upper), after);
        assert_eq!(html(before, &identity), before);
    }
}

/// The translation swaps the images; each keeps its own text.
#[test]
fn an_attribute_moves_with_its_tag() {
    let page = "<p><b title=\"first\">one</b> <b title=\"second\">two</b></p>";
    assert_eq!(
        html(page, &reverse),
        "<p><b title=\"second\">two</b> <b title=\"first\">one</b></p>"
    );
}
