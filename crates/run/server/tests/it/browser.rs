//! The pages in a real browser: with a keyboard alone, without scripts, at every size, and with
//! content that wants to be more than text.

use tidewatch_search::clicks::{Entry, Mark, Rows};
use tidewatch_testing::browser::{Browser, FAULTS};

use crate::{Stage, hostile, page};

fn stage() -> Stage {
    let pages: Vec<_> =
        (1..=25).map(|n| page(n, &format!("Tide {n}"), "High water at noon")).collect();
    Stage::new(&pages)
}

fn at(stage: &Stage, path: &str) -> String {
    format!("http://{}{path}", stage.server.address)
}

fn clicks(stage: &Stage) -> usize {
    let rows = Rows::read(stage.desk.dir(), Mark::default(), 1_000).unwrap();
    rows.entries.iter().filter(|entry| matches!(entry, Entry::Clicked { .. })).count()
}

#[test]
fn a_keyboard_is_enough() {
    let Some(mut browser) = Browser::start() else { return };
    let stage = stage();
    browser.open(&at(&stage, "/"));
    browser.wait("document.activeElement.id === 'q'");
    browser.type_in("tide \"high water\"");
    browser.press("Enter");
    browser.wait("document.querySelectorAll('.results li').length === 10");
    // From the top: skip link, navigation, search box, button, first result.
    let mut steps = 0;
    while browser.value("Boolean(document.activeElement.closest('.results'))") != true {
        browser.press("Tab");
        steps += 1;
        assert!(steps < 12, "the results are too far from the top");
    }
    assert_eq!(browser.value("document.activeElement.matches(':focus-visible')"), true);
    let link = browser.text("document.activeElement.getAttribute('href')");
    assert!(link.starts_with("/go?t="), "{link}");
    // The page it leads to does not exist; that it is asked for is what counts.
    browser.press("Enter");
    let began = std::time::Instant::now();
    while clicks(&stage) == 0 {
        assert!(began.elapsed().as_secs() < 30, "the click never came");
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    assert_eq!(clicks(&stage), 1);
}

#[test]
fn searching_needs_no_script() {
    let Some(mut browser) = Browser::start() else { return };
    let stage = stage();
    browser.allow_scripts(false);
    browser.open(&at(&stage, "/search?q=tide"));
    assert_eq!(browser.value("document.querySelectorAll('.results li').length"), 10);
    assert_eq!(browser.value("document.scripts.length"), 0);
    let next = browser.text("document.querySelector('a[rel=next]').href");
    browser.open(&next);
    assert_eq!(browser.text("document.querySelector('.results').start"), "11");
    assert_eq!(browser.complaints, Vec::<String>::new());
}

#[test]
fn pages_are_sound_at_every_size_in_light_and_dark() {
    let Some(mut browser) = Browser::start() else { return };
    let stage = stage();
    let long = format!("/search?q=tide+{}", "x".repeat(300));
    let paths = [
        "/",
        "/search?q=tide",
        "/search?q=unheard",
        "/search?q=after:never+tide",
        "/go?t=x",
        "/dashboard",
        "/dashboard/reports",
        "/dashboard/what-if",
        "/nowhere",
        &long,
    ];
    for (width, height, scheme) in
        [(1280, 900, "light"), (1280, 900, "dark"), (360, 740, "light"), (360, 740, "dark")]
    {
        browser.dress(width, height, scheme);
        for path in paths {
            if path.ends_with("what-if") && width > 360 {
                // Nobody answers here, which takes its time.
                continue;
            }
            browser.open(&at(&stage, path));
            let faults = browser.value(FAULTS);
            assert_eq!(faults, serde_json::json!([]), "{path} at {width} {scheme}");
        }
    }
}

#[test]
fn hostile_pages_stay_text() {
    let Some(mut browser) = Browser::start() else { return };
    let payloads = hostile::payloads();
    let pages: Vec<_> = payloads
        .iter()
        .zip(1..)
        .map(|(payload, number)| {
            let mut page =
                page(number, payload, &format!("needle batch{} {payload} end", number / 50));
            page.url = format!("https://host.example/{number}?{payload}");
            page
        })
        .collect();
    let stage = Stage::new(&pages);
    browser.dress(1280, 900, "light");
    let own = format!("http://{}/", stage.server.address);
    for batch in 0..=payloads.len() / 50 {
        for part in 1..=5 {
            browser.open(&at(&stage, &format!("/search?q=batch{batch}&page={part}")));
            assert_eq!(browser.value("document.scripts.length"), 0);
            assert_eq!(browser.value("document.querySelectorAll('main *:not(h1,h2,form,label,input,button,p,ol,li,article,a,mark,nav,span,div,strong,details,summary,dl,dt,dd,code)').length"), 0);
            let wide = browser.value("document.documentElement.scrollWidth > innerWidth + 1");
            assert_eq!(wide, false, "batch {batch}, page {part} breaks the layout");
            let foreign: Vec<_> =
                browser.requests.iter().filter(|url| !url.starts_with(&own)).collect();
            assert!(foreign.is_empty(), "{foreign:?}");
        }
    }
    // The same strings as queries.
    for payload in payloads.iter().step_by(7) {
        let query = hostile::as_query(payload);
        browser.open(&at(&stage, &format!("/search?q={query}")));
        assert_eq!(browser.value("document.scripts.length"), 0);
    }
    assert_eq!(browser.dialogs, Vec::<String>::new());
}
