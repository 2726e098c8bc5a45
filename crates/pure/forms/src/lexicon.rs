//! Words by which forms say what they are for, in the languages that most pages are in.

use crate::refusal::{Purpose, Refusal};

/// The words of a name, path or label: `searchQuery`, `search-query` and `Search query` have the same.
pub(crate) fn tokens(text: &str) -> Vec<String> {
    let (mut tokens, mut token, mut was_lower) = (Vec::new(), String::new(), false);
    for c in text.chars().take(MOST_CHARS) {
        let begins = was_lower && c.is_uppercase();
        if (begins || !c.is_alphanumeric()) && !token.is_empty() {
            tokens.push(std::mem::take(&mut token));
        }
        if c.is_alphanumeric() {
            token.extend(c.to_lowercase());
        }
        was_lower = c.is_lowercase();
    }
    tokens.extend((!token.is_empty()).then_some(token));
    tokens
}

/// Longest text that is looked at.
const MOST_CHARS: usize = 2048;

/// Names of boxes for words, which are used for nothing else.
const BOXES: &[&str] = &[
    "q",
    "query",
    "search",
    "keyword",
    "keywords",
    "kw",
    "searchterm",
    "searchtext",
    "searchquery",
    "searchstring",
    "searchword",
    "suche",
    "suchbegriff",
    "suchwort",
    "suchtext",
    "recherche",
    "buscar",
    "busca",
    "busqueda",
    "cerca",
    "ricerca",
    "zoeken",
    "zoek",
    "sok",
    "haku",
    "hledat",
    "szukaj",
    "pesquisa",
    "find",
    "qs",
    "querytext",
    "terms",
    "term",
    "words",
    "ara",
    "arama",
    "поиск",
    "検索",
    "搜索",
];
/// Names that boxes for words often have, and other fields too.
const LIKELY_BOXES: &[&str] = &[
    "s", "k", "w", "p", "wd", "text", "word", "libelle", "title", "titel", "titre", "phrase",
    "str", "string",
];
/// Words that say "search", as a whole word or as the beginning of one.
const SEARCHES: &[&str] = &[
    "search",
    "find",
    "lookup",
    "suche",
    "suchbegriff",
    "suchwort",
    "suchtext",
    "recherch",
    "busc",
    "busqued",
    "cerca",
    "ricerc",
    "zoek",
    "søk",
    "sök",
    "haku",
    "hled",
    "szuk",
    "pesquis",
    "procur",
    "query",
    "keyword",
    "browse",
    "filter",
    "поиск",
    "найти",
    "искать",
    "検索",
    "搜索",
    "搜尋",
    "查找",
    "검색",
    "arama",
    "بحث",
    "ค้นหา",
];
/// Names of inputs that change how an answer looks and not what it holds.
const SHOWS: &[&str] = &[
    "sort",
    "sortby",
    "sorting",
    "order",
    "orderby",
    "dir",
    "direction",
    "limit",
    "perpage",
    "pagesize",
    "size",
    "rows",
    "num",
    "count",
    "view",
    "display",
    "layout",
    "style",
    "theme",
    "lang",
    "language",
    "locale",
    "hl",
    "currency",
    "format",
    "output",
    "page",
    "offset",
    "start",
    "utf8",
    "ie",
    "oe",
    "charset",
    "sentence",
];

/// Whether a name is that of a box for words.
pub(crate) fn names_box(name: &str) -> bool {
    let tokens = tokens(name);
    tokens.iter().any(|token| BOXES.contains(&token.as_str()))
}

/// Whether a name may be that of a box for words.
pub(crate) fn may_name_box(name: &str) -> bool {
    tokens(name).iter().any(|token| LIKELY_BOXES.contains(&token.as_str()))
}

/// Whether a text says "search".
pub(crate) fn says_search(text: &str) -> bool {
    tokens(text).iter().any(|token| SEARCHES.iter().any(|word| token.starts_with(word)))
}

