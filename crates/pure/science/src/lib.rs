#![doc = include_str!("../README.md")]
//!
//! # Units
//! Times are `f64` in any one unit, rates are per that unit, weights in any unit. [`rhythm`],
//! [`divergence`] and [`weight`] need real time and count seconds. A wait that never ends is
//! [`f64::INFINITY`]; no function returns NaN for numbers that are none.
//!
//! # Papers
//! Formulas carry the key of their paper. Where we differ, the documentation says so.
//!
//! | key | paper |
//! |---|---|
//! | `[CGM03]` | J. Cho, H. Garcia-Molina, *Effective page refresh policies for web crawlers*, ACM TODS 2003 |
//! | `[CGM03e]` | J. Cho, H. Garcia-Molina, *Estimating frequency of change*, ACM TOIT 2003 |
//! | `[WSY02]` | J. L. Wolf and others, *Optimal crawling strategies for web search engines*, WWW 2002 |
//! | `[OP08]` | C. Olston, S. Pandey, *Recrawl scheduling based on information longevity*, WWW 2008 |
//! | `[AHLPS18]` | Y. Azar and others, *Tractable near-optimal policies for crawling*, PNAS 2018 |
//! | `[K19]`, `[K19p]` | A. Kolobov and others, *Staying up to date with online content changes using reinforcement learning for scheduling*, NeurIPS 2019 |
//! | `[KBZ20]` | A. Kolobov, S. Bubeck, J. Zimmert, *Online learning for active cache synchronization*, ICML 2020 |
//! | `[APT20]` | K. Avrachenkov, K. Patil, G. Thoppe, *Change rate estimation and optimal freshness in web page crawling*, 2020 |
//! | `[WHM85]` | M. West, P. J. Harrison, H. Migon, *Dynamic generalized linear models and Bayesian forecasting*, JASA 1985 |

#![cfg_attr(not(test), forbid(clippy::disallowed_methods, clippy::disallowed_types))]

pub mod allocate;
pub mod divergence;
pub mod estimate;
pub mod law;
pub mod rhythm;
pub mod timetable;
pub mod weight;
