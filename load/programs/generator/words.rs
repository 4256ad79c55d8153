//! Options as they were given, and which there are.

use std::str::FromStr;

use leaseload_net::clock::SECOND;
use lexopt::prelude::*;

/// An error of the command line: what is wrong, and what is wanted.
pub type Wrong = String;

/// The longest time that can be set (s).
pub const LONGEST_S: f64 = 7.0 * 86_400.0;

/// Properties of an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    /// A word of the process as a whole, with a value.
    Once,
    /// The same without a value.
    OnceFlag,
    /// A word of a load, with a value.
    Load,
    /// The same without a value.
    LoadFlag,
}

const DHCP4: &[&str] = &["dhcp4"];
const DHCP6: &[&str] = &["dhcp6"];
const DHCP: &[&str] = &["dhcp4", "dhcp6"];
const DNS: &[&str] = &["dns"];
const ALL: &[&str] = &["dhcp4", "dhcp6", "dns"];

/// Every option, and the protocols that it goes with.
const OPTIONS: &[(&str, Shape, &[&str])] = &[
    ("rate", Shape::Load, ALL),
    ("steps", Shape::Load, ALL),
    ("counts", Shape::Load, ALL),
    ("at-once", Shape::Load, DHCP),
    ("seconds", Shape::Load, ALL),
    ("arrivals", Shape::Load, ALL),
    ("mix", Shape::Load, DHCP),
    ("lease-clock", Shape::LoadFlag, DHCP),
    ("retransmit", Shape::LoadFlag, ALL),
    ("seed", Shape::Load, ALL),
    ("late", Shape::Load, ALL),
    ("grace", Shape::Load, ALL),
    ("quiet", Shape::Load, ALL),
    ("goal", Shape::Load, ALL),
    ("lag", Shape::Load, ALL),
    ("bin", Shape::Load, ALL),
    ("tick", Shape::Load, ALL),
    ("spin", Shape::LoadFlag, ALL),
    ("clients", Shape::Once, DHCP),
    ("fill", Shape::OnceFlag, DHCP),
    ("first-mac", Shape::Once, DHCP),
    ("macs", Shape::Once, DHCP),
    ("population", Shape::Once, DHCP),
    ("option", Shape::Once, DHCP),
    ("circuit-id", Shape::Once, DHCP),
    ("remote-id", Shape::Once, DHCP),
    ("relay", Shape::Once, DHCP),
    ("vlan", Shape::Once, DHCP4),
    ("want", Shape::Once, DHCP6),
    ("server", Shape::Once, ALL),
    ("port", Shape::Once, DNS),
    ("transport", Shape::Once, DNS),
    ("ca", Shape::Once, DNS),
    ("tls-name", Shape::Once, DNS),
    ("queries", Shape::Once, DNS),
    ("expect", Shape::Once, DNS),
    ("recursion", Shape::OnceFlag, DNS),
    ("edns", Shape::Once, DNS),
    ("dnssec", Shape::OnceFlag, DNS),
    ("subnets", Shape::Once, DNS),
    ("subnet-share", Shape::Once, DNS),
    ("tsig", Shape::Once, DNS),
    ("sockets", Shape::Once, DNS),
    ("fresh", Shape::OnceFlag, DNS),
    ("interface", Shape::Once, ALL),
    ("threads", Shape::Once, ALL),
    ("processors", Shape::Once, ALL),
    ("serve", Shape::OnceFlag, ALL),
];

/// Options as they were given, in their order.
#[derive(Clone, Debug, Default)]
pub struct Words {
    /// The protocol's word.
    pub protocol: String,
    given: Vec<(String, String)>,
}

/// Requests of a command line beside its options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish {
    /// To go on.
    Go,
    /// `--help`
    Help,
    /// `--version`
    Version,
}

impl Words {
    /// Take all arguments of a command line, without the program's name.
    ///
    /// # Errors
    /// If it is no option, or not one of the protocol.
    pub fn read(
        arguments: impl IntoIterator<Item = std::ffi::OsString>,
    ) -> Result<(Self, Wish), Wrong> {
        let mut parser = lexopt::Parser::from_args(arguments);
        let mut words = Self::default();
        while let Some(argument) = parser.next().map_err(said)? {
            match argument {
                Short('h') | Long("help") => return Ok((words, Wish::Help)),
                Short('V') | Long("version") => return Ok((words, Wish::Version)),
                Value(word) if words.protocol.is_empty() => words.protocol = text(word)?,
                Value(word) => return Err(format!("{:?}: unexpected argument", text(word)?)),
                Long(name) => {
                    let name = name.to_owned();
                    words.take(&name, &mut parser)?;
                }
                Short(_) => return Err(said(argument.unexpected())),
            }
        }
        words.check()?;
        Ok((words, Wish::Go))
    }