/// Whether an input changes only how an answer looks.
pub(crate) fn is_presentation(name: &str) -> bool {
    let tokens = tokens(name);
    let whole = tokens.concat();
    SHOWS.contains(&whole.as_str())
        || tokens.iter().any(|token| {
            matches!(
                token.as_str(),
                "sort" | "order" | "orderby" | "lang" | "language" | "locale" | "currency"
            )
        })
}

/// What a field asks for that nobody should be asked to give, by its name, id or label.
pub(crate) fn asks_for(text: &str) -> Option<Refusal> {
    let tokens = tokens(text);
    let has = |words: &[&str]| tokens.iter().any(|token| words.contains(&token.as_str()));
    let begins =
        |words: &[&str]| tokens.iter().any(|t| words.iter().any(|word| t.starts_with(word)));
    match () {
        () if begins(&["captcha", "recaptcha", "hcaptcha", "turnstile"]) => Some(Refusal::Captcha),
        () if begins(&[
            "passw",
            "passwd",
            "passcode",
            "kennwort",
            "contrase",
            "motdepasse",
            "wachtwoord",
            "пароль",
        ]) || has(&["pass", "pwd", "pin", "otp", "senha"]) =>
        {
            Some(Refusal::Password)
        }
        () if begins(&["email", "correo", "courriel"])
            || has(&["mail", "emailaddress", "メール", "邮箱"])
            || tokens.windows(2).any(|pair| pair[0] == "e" && pair[1].starts_with("mail")) =>
        {
            Some(Refusal::Mail)
        }
        () if begins(&[
            "telephone",
            "telefon",
            "téléphone",
            "telefoon",
            "phonenumber",
            "mobilenumber",
        ]) || has(&["phone", "tel", "msisdn", "handynummer"])
            || tokens == ["mobile"]
            || tokens.windows(2).any(|pair| pair == ["mobile", "number"]) =>
        {
            Some(Refusal::Telephone)
        }
        () if begins(&["creditcard", "cardnumber", "kreditkart"])
            || has(&["cvv", "cvc", "iban", "cc", "ccnum", "expiry", "sepa"]) =>
        {
            Some(Refusal::Payment)
        }
        () if has(&[
            "firstname",
            "lastname",
            "fullname",
            "surname",
            "vorname",
            "nachname",
            "prenom",
            "prénom",
            "birthday",
            "birthdate",
            "dob",
            "ssn",
            "streetaddress",
            "apellido",
            "cognome",
        ]) || tokens.windows(2).any(|pair| {
            matches!(
                (pair[0].as_str(), pair[1].as_str()),
                ("first" | "last" | "full" | "your", "name") | ("your", "address")
            )
        }) =>
        {
            Some(Refusal::Person)
        }
        () if has(&["username", "userid", "benutzername"])
            || tokens
                .windows(2)
                .any(|pair| pair[0] == "user" && matches!(pair[1].as_str(), "name" | "id")) =>
        {
            Some(Refusal::Purpose(Purpose::Login))
        }
        () if begins(&["message", "nachricht", "mensaje", "messaggio", "bericht"]) => {
            Some(Refusal::Message)
        }
        () => None,
    }
}

