//! Forms that must never be submitted, and forms that should be.

use tidewatch_core::url::{Base, CanonicalUrl};
use tidewatch_forms::{Purpose, Question, Refusal, judge};
use tidewatch_parse::{html::scan, links::Links};

fn asked(html: &str) -> Result<Question, Refusal> {
    let page = CanonicalUrl::parse("https://a.example/dir/").unwrap();
    let mut links = Links::new("tidewatch");
    scan(html, &mut links);
    let forms = links.finish(&Base::of(&page).unwrap()).forms;
    assert_eq!(forms.len(), 1, "{html}");
    judge(&forms[0], &page)
}

/// Each is a search but for one thing, so that no other rule refuses it.
#[test]
fn these_are_never_submitted() {
    use Purpose::{Buy, Change, Comment, Contact, Delete, Login, Register, Subscribe, Vote};
    use Refusal::Purpose as Is;
    let search = |more: &str| {
        format!("<form role=search action=/search><input type=search name=q>{more}</form>")
    };
    let cases = [
        ("<form method=post action=/search><input type=search name=q></form>".to_owned(), Refusal::NotGet),
        (search("<button formmethod=post>Go</button>"), Refusal::NotGet),
        (search("<button formaction=/drop>Go</button>"), Refusal::Detour),
        ("<form role=search action=https://b.example/search><input type=search name=q></form>".into(), Refusal::OtherHost),
        ("<form role=search action=http://a.example/search><input type=search name=q></form>".into(), Refusal::OtherHost),
        ("<form role=search action='javascript:go()'><input type=search name=q></form>".into(), Refusal::NoAddress),
        (search(&"<input type=checkbox name=c>".repeat(70)), Refusal::TooLarge),
        (search("<input type=password name=p>"), Refusal::Password),
        (search("<input name=user_pass>"), Refusal::Password),
        (search("<input name=x autocomplete=current-password>"), Refusal::Password),
        (search("<input name=x placeholder='Your password'>"), Refusal::Password),
        (search("<input type=file name=f>"), Refusal::File),
        (search("<input type=email name=e>"), Refusal::Mail),
        (search("<input name=e placeholder='E-mail address'>"), Refusal::Mail),
        (search("<label for=m>Email</label><input id=m name=e>"), Refusal::Mail),
        (search("<input type=tel name=t>"), Refusal::Telephone),
        (search("<input name=phone>"), Refusal::Telephone),
        (search("<input name=card_cvv>"), Refusal::Payment),
        (search("<input name=n autocomplete=cc-number>"), Refusal::Payment),
        (search("<input name=first_name>"), Refusal::Person),
        (search("<textarea name=t></textarea>"), Refusal::Message),
        (search("<input type=hidden name=csrf_token value=1>"), Refusal::Token),
        (search("<input type=hidden name=k value=8f14e45fceea167a5a36dedd4bea2543>"), Refusal::Token),
        (search("<input name=captcha>"), Refusal::Captcha),
        (search("<input type=submit value='Sign in'>"), Is(Login)),
        (search("<input type=hidden name=action value=logout>"), Is(Login)),
        (search("<button>Register</button>"), Is(Register)),
        (search("<button>Send</button>"), Is(Contact)),
        (search("<button>Add to cart</button>"), Is(Buy)),
        (search("<input type=submit value=Donate>"), Is(Buy)),
        (search("<button>Unsubscribe</button>"), Is(Subscribe)),
        (search("<p>Subscribe to our newsletter"), Is(Subscribe)),
        (search("<input type=submit name=delete value=Go>"), Is(Delete)),
        (search("<input type=hidden name=op value=remove>"), Is(Delete)),
        (search("<button>L\u{f6}schen</button>"), Is(Delete)),
        (search("<button>Vote</button>"), Is(Vote)),
        (search("<input type=hidden name=comment_id value=3>"), Is(Comment)),
        (search("<button>Save</button>"), Is(Change)),
        ("<form role=search action=/account/delete><input type=search name=q></form>".into(), Is(Delete)),
        ("<form role=search action=/admin/find><input type=search name=q></form>".into(), Is(Change)),
        ("<form id=login-form action=/search><input type=search name=q></form>".into(), Is(Login)),
        ("<form class=newsletter action=/search><input type=search name=q></form>".into(), Is(Subscribe)),
        (search("<select name=year required><option>").replace("type=search ", "type=search disabled "), Refusal::NothingToAsk),
        ("<form action=/search></form>".into(), Refusal::NothingToAsk),
        ("<form action=/x><input name=quantity></form>".into(), Refusal::NotASearch),
        ("<form><select name=lang><option>en<option>de</select></form>".into(), Refusal::NothingToAsk),
        ("<form role=search action=/find><select name=kind><option>a<option>b</select><input type=url name=ref required></form>".into(), Refusal::Required),
    ];
    for (html, why) in cases {
        assert_eq!(asked(&html).map(|_| ()), Err(why), "{html}");
    }
}

#[test]
fn these_are_asked() {
    let cases = [
        (
            "<form action=/s><input name=q><button>Search</button></form>",
            "https://a.example/s?q=x+y",
        ),
        (
            "<form action='?old=1'><input type=hidden name=type value=book><input type=search name=term>\
             <input type=submit name=go value=Find></form>",
            "https://a.example/dir/?type=book&term=x+y&go=Find",
        ),
        (
            "<form role=search action=/s accept-charset=windows-1251><input name=text value=old>\
             <input type=checkbox name=a><input type=checkbox name=b checked><select name=sort><option>1<option selected>2\
             </select><input type=radio name=r value=1><input type=radio name=r value=2 checked></form>",
            "https://a.example/s?text=x+y&b=on&sort=2&r=2",
        ),
    ];
    for (html, url) in cases {
        let question = asked(html).unwrap_or_else(|why| panic!("{html}: {why}"));
        assert_eq!(question.ask_words("x y").unwrap().as_str(), url);
        let asks = question.asked(&CanonicalUrl::parse(url).unwrap());
        assert_eq!(asks.as_deref(), Some("x y"), "{url}");
    }
    let question = asked(cases[2].0).unwrap();
    let url = question.ask_words("п&\u{4e2d}").unwrap();
    assert!(url.as_str().contains("text=%EF%26%26%2320013%3B"), "{url}");
    assert_eq!(question.asked(&CanonicalUrl::parse("https://a.example/s?b=on").unwrap()), None);
    assert_eq!(
        question.asked(&CanonicalUrl::parse("https://a.example/other?text=x").unwrap()),
        None
    );
}
