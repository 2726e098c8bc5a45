//! Decides paths by a robots.txt: `decide FILE AGENT PATH...`

#![allow(clippy::print_stdout, reason = "an example prints")]

use std::error::Error;

use tidewatch_robots::Robots;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(file), Some(agent)) = (arguments.next(), arguments.next()) else {
        return Err("usage: decide FILE AGENT PATH...".into());
    };
    // Only the rules for this crawler are kept; keep the result as long as the file is fresh.
    let robots = Robots::parse(&std::fs::read(file)?, &agent);
    for path in arguments {
        // The longest matching rule decides, and names its line.
        let verdict = robots.decide(&path);
        let word = if verdict.allowed { "allow" } else { "deny" };
        match verdict.decided_by {
            Some(line) => println!("{word} {path} (line {}: {})", line.number, line.path),
            None => println!("{word} {path} (no rule matches)"),
        }
    }
    Ok(())
}