/// Words of a form's name, address, hidden fields and buttons that say what it does.
const PURPOSES: &[(Purpose, &[&str])] = &[
    (
        Purpose::Login,
        &[
            "login",
            "logon",
            "logins",
            "signin",
            "logout",
            "logoff",
            "signout",
            "anmelden",
            "anmeldung",
            "einloggen",
            "abmelden",
            "connexion",
            "connecter",
            "déconnexion",
            "inloggen",
            "uitloggen",
            "accedi",
            "auth",
            "authenticate",
            "authorize",
            "oauth",
            "sso",
            "sessions",
            "войти",
            "вход",
            "ログイン",
            "登录",
            "登錄",
            "로그인",
        ],
    ),
    (
        Purpose::Register,
        &[
            "register",
            "registration",
            "signup",
            "registrieren",
            "registrierung",
            "inscription",
            "inscrire",
            "registro",
            "registrarse",
            "cadastro",
            "registrati",
            "enroll",
            "enrol",
        ],
    ),
    (
        Purpose::Contact,
        &[
            "contact",
            "contactform",
            "contactus",
            "kontakt",
            "contacto",
            "contato",
            "contatto",
            "feedback",
            "enquiry",
            "inquiry",
            "send",
            "senden",
            "envoyer",
            "enviar",
            "invia",
            "verzenden",
            "sendmail",
            "formmail",
            "invite",
            "отправить",
            "送信",
            "发送",
        ],
    ),
    (
        Purpose::Buy,
        &[
            "checkout",
            "cart",
            "addtocart",
            "basket",
            "warenkorb",
            "panier",
            "carrito",
            "carrello",
            "winkelwagen",
            "buy",
            "purchase",
            "pay",
            "payment",
            "payments",
            "paypal",
            "billing",
            "donate",
            "donation",
            "donatelink",
            "spenden",
            "kaufen",
            "bestellen",
            "acheter",
            "comprar",
            "acquista",
            "kopen",
            "subscribenow",
            "купить",
            "購入",
            "购买",
        ],
    ),
    (
        Purpose::Subscribe,
        &[
            "subscribe",
            "subscription",
            "subscriptions",
            "unsubscribe",
            "resubscribe",
            "newsletter",
            "newsletters",
            "optin",
            "optout",
            "abonnieren",
            "abonner",
            "suscribirse",
            "suscribir",
            "iscriviti",
            "inschrijven",
            "mailinglist",
            "mailchimp",
            "подписаться",
            "购阅",
            "订阅",
        ],
    ),
    (
        Purpose::Delete,
        &[
            "delete",
            "remove",
            "destroy",
            "erase",
            "purge",
            "trash",
            "löschen",
            "loeschen",
            "entfernen",
            "supprimer",
            "eliminar",
            "borrar",
            "elimina",
            "verwijderen",
            "excluir",
            "удалить",
            "削除",
            "删除",
            "삭제",
        ],
    ),
    (
        Purpose::Vote,
        &[
            "vote",
            "votes",
            "voting",
            "poll",
            "polls",
            "upvote",
            "downvote",
            "survey",
            "abstimmen",
            "voter",
            "votar",
            "голосовать",
            "投票",
        ],
    ),
    (
        Purpose::Comment,
        &[
            "comment",
            "comments",
            "commentform",
            "reply",
            "kommentar",
            "kommentieren",
            "commentaire",
            "comentario",
            "comentar",
            "commento",
            "reageren",
            "guestbook",
            "antworten",
        ],
    ),
    (
        Purpose::Change,
        &[
            "edit",
            "update",
            "save",
            "create",
            "upload",
            "import",
            "attach",
            "confirm",
            "confirmation",
            "verify",
            "approve",
            "publish",
            "rename",
            "consent",
            "cookie",
            "cookies",
            "gdpr",
            "agree",
            "accept",
            "preferences",
            "einstellungen",
            "speichern",
            "enregistrer",
            "guardar",
            "salvar",
            "salva",
            "opslaan",
            "install",
            "admin",
            "setlocale",
            "setlang",
            "follow",
            "unfollow",
            "share",
            "like",
            "block",
            "ban",
            "moderate",
            "execute",
            "shutdown",
            "restart",
            "reboot",
            "challenge",
            "backdetect",
            "сохранить",
            "保存",
        ],
    ),
];

/// What a text says that a form does, if that is not to search.
pub(crate) fn purpose(text: &str) -> Option<Purpose> {
    let tokens = tokens(text);
    let has = |word: &str| tokens.iter().any(|token| token == word);
    let found = PURPOSES.iter().find(|(_, words)| words.iter().any(|word| has(word)));
    let pair = tokens.windows(2).find_map(|pair| match (pair[0].as_str(), pair[1].as_str()) {
        ("sign" | "log", "in" | "out") => Some(Purpose::Login),
        ("sign", "up") | ("create", "account") | ("join", "now") => Some(Purpose::Register),
        ("contact", "us") | ("get", "touch") => Some(Purpose::Contact),
        ("book" | "order", "now") | ("place", "order") => Some(Purpose::Buy),
        ("mailing", "list") => Some(Purpose::Subscribe),
        ("write", "review") | ("post", "comment") => Some(Purpose::Comment),
        _ => None,
    });
    found.map(|(purpose, _)| *purpose).or(pair)
}