    /// These options, and after them those of a load from a line of its own.
    ///
    /// # Errors
    /// If it is no option of a load.
    pub fn with(&self, line: &str) -> Result<Self, Wrong> {
        let arguments = line.split_whitespace().map(std::ffi::OsString::from);
        let mut parser = lexopt::Parser::from_args(arguments.collect::<Vec<_>>());
        let mut words = self.clone();
        while let Some(argument) = parser.next().map_err(said)? {
            let Long(name) = argument else { return Err(said(argument.unexpected())) };
            let name = name.to_owned();
            let is_once = |shape| matches!(shape, Shape::Once | Shape::OnceFlag);
            if OPTIONS.iter().any(|(known, shape, _)| *known == name && is_once(*shape)) {
                return Err(format!("--{name}: is no option of a load; give it at the start"));
            }
            words.take(&name, &mut parser)?;
        }
        words.check()?;
        Ok(words)
    }

    fn take(&mut self, name: &str, parser: &mut lexopt::Parser) -> Result<(), Wrong> {
        let Some((_, shape, _)) = OPTIONS.iter().find(|(known, ..)| *known == name) else {
            return Err(format!("--{name}: no such option; see leaseload --help"));
        };
        let value = match shape {
            Shape::OnceFlag | Shape::LoadFlag => String::new(),
            Shape::Once | Shape::Load => text(parser.value().map_err(said)?)?,
        };
        self.given.push((name.to_owned(), value));
        Ok(())
    }

    fn check(&self) -> Result<(), Wrong> {
        match self.protocol.as_str() {
            "" => return Err("no protocol; expected dhcp4, dhcp6 or dns".into()),
            word if !ALL.contains(&word) => {
                return Err(format!("{word:?}: expected dhcp4, dhcp6 or dns"));
            }
            _ => {}
        }
        let fits = |name: &str| {
            let known = OPTIONS.iter().find(|(known, ..)| *known == name);
            known.is_some_and(|(.., protocols)| protocols.contains(&self.protocol.as_str()))
        };
        match self.given.iter().find(|(name, _)| !fits(name)) {
            Some((name, _)) => Err(format!("--{name}: does not go with {}", self.protocol)),
            None => Ok(()),
        }
    }

    /// Every value of an option.
    pub fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.given
            .iter()
            .filter(move |(given, _)| given == name)
            .map(|(_, value)| value.as_str())
    }

    /// The value that counts: the last.
    #[must_use]
    pub fn last<'a>(&'a self, name: &'a str) -> Option<&'a str> {
        self.all(name).last()
    }

    /// Whether an option was given.
    #[must_use]
    pub fn flag(&self, name: &str) -> bool {
        self.last(name).is_some()
    }

    /// A number within bounds, or the default.
    ///
    /// # Errors
    /// If it is invalid.
    pub fn number(
        &self,
        name: &str,
        default: f64,
        least: f64,
        most: f64,
    ) -> Result<f64, Wrong> {
        let Some(word) = self.last(name) else { return Ok(default) };
        match f64::from_str(word) {
            Ok(number) if (least..=most).contains(&number) => Ok(number),
            _ => Err(format!(
                "--{name}: found {word:?}, expected a number from {least} to {most}"
            )),
        }
    }

    /// A whole number within bounds, or the default.
    ///
    /// # Errors
    /// If it is invalid.
    pub fn whole(
        &self,
        name: &str,
        default: u64,
        least: u64,
        most: u64,
    ) -> Result<u64, Wrong> {
        let Some(word) = self.last(name) else { return Ok(default) };
        match u64::from_str(word) {
            Ok(number) if (least..=most).contains(&number) => Ok(number),
            _ => Err(format!(
                "--{name}: found {word:?}, expected a whole number from {least} to {most}"
            )),
        }
    }

    /// A time in seconds, in nanoseconds.
    ///
    /// # Errors
    /// If it is invalid.
    pub fn time(&self, name: &str, default_s: f64) -> Result<u64, Wrong> {
        self.number(name, default_s, 0.0, LONGEST_S).map(|s| (s * SECOND as f64) as u64)
    }

    /// Every value of an option, as addresses.
    ///
    /// # Errors
    /// If it is invalid.
    pub fn addresses<T: FromStr>(&self, name: &str, what: &str) -> Result<Vec<T>, Wrong> {
        let read = |word: &str| {
            T::from_str(word).map_err(|_| format!("--{name}: found {word:?}, expected {what}"))
        };
        self.all(name).map(read).collect()
    }
}

#[allow(clippy::needless_pass_by_value)]
fn said(error: lexopt::Error) -> Wrong {
    error.to_string()
}

fn text(word: std::ffi::OsString) -> Result<String, Wrong> {
    word.into_string().map_err(|word| format!("{word:?}: not UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_option_is_in_the_help() {
        let help: Vec<_> = include_str!("help.txt").split_whitespace().collect();
        for (name, ..) in OPTIONS {
            let word = format!("--{name}");
            assert!(help.contains(&word.as_str()), "{word}");
        }
        let known = |word: &str| {
            let name = word.trim_start_matches('-').trim_end_matches([',', ';', '.', ':']);
            OPTIONS.iter().any(|(known, ..)| *known == name)
        };
        let unknown = help.iter().find(|word| word.starts_with("--") && !known(word));
        assert_eq!(unknown, None);
    }
}
