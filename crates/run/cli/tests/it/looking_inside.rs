//! Small commands that show one part at work.

use crate::tool::Folder;

#[test]
fn robots_names_the_deciding_line() {
    let text = "User-agent: *\nDisallow: /a\nAllow: /a/b # c\nCrawl-delay: 2\n";
    let folder = Folder::with(&[("robots.txt", text)]);
    let out = folder.run_with("robots robots.txt --agent Bot http://h/a/b -", b"http://h/a?x\nh/z");
    let want = "allow\thttp://h/a/b\tline 3: Allow: /a/b\n\
                deny\thttp://h/a?x\tline 2: Disallow: /a\n\
                allow\th/z\tno line matches\n";
    assert_eq!(out.ok(), want);
    let json = folder.run("robots robots.txt --agent Bot --json http://h/a").ok();
    let want = r#"{"url":"http://h/a","verdict":"deny","line":2,"rule":"Disallow: /a","crawl_delay_s":2.0}"#;
    assert_eq!(json.trim_end(), want);
    // A crawl asks for canonical URLs.
    let verdict = folder.run("robots robots.txt --agent Bot http://h/%61 http://h/a/../z").ok();
    assert_eq!(
        verdict,
        "deny\thttp://h/%61\tline 2: Disallow: /a\nallow\thttp://h/a/../z\tno line matches\n"
    );
    let missing = folder.run("robots none.txt --agent Bot http://h/");
    assert_eq!(missing.code, 1);
    assert!(missing.err.contains("cannot open none.txt"), "{}", missing.err);
}

#[test]
fn parse_shows_links_feeds_and_sitemaps() {
    let page = "<title>T</title><p>Some text<p><a href='b?x#y' rel=nofollow>to b</a><form></form>";
    let feed =
        "<rss><channel><item><link>http://h/1</link><title>One</title></item></channel></rss>";
    let map = "<urlset><url><loc>http://h/2</loc></url></urlset>";
    let folder = Folder::with(&[("p.html", page), ("f.xml", feed), ("s.xml", map)]);
    let json = folder.run("parse p.html --url http://h/a --json").ok();
    for part in [
        r#""kind":"html""#,
        r#""title":"T""#,
        r#""url":"http://h/b?x","anchor":"to b","position":0"#,
        r#""nofollow":true"#,
        r#""text":"T\nSome text\nto b""#,
        r#""method":"get""#,
    ] {
        assert!(json.contains(part), "{part} in {json}");
    }
    let told = folder.run("parse f.xml --url http://h/").ok();
    assert_eq!(told, "entry      http://h/1\tOne\n");
    let told = folder.run("parse s.xml --url http://h/ --as sitemap").ok();
    assert_eq!(told, "url        http://h/2\n");
    let refused = folder.run("parse p.html --url http://h/ --as feed");
    assert_eq!(refused.code, 1);
    assert!(refused.err.contains("the root of no known format"), "{}", refused.err);
    let wrong = folder.run("parse p.html --url nonsense");
    assert!(wrong.code == 1 && wrong.err.contains("document's address"), "{}", wrong.err);
}

#[test]
fn fetch_names_its_outcome() {
    use std::io::{Read, Write};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let at = listener.local_addr().unwrap();
    let server = std::thread::spawn(move || {
        let (mut socket, _) = listener.accept().unwrap();
        let mut head = [0; 1024];
        let length = socket.read(&mut head).unwrap();
        socket.write_all(b"HTTP/1.1 200 OK\r\nETag: \"1\"\r\nContent-Length: 2\r\n\r\nhi").unwrap();
        String::from_utf8_lossy(&head[..length]).into_owned()
    });
    let folder = Folder::with(&[]);
    let blocked = folder.run(&format!("fetch http://{at}/ --json"));
    assert_eq!(blocked.code, 1);
    assert!(blocked.out.contains(r#""reason":"blocked-address""#), "{}", blocked.out);
    let json = folder.run(&format!("fetch http://{at}/ --allow-private --json -o body")).ok();
    for part in [r#""outcome":"answered""#, r#""status":200"#, r#""body_bytes":2"#, "total_ms"] {
        assert!(json.contains(part), "{part} in {json}");
    }
    assert_eq!(folder.read("body"), "hi");
    assert!(server.join().unwrap().contains("User-Agent: Tidewatch/"));
    let wrong = folder.run("fetch gopher://a/");
    assert!(wrong.code == 1 && wrong.err.contains("is refused"), "{}", wrong.err);
}

#[test]
fn completions_and_manual_pages_name_every_command() {
    let folder = Folder::with(&[]);
    for shell in ["bash", "zsh", "fish"] {
        let script = folder.run(&format!("completions {shell}")).ok();
        for word in ["what-if", "timetable", "dir"] {
            assert!(script.contains(word), "{word} for {shell}");
        }
    }
    let page = folder.run("man").ok();
    assert!(page.contains(".TH") && page.contains("tidewatch\\-crawl(1)"), "{page}");
    let page = folder.run("man lab compare").ok();
    assert!(page.contains("\\-\\-trace") && page.contains("Example"), "{page}");
    folder.run("man --output pages").ok();
    assert!(folder.read("pages/tidewatch-crawl.1").contains("\\-\\-budget"));
    assert!(folder.path().join("pages/tidewatch-lab-compare.1").exists());
    let wrong = folder.run("man craw");
    assert!(wrong.code == 1 && wrong.err.contains("no command `craw`"), "{}", wrong.err);
}