/// Words that are so clear that they count wherever they stand in a form.
pub(crate) fn clear_purpose(text: &str) -> Option<Purpose> {
    let tokens = tokens(text);
    let has = |words: &[&str]| tokens.iter().any(|token| words.contains(&token.as_str()));
    match () {
        () if has(&["password", "passwort", "login"]) => Some(Purpose::Login),
        () if has(&["newsletter", "subscribe", "unsubscribe", "abonnieren"]) => {
            Some(Purpose::Subscribe)
        }
        () if has(&["checkout"]) => Some(Purpose::Buy),
        () => None,
    }
}

/// Names of hidden fields that hold a token of this visit.
const TOKENS: &[&str] = &[
    "csrf",
    "xsrf",
    "token",
    "nonce",
    "authenticity",
    "viewstate",
    "eventvalidation",
    "wpnonce",
    "session",
    "sessionid",
    "sid",
    "phpsessid",
    "jsessionid",
    "csrfmiddlewaretoken",
    "requestverificationtoken",
    "hash",
    "signature",
    "lsd",
    "formbuildid",
    "sesskey",
    "apikey",
    "secret",
];
/// Shortest value that is taken for one drawn at random.
const TOKEN_CHARS: usize = 20;

/// Whether a hidden field holds a token: by its name, or by a value that looks drawn at random.
pub(crate) fn is_token(name: &str, value: &str) -> bool {
    let tokens = tokens(name);
    let (whole, value) = (tokens.concat(), value.trim());
    let named = tokens.iter().map(String::as_str).chain([whole.as_str()]);
    let is_named = named.into_iter().any(|token| TOKENS.contains(&token.trim_start_matches('_')));
    let digits = value.bytes().filter(u8::is_ascii_digit).count();
    let letters = value.bytes().filter(u8::is_ascii_alphabetic).count();
    let is_plain =
        |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '+' | '/' | '=' | '.' | ':');
    let is_random = value.len() >= TOKEN_CHARS
        && value.chars().all(is_plain)
        && !value.contains("://")
        && digits >= 4
        && letters >= 4;
    is_named || is_random
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fall_into_words() {
        assert_eq!(tokens("searchQuery-2 für_Bücher"), ["search", "query", "2", "für", "bücher"]);
        assert_eq!(tokens("HTMLName"), ["htmlname"]);
        assert!(tokens("--").is_empty() && tokens(&"a ".repeat(1 << 20)).len() <= MOST_CHARS);
    }

    #[test]
    fn tokens_of_a_visit_are_known_by_name_or_value() {
        for (name, value) in [
            ("csrf_token", "1"),
            ("__VIEWSTATE", "x"),
            ("_wpnonce", "ab"),
            ("key", "8f14e45fceea167a5a36dedd4bea2543"),
        ] {
            assert!(is_token(name, value), "{name}={value}");
        }
        for (name, value) in [
            ("category", "204488827"),
            ("searchtype", "newwork_titles"),
            ("from", "https://a.example/page/1234"),
            ("utf8", "✓"),
        ] {
            assert!(!is_token(name, value), "{name}={value}");
        }
    }

    #[test]
    fn words_count_as_words_and_not_as_parts() {
        assert_eq!(purpose("btn-subscribe"), Some(Purpose::Subscribe));
        assert_eq!(purpose("Sign in"), Some(Purpose::Login));
        assert_eq!(purpose("/catalogue/editions"), None);
        assert_eq!(purpose("payload"), None);
        assert_eq!(asks_for("Your e-mail"), Some(Refusal::Mail));
        assert_eq!(asks_for("mailing"), None);
        assert!(says_search("Suchbegriff") && says_search("searchBar") && !says_search("research"));
        assert!(
            is_presentation("sort_by") && is_presentation("perPage") && !is_presentation("sorte")
        );
    }
}
