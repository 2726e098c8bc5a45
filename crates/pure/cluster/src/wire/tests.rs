use super::*;
use crate::lease::Renewal;
use crate::parcel::{Link, ParcelId, ParcelNumber};
use crate::{HomeId, NodeId};
use proptest::prelude::*;

const CRAWL: Crawl = Crawl(77);

fn member() -> Member {
    Member::Alive(Renewal {
        home: HomeId(1),
        serial: 2,
        is_leaving: false,
        loads: vec![(3, 0.5), (4, 0.25)],
    })
}

fn parcel(url: String) -> Parcel {
    let link = Link { url, depth: 1, hops: 0, is_source: false, via: None };
    let id = ParcelId { from: 1, number: ParcelNumber(1 << 32) };
    Parcel { id, oldest: ParcelNumber(1), links: vec![link], counts: Vec::new() }
}

#[test]
fn each_refusal_has_its_reason() {
    let good = encode(CRAWL, &member());
    assert_eq!(decode(CRAWL, &good), Ok(member()));
    let refused = |bytes: &[u8]| decode::<Member>(CRAWL, bytes).expect_err("refused");
    let changed = |at: usize, to: u8| {
        let mut bytes = good.clone();
        bytes[at] = to;
        refused(&bytes)
    };
    assert_eq!(changed(0, b'X'), Refused::Foreign);
    assert_eq!(refused(b"TWCL"), Refused::Foreign);
    assert_eq!(changed(4, 0), Refused::Version(0));
    assert_eq!(changed(5, 2), Refused::Kind { found: 2, wanted: 1 });
    assert_eq!(changed(6, 78), Refused::OtherCrawl(78));
    assert_eq!(refused(&good[..good.len() - 1]), Refused::Damaged);
    assert_eq!(refused(&[&good[..], &[0]].concat()), Refused::Damaged);
    assert_eq!(refused(&vec![0; MOST_BYTES + 1]), Refused::TooLong(MOST_BYTES + 1));
    let told = refused(&[]).to_string();
    assert_eq!(told, "the message is not from a Tidewatch node");
}

#[test]
fn values_beyond_their_limits_are_refused() {
    let long = encode(CRAWL, &parcel("x".repeat(MAX_URL_BYTES + 1)));
    assert_eq!(decode::<Parcel>(CRAWL, &long), Err(Refused::Beyond(Beyond::Url)));
    let mut many = parcel(String::new());
    many.counts = vec![(tidewatch_core::PageKey(1), 1); MOST_LINKS + 1];
    let many = encode(CRAWL, &many);
    assert_eq!(decode::<Parcel>(CRAWL, &many), Err(Refused::Beyond(Beyond::Links)));
    let demand =
        |waiting, curve| Demand { node: NodeId(1), under: 0, curve, pages: 0, waiting, slack: 0.0 };
    let odd = tidewatch_policy::DemandCurve::new(|_| f64::NAN);
    for bad in [demand(f32::NAN, None), demand(-1.0, None), demand(0.0, Some(odd))] {
        let bytes = encode(CRAWL, &bad);
        assert_eq!(decode::<Demand>(CRAWL, &bytes), Err(Refused::Beyond(Beyond::Figure)));
    }
}

/// What science/8 calls a small message: a report with its curve.
#[test]
fn a_report_takes_about_two_kilobytes() {
    let curve = Some(tidewatch_policy::DemandCurve::new(|price| 1.0 / price.sqrt()));
    let demand =
        Demand { node: NodeId(u64::MAX), under: 9, curve, pages: 1, waiting: 0.0, slack: 0.0 };
    let bytes = encode(CRAWL, &demand);
    assert!(bytes.len() < 2200, "{}", bytes.len());
    assert_eq!(decode(CRAWL, &bytes), Ok(demand));
}

fn all(bytes: &[u8]) {
    let _ = decode::<Member>(CRAWL, bytes);
    let _ = decode::<Claim>(CRAWL, bytes);
    let _ = decode::<Manifest>(CRAWL, bytes);
    let _ = decode::<Parcel>(CRAWL, bytes);
    let _ = decode::<Demand>(CRAWL, bytes);
    let _ = decode::<Quote>(CRAWL, bytes);
    let _ = decode::<Ask>(CRAWL, bytes);
    let _ = decode::<Reply>(CRAWL, bytes);
}

proptest! {
    #[test]
    fn no_bytes_panic(kind in 0u8..10, body in proptest::collection::vec(any::<u8>(), 0..300)) {
        let mut bytes = encode(CRAWL, &Reply::Granted);
        bytes[5] = kind;
        bytes.truncate(HEADER);
        bytes.extend(&body);
        all(&bytes);
        all(&body);
    }

    /// A message with one byte changed is refused or another good message, never more than the limits.
    #[test]
    fn a_changed_byte_is_no_harm(at in 0usize..60, to: u8) {
        for mut bytes in [encode(CRAWL, &member()), encode(CRAWL, &parcel("http://a.example/".into()))] {
            let at = at % bytes.len();
            bytes[at] = to;
            all(&bytes);
        }
    }
}
