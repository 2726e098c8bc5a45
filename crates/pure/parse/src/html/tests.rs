//! Logs a scan, one line per event.

use super::*;
use proptest::prelude::*;

#[derive(Default)]
struct Log {
    lines: Vec<String>,
    open: Vec<Name>,
    deepest: usize,
}

impl Visitor for Log {
    fn open(&mut self, tag: &Tag<'_>) {
        let attributes = tag.attributes().iter().map(|a| format!(" {}={}", a.name, a.value()));
        self.lines.push(format!("<{}{}", tag.written(), attributes.collect::<String>()));
        assert_eq!(tag.depth, self.open.len());
        if !tag.is_leaf {
            self.open.push(tag.name);
        }
        self.deepest = self.deepest.max(self.open.len());
    }

    fn text(&mut self, text: &str) {
        assert!(!text.is_empty());
        match self.lines.last_mut().filter(|line| line.starts_with('"')) {
            Some(line) => line.push_str(text),
            None => self.lines.push(format!("\"{text}")),
        }
    }

    fn raw(&mut self, _: Name, text: &str) {
        self.lines.push(format!("#{text}"));
    }

    fn close(&mut self, name: Name) {
        assert_eq!(self.open.pop(), Some(name), "closes are properly nested");
        self.lines.push(">".to_owned());
    }
}

fn log(html: &str) -> String {
    let mut log = Log::default();
    scan(html, &mut log);
    assert!(log.open.is_empty(), "everything is closed at the end");
    log.lines.join(" ")
}

#[test]
fn a_small_page() {
    assert_eq!(
        log("<!doctype html><P Class=x>a &amp; b<br/>c<script>if (a<b) '</p>'</script></P>"),
        "<P Class=x \"a & b <br \"c <script #if (a<b) '</p>' > >"
    );
    assert_eq!(log("<title>1 < 2 &lt; <b></title>"), "<title \"1 < 2 < <b> >");
    assert_eq!(log("a<!-- <b> -- > --!>c<!-->d<!--->e<?x?>f</ >g<! >h"), "\"acdefgh");
}

#[test]
fn ends_are_implied_where_browsers_imply_them() {
    assert_eq!(log("<p>a<p>b<div>c"), "<p \"a > <p \"b > <div \"c >");
    assert_eq!(log("<ul><li>a<ul><li>b</ul><li>c"), "<ul <li \"a <ul <li \"b > > > <li \"c > >");
    assert_eq!(
        log("<table><tr><td>a<td>b<tr><th>c</table>"),
        "<table <tr <td \"a > <td \"b > > <tr <th \"c > > >"
    );
    assert_eq!(log("<b>x</i></b></b>y"), "<b \"x > \"y");
    assert_eq!(log("<head><meta><body>x"), "<head <meta > <body \"x >");
}

#[test]
fn broken_pages_end_where_the_standard_ends_them() {
    assert_eq!(log("a <b"), "\"a ");
    assert_eq!(log("a < b <3 <"), "\"a < b <3 <");
    assert_eq!(log("a<b c='"), "\"a");
    assert_eq!(log("a<!-- b"), "\"a");
    assert_eq!(log("<script>a"), "<script #a >");
    assert_eq!(log("<script>a</scriptx></script x>b"), "<script #a</scriptx> > \"b");
    assert_eq!(log(""), "");
}

