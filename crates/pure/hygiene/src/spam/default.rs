//! What the measures of a host say about spam before the operator labels any.
//!
//! Learnt from SET1 of WEBSPAM-UK2007 `[CAS07]`: hosts of .uk, crawled in May 2007 and labelled by
//! volunteers, 208 of 3,849 spam. The features used are eight published means over a host's pages (AVG_49
//! to AVG_54, AVG_71, AVG_72), which [`Shape`](super::Shape) measures on pages of today. The example
//! `spam_default` reads the file of features and prints these numbers, how well they tell unseen
//! fifths of the hosts apart (area under the ROC curve), and their calibration.
//!
//! What to expect of it: the area is 0.72, where all 96 published features reach 0.77. Most of those cannot
//! be measured as they were: words that are common in that crawl or in its queries, the number of pages
//! of a whole host. Of unseen hosts with a mean chance of 1.6%, 2.9%, 5.2%, 8.9%, 14%, 21% and 34%
//! are spam 0.6%, 2.8%, 6.3%, 9.2%, 15%, 20% and 24%. Chances above a quarter are rare (2% of hosts): the model
//! names hosts to look at, and leaves the rest to labels. Spam has moved on since 2007: of two webs
//! of invented words, one stuffed with keywords, it takes the plain one for likelier spam.
//! The labels may be used for research, not commercially (CC BY-NC-SA 3.0); neither they nor the features
//! are part of this crate.

use super::FEATURES;
use super::model::Logistic;
use super::shape::MEASURES;

/// Share of spam among hosts.
pub const SHARE: f64 = 0.0540;
/// Log odds that a host is spam all of whose measures are mean ones.
pub const BIAS: f64 = -2.992;
/// Mean and standard deviation of each measure over the labelled hosts, as [`scaled`](super::scaled).
pub const SCALE: [(f64, f64); MEASURES] = [
    (5.363, 1.283),
    (1.670, 0.621),
    (4.953, 0.591),
    (-2.715, 1.860),
    (-3.534, 0.673),
    (0.693, 0.289),
    (4.793, 1.269),
    (4.508, 1.172),
];
/// Weights of the measures and their squares.
pub const WEIGHTS: [f64; 2 * MEASURES] = [
    -0.449, -0.057, -0.111, 0.283, 0.119, 0.043, -0.157, -0.135, 0.018, 0.429, 0.763, -0.132,
    0.472, 0.243, -0.436, 0.174,
];

/// The model, to which links say nothing.
pub fn model() -> Logistic<FEATURES> {
    let weights = std::array::from_fn(|at| WEIGHTS.get(at).copied().unwrap_or(0.0));
    Logistic { bias: BIAS, weights }
}
