//! Laws of your own: a survival function, or several laws of which you do not know which holds.

#![allow(clippy::print_stdout, reason = "an example prints")]

use tidewatch_science::law::{
    Curve, LawError, Lomax, LossCurve, Mixture, Poisson, Renewal, Staleness,
};

fn main() -> Result<(), LawError> {
    // No change within a day of the last, then one a day on average: Ḡ(t), the chance that a gap is
    // longer than t days.
    let rests = Renewal::new(|t: f64| if t < 1.0 { 1.0 } else { (1.0 - t).exp() })?;
    // Hourly or monthly, as likely as not.
    let parts: [(f64, Curve); 2] =
        [(0.5, Poisson::new(24.0)?.into()), (0.5, Poisson::new(1.0 / 30.0)?.into())];
    let either = Mixture::new(&parts)?;
    // Two changes were seen in ten days, and the rate is known no better than that.
    let unsure = Lomax::uncertain_rate(2.0, 10.0)?;

    let laws: [(&str, &dyn LossCurve); 3] =
        [("rests", &rests), ("hourly or monthly", &either), ("two in ten days", &unsure)];
    for (name, law) in laws {
        println!("{name}:");
        println!("  stale after a day with a chance of {:.2}", law.stale(1.0));
        println!("  with four fetches in ten days {:.2} of the time", law.average(10.0, 4.0));
        println!("  worth a fetch at a price of 0.2 days after {:.2} days", law.elapsed_at(0.2));
    }
    Ok(())
}