/// Foreign content: SVG and MathML.
#[test]
fn foreign_elements_end_where_the_standard_ends_them() {
    assert_eq!(log("<svg/>a"), "<svg \"a");
    assert_eq!(log("<svg><path d=x/>a<g/></svg>b"), "<svg <path d=x/ \"a <g > > \"b");
    assert_eq!(log("<svg><path d='x'/>a<p>b"), "<svg <path d=x \"a > <p \"b >");
    assert_eq!(log("<math><mi>a<b>c</b></mi><div>d"), "<math <mi \"a <b \"c > > > <div \"d >");
    assert_eq!(log("<svg><desc><p>a</p></desc>b</svg>c"), "<svg <desc <p \"a > > \"b > \"c");
    assert_eq!(log("<svg><style>a<b>c"), "<svg <style \"a > > <b \"c >");
    assert_eq!(log("<svg><font>a<font color=x>b"), "<svg <font \"a > > <font color=x \"b >");
    assert_eq!(log("<div><svg><g></div>a"), "<div <svg <g > > > \"a");
    assert_eq!(log("<svg></p>a"), "<svg > <p \"a");
    assert_eq!(log("<svg><![CDATA[a<b>&amp;]]>c</svg><![CDATA[d]]>e"), "<svg \"a<b>&amp;c > \"e");
    let annotation = "<math><annotation-xml encoding=Text/HTML><p>a</p></annotation-xml>b";
    assert_eq!(log(annotation), "<math <annotation-xml encoding=Text/HTML <p \"a > > \"b >");
}

#[test]
fn scripts_hold_scripts_in_comments() {
    assert_eq!(
        log("<script><!--<script>a</script>b--></script>c"),
        "<script #<!--<script>a</script>b--> > \"c"
    );
    assert_eq!(log("<script><!--a</script>b"), "<script #<!--a > \"b");
    assert_eq!(log("<script><!--><script></script>b"), "<script #<!--><script> > \"b");
    assert_eq!(log("<script><!--<script></script>a"), "<script #<!--<script></script>a >");
    assert_eq!(log("<script><!--<scripts></script>a"), "<script #<!--<scripts> > \"a");
}

#[test]
fn nul_is_dropped_or_replaced() {
    assert_eq!(log("a\0b\0<p title=c\0>"), "\"ab <p title=c\u{fffd} >");
    assert_eq!(
        log("<title>a\0b</title><svg>c\0<desc>d\0"),
        "<title \"a\u{fffd}b > <svg \"c\u{fffd} <desc \"d > >"
    );
}

#[test]
fn end_tags_close_only_elements_in_scope() {
    assert_eq!(log("<span><div>a</span>b"), "<span <div \"ab > >");
    assert_eq!(log("<div><table><td></div>a"), "<div <table <td \"a > > >");
    assert_eq!(log("<div><button></div>a"), "<div <button > > \"a");
    assert_eq!(log("<b><div>a</b>b</div>c"), "<b <div \"ab > > \"c");
    assert_eq!(log("<a><p>a<a>b"), "<a <p \"a <a \"b > > >");
    assert_eq!(log("<h1>a</h2>b"), "<h1 \"a > \"b");
    assert_eq!(log("<div>a</body></html>b"), "<div \"ab >");
    assert_eq!(log("a</p>b</br>c"), "\"a <p \"b <br \"c");
    assert_eq!(log("<ul><li><div></li>a"), "<ul <li <div > > \"a >");
}

#[test]
fn start_tags_close_elements_they_cannot_be_in() {
    assert_eq!(log("<td>a<select>b<input>c"), "\"a <select \"b > <input \"c");
    assert_eq!(log("<select>a<select>b"), "<select \"a > \"b");
    assert_eq!(log("<li><section><li>a"), "<li <section <li \"a > > >");
    assert_eq!(log("<p><table>a"), "<p <table \"a > >");
    assert_eq!(log("<!doctype html><p><table>a"), "<p > <table \"a >");
    assert_eq!(log("<table><div>a<tr><td>b"), "<table <div \"a > <tr <td \"b > > >");
    assert_eq!(log("<table><form><tr><td>b"), "<table <form <tr <td \"b > > > >");
    assert_eq!(log("<table><td>a<tbody>b"), "<table <td \"a > <tbody \"b > >");
    assert_eq!(log("<body a><body b>c"), "<body a= <body b= \"c >");
    assert_eq!(log("<head><p>a<head><body>b</head>c"), "<head <p \"a <body \"bc > >");
}

