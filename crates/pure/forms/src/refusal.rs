//! Why a form is not asked.

use serde::{Deserialize, Serialize};

/// Why a form must not be submitted, or need not be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "kebab-case")]
pub enum Refusal {
    /// It is not sent by GET.
    #[error("it is not sent by GET")]
    NotGet,
    /// It has fields that are not looked at.
    #[error("it has fields that are not looked at")]
    TooLarge,
    /// It has no address that can be fetched.
    #[error("it has no address that can be fetched")]
    NoAddress,
    /// It is sent to another host.
    #[error("it is sent to another host")]
    OtherHost,
    /// A button sends it to another address.
    #[error("one of its buttons sends it to another address")]
    Detour,
    /// It asks for a password.
    #[error("it asks for a password")]
    Password,
    /// It takes a file.
    #[error("it takes a file")]
    File,
    /// It asks for a mail address.
    #[error("it asks for a mail address")]
    Mail,
    /// It asks for a telephone number.
    #[error("it asks for a telephone number")]
    Telephone,
    /// It asks for a means of payment.
    #[error("it asks for a means of payment")]
    Payment,
    /// It asks for a person's name, birthday or address.
    #[error("it asks for a person's name, birthday or address")]
    Person,
    /// It has a text area.
    #[error("it takes a message")]
    Message,
    /// It carries a session or CSRF token.
    #[error("it carries a token of this visit")]
    Token,
    /// It has a captcha.
    #[error("it is a riddle that keeps robots out")]
    Captcha,
    /// Its words say that it does something else than search.
    #[error("by its words it is there to {0}")]
    Purpose(Purpose),
    /// It requires a field that cannot be filled in.
    #[error("it requires a field that cannot be filled in")]
    Required,
    /// It has nothing to fill in.
    #[error("it has nothing to search by")]
    NothingToAsk,
    /// Nothing says that it is a search.
    #[error("nothing says that it searches")]
    NotASearch,
}

/// What a form does other than to search.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Purpose {
    /// Log in or out.
    Login,
    /// Open an account.
    Register,
    /// Write to somebody.
    Contact,
    /// Buy or pay.
    Buy,
    /// Subscribe or unsubscribe.
    Subscribe,
    /// Delete.
    Delete,
    /// Vote or rate.
    Vote,
    /// Comment.
    Comment,
    /// Change or store something.
    Change,
}

impl std::fmt::Display for Purpose {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Purpose::Login => "log in or out",
            Purpose::Register => "open an account",
            Purpose::Contact => "write to somebody",
            Purpose::Buy => "buy or pay",
            Purpose::Subscribe => "subscribe",
            Purpose::Delete => "delete",
            Purpose::Vote => "vote",
            Purpose::Comment => "comment",
            Purpose::Change => "change something",
        })
    }
}
