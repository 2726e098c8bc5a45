use super::words::hash;
use super::*;
use proptest::prelude::*;
use tidewatch_core::sketch::divergence;

const ALL: Shingling = Shingling { words: 3, hashes: usize::MAX };

fn of(html: &str) -> Fragments {
    fragments(html, ALL)
}

fn changed(old: &str, new: &str) -> bool {
    of(old).identity != of(new).identity
}

#[test]
fn fragments_are_runs_of_words() {
    // Five words give three runs of three; the other block gives one.
    assert_eq!(of("<p>a b c d e<p>f g").sketch.len(), 4);
    assert_eq!(of("<p>a b c<p>a b c").sketch.len(), 1);
    // 5 runs before, 5 after, 2 in common: those without the replaced word.
    let (old, new) = (of("<p>a b c d e f g"), of("<p>a b c d x f g"));
    assert!((divergence(&old.sketch, &new.sketch, usize::MAX) - (1.0 - 2.0 / 8.0)).abs() < 1e-12);
}

/// Rolling hashes equal hashes computed from scratch for every run.
#[test]
fn rolling_is_the_same_as_hashing_each_run() {
    let words = ["to", "be", "or", "not", "to", "be", "that", "is"];
    for k in 1..6 {
        let mut slow: Vec<u64> = words
            .windows(k)
            .map(|run| {
                let fold = |h: u64, w: &&str| h.wrapping_mul(BASE).wrapping_add(hash(w.as_bytes()));
                mix(run.iter().fold(0, fold))
            })
            .collect();
        slow.sort_unstable();
        slow.dedup();
        let fast = fragments(&words.join(" "), Shingling { words: k, hashes: usize::MAX });
        assert_eq!(fast.sketch, slow, "k = {k}");
    }
}

#[test]
fn a_reader_sees_words_and_links() {
    let page = |body: &str| format!("<main><p>Some words that stay as they are.</p>{body}</main>");
    let base = page("<p>price 10 <a href='https://a.example/x?sid=1#top'>here</a></p>");
    let same =
        "<p class=z>price   10 <A HREF='https://a.example/x/?sid=2'>here</A></p><script>1</script>";
    assert!(!changed(&base, &page(same)));
    assert!(!changed(&base, &page(&format!("{same}<aside>x</aside><p hidden>y"))));
    for other in [
        "<p>price 11 <a href=https://a.example/x>here</a></p>",
        "<p>price 10 <a href=https://a.example/y>here</a></p>",
        "<p>price 10 here</p>",
        "<p>price 10 <a href=https://a.example/x>here</a><img alt=new></p>",
        "<p>Price 10 <a href=https://a.example/x>here</a></p>",
    ] {
        assert!(changed(&base, &page(other)), "{other}");
    }
    assert!(changed("<p>a b c</p><p>d e f</p>", "<p>d e f</p><p>a b c</p>"), "order of blocks");
    assert!(!changed("<p>a b c d e, 5 views", "<p>a b c d e, 6 views"));
    let mail = |to: &str| format!("<p>words to <a href='mailto:{to}@b.example'>write to</a>");
    assert!(!changed(&mail("an"), &mail("&#97;&#x6e;")), "the same address, spelled otherwise");
    assert!(changed(&mail("&#97;n"), &mail("&#98;n")));
}

#[test]
fn pages_of_surroundings_alone_are_read() {
    assert!(changed("<aside>all there is</aside>", "<aside>all there was</aside>"));
    let page = |aside: &str| format!("<p>some text of five words</p><aside>{aside}</aside>");
    assert!(!changed(&page("a"), &page("b")));
}

#[test]
fn scripts_without_spaces_have_fragments() {
    assert_eq!(of("<p>我们收集信息").sketch.len(), 4);
    assert!(changed("<p>我们收集信息", "<p>我们收集资料"));
}

#[test]
fn empty_and_binary_pages_are_defined() {
    for empty in ["", " \n", "<html></html>", "<script>x</script>"] {
        assert_eq!(of(empty), Fragments { identity: EMPTY, sketch: vec![], words: 0 });
    }
    let binary: Vec<u8> =
        (0..20_000u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    let text = crate::charset::decode(&binary, Some("text/html")).text.into_owned();
    assert_eq!(of(&text), of(&text));
    assert!(of(&text).words > 0);
}

/// One line of 50 MB, with or without words, takes about as long as reading it and no extra memory:
/// the block buffer stays at its cap.
#[test]
fn one_endless_line() {
    for word in ["word ", "endless"] {
        let line = word.repeat(50_000_000 / word.len());
        let mut shingler = Shingler::new(Shingling::default());
        shingler.piece(&line);
        shingler.end_block();
        assert!(shingler.block.capacity() <= 2 * LONGEST_BLOCK);
        assert!(shingler.hashes.capacity() <= 2 * LONGEST_BLOCK);
        assert!(shingler.words > 0);
    }
}

#[test]
fn alternating_versions_come_back_to_the_same() {
    let (a, b) = (of("<p>this is version a of it"), of("<p>this is version b of it"));
    assert_ne!(a.identity, b.identity);
    assert_eq!(a, of("<p>this is version a of it"));
}

proptest! {
    /// Splitting text anywhere, as character references do, changes nothing.
    #[test]
    fn pieces_do_not_matter(text in "[a-z0-9 é]{0,60}", cut in 0usize..60) {
        let cut = text.floor_char_boundary(cut.min(text.len()));
        let (mut one, mut two) = (Shingler::new(ALL), Shingler::new(ALL));
        one.piece(&text);
        two.piece(&text[..cut]);
        two.piece(&text[cut..]);
        one.end_block();
        two.end_block();
        prop_assert_eq!(one.finish(), two.finish());
    }

    #[test]
    fn any_page_has_fragments(html in ".{0,300}", k in 0usize..6) {
        let fragments = fragments(&html, Shingling { words: k, hashes: 8 });
        prop_assert!(fragments.sketch.len() <= 8 && fragments.sketch.is_sorted());
    }
}