#[test]
fn a_frameset_shows_only_frames() {
    assert_eq!(log("<frameset>a<frame src=b><p>c</frameset>d"), "<frame src=b");
    assert_eq!(log("a<frameset>b<frame>c"), "\"abc");
}

#[test]
fn preformatted_elements_without_markup_are_text() {
    assert_eq!(
        log("<xmp>a<b>&amp;</xmp>c<plaintext>d</plaintext>"),
        "<xmp \"a<b>&amp; > \"c <plaintext \"d</plaintext> >"
    );
}

#[test]
fn depth_is_capped_and_text_still_told() {
    let deep = format!("{}x{}y", "<div>".repeat(100_000), "</div>".repeat(100_000));
    let mut log = Log::default();
    scan(&deep, &mut log);
    assert_eq!(log.deepest, DEPTH_CAP);
    assert!(log.open.is_empty());
    let text: String = log.lines.iter().filter_map(|line| line.strip_prefix('"')).collect();
    assert_eq!(text, "xy");
    assert_eq!(log.lines.last().map(String::as_str), Some("\"y"), "all is closed before the y");
}

/// Each of these made some HTML parser quadratic.
#[test]
fn hostile_pages_take_linear_time() {
    const BYTES: usize = 1 << 20;
    /// A linear scan of a megabyte takes well below a second, a quadratic one minutes. The limit
    /// leaves room for a slow machine.
    const LINEAR: std::time::Duration = std::time::Duration::from_secs(20);
    let shapes = [
        "<div>",
        "<p><b>",
        "</p>",
        "<",
        "<!--",
        "<!-",
        "<a b='",
        "<a b=\"x\"",
        "&",
        "&#",
        "&amp",
        "&a",
        "<title>",
        "</title",
        "<script></",
        "<li>",
        "<table><tr><td>",
        "<select><option>",
        "-->",
        "<!---",
        "<p>a</b>",
        "<svg><![CDATA[",
        "<svg><g></x>",
        "<math><mi>",
        "<script><!--<script>",
        "<b><table></b>",
        "<table><tr><td></div>",
        "<frameset>",
        "a\0",
        "<ul><li><dl><dd>",
    ];
    for shape in shapes {
        let page = shape.repeat(BYTES / shape.len());
        for page in [format!("{}{page}", "<x>".repeat(600)), page] {
            let (mut log, began) = (Log::default(), std::time::Instant::now());
            scan(&page, &mut log);
            assert!(began.elapsed() < LINEAR, "{shape}: {:?}", began.elapsed());
            assert!(log.open.is_empty(), "{shape}: every element is closed");
        }
    }
}

#[test]
fn visitors_share_a_pass() {
    let mut pair = (Log::default(), Log::default());
    scan("<p>a</p>", &mut pair);
    assert_eq!(pair.0.lines, pair.1.lines);
    assert_eq!(pair.0.lines.len(), 3);
}

proptest! {
    /// Nesting holds (asserted by the log) and text outside tags survives, whatever the input.
    #[test]
    fn anything_can_be_scanned(pieces in proptest::collection::vec(prop_oneof![
        Just("<p>"), Just("</p>"), Just("<div a=b>"), Just("</div>"), Just("<br>"), Just("<"), Just("</"),
        Just("<!--"), Just("-->"), Just("<script>"), Just("</script>"), Just("&"), Just("amp;"), Just("'"),
        Just("<svg>"), Just("</svg>"), Just("<path/>"), Just("<desc>"), Just("<math>"), Just("<![CDATA["), Just("]]>"),
        Just("<table>"), Just("<select>"), Just("<frameset>"), Just("\0"), Just("\""), Just("="), Just(">"), Just(" "), Just("é"), Just("<td>"), Just("<li>"), Just("</ul>"),
    ], 0..60)) {
        log(&pieces.concat());
    }

    #[test]
    fn any_text_can_be_scanned(html in ".{0,200}") {
        log(&html);
    }
}
