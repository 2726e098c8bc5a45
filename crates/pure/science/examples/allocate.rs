//! Six pages of two hosts, one of which allows three fetches a day. What is the best use of a budget?

#![allow(clippy::print_stdout, reason = "an example prints")]

use tidewatch_science::allocate::{AllocateError, Objective, Pages, allocate};

fn main() -> Result<(), AllocateError> {
    let pages = Pages {
        weight: &[5.0, 1.0, 1.0, 5.0, 1.0, 1.0],
        // Changes a day; the last page of each host changes faster than anyone can follow.
        change_rate: &[2.0, 0.5, 40.0, 2.0, 0.5, 40.0],
        min: None,
        max: None,
        host: Some(&[0, 0, 0, 1, 1, 1]),
    };
    let caps = [3.0, f64::INFINITY];
    for budget in [2.0, 8.0, 20.0] {
        println!("{budget} fetches a day");
        for objective in Objective::ALL {
            let plan = allocate(&pages, budget, objective, Some(&caps))?;
            println!("  {:<10} {:>5.2?}", objective.name(), plan.rates);
            // A price above the common one says that a host's cap is the limit, not the budget.
            if plan.host_prices[0] > plan.price {
                println!(
                    "  {:<10} host 0 is at its cap: a fetch there is worth {:.3}, elsewhere {:.3}",
                    "", plan.host_prices[0], plan.price
                );
            }
        }
    }
    Ok(())
}
