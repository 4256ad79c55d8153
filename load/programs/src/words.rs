//! Options as they were given, and which there are.

use std::fmt::Display;
use std::str::FromStr;

use leaseload_net::clock::SECOND;
use lexopt::prelude::*;
use serde::Deserialize;
use serde::de::IntoDeserializer;
use serde::de::value::{Error as Unknown, StrDeserializer};

use crate::table::{ALL, Table};

/// An error of the command line: what is wrong, and what is wanted.
pub type Wrong = String;

/// The longest time that can be set (s).
pub const LONGEST_S: f64 = 7.0 * 86_400.0;

/// Options as they were given, in their order.
#[derive(Clone, Debug)]
pub struct Words {
    pub protocol: String,
    given: Vec<(String, String)>,
    table: &'static Table,
}

impl Words {
    /// Take all arguments of a program's command line, without its name; None if help, a manual
    /// page or the version was requested and printed.
    pub fn read(
        table: &'static Table,
        arguments: impl IntoIterator<Item = std::ffi::OsString>,
    ) -> Result<Option<Self>, Wrong> {
        let mut parser = lexopt::Parser::from_args(arguments);
        let mut words = Self { protocol: String::new(), given: Vec::new(), table };
        while let Some(argument) = parser.next().map_err(said)? {
            let printed = match argument {
                Short('h') | Long("help") => table.help(),
                Long("man") => table.page(),
                Short('V') | Long("version") => {
                    format!("{} {}\n", table.program, env!("CARGO_PKG_VERSION"))
                }
                Value(word) if words.protocol.is_empty() => {
                    words.protocol = text(word)?;
                    continue;
                }
                Value(word) => return Err(format!("{:?}: unexpected argument", text(word)?)),
                Long(name) => {
                    let name = name.to_owned();
                    words.take(&name, &mut parser)?;
                    continue;
                }
                Short(_) => return Err(said(argument.unexpected())),
            };
            print!("{printed}");
            return Ok(None);
        }
        words.check()?;
        Ok(Some(words))
    }

    /// These options, and after them those of a load from a line of its own.
    pub fn with(&self, line: &str) -> Result<Self, Wrong> {
        let arguments = line.split_whitespace().map(std::ffi::OsString::from);
        let mut parser = lexopt::Parser::from_args(arguments.collect::<Vec<_>>());
        let mut words = self.clone();
        while let Some(argument) = parser.next().map_err(said)? {
            let Long(name) = argument else { return Err(said(argument.unexpected())) };
            let name = name.to_owned();
            if self.table.find(&name).is_some_and(|known| !known.is_of_load) {
                return Err(format!("--{name}: is no option of a load; give it at the start"));
            }
            words.take(&name, &mut parser)?;
        }
        words.check()?;
        Ok(words)
    }

    fn take(&mut self, name: &str, parser: &mut lexopt::Parser) -> Result<(), Wrong> {
        let Some(known) = self.table.find(name) else {
            return Err(format!(
                "--{name}: no such option; see {} --help",
                self.table.program
            ));
        };
        let value = match known.has_value {
            true => text(parser.value().map_err(said)?)?,
            false => String::new(),
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
            let known = self.table.find(name);
            known.is_some_and(|known| known.protocols.contains(&self.protocol.as_str()))
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
    pub fn last<'a>(&'a self, name: &'a str) -> Option<&'a str> {
        self.all(name).last()
    }

    /// Whether an option was given.
    pub fn flag(&self, name: &str) -> bool {
        self.last(name).is_some()
    }

    /// A number within bounds; None where the option was not given.
    pub fn within<T>(&self, name: &str, least: T, most: T) -> Result<Option<T>, Wrong>
    where
        T: FromStr + PartialOrd + Display,
    {
        self.last(name).map(|word| within(name, word, least, most)).transpose()
    }

    /// A number within bounds, or the default.
    pub fn number<T>(&self, name: &str, default: T, least: T, most: T) -> Result<T, Wrong>
    where
        T: FromStr + PartialOrd + Display,
    {
        Ok(self.within(name, least, most)?.unwrap_or(default))
    }

    /// A time in seconds, in nanoseconds.
    pub fn time(&self, name: &str, default_s: f64) -> Result<u64, Wrong> {
        self.number(name, default_s, 0.0, LONGEST_S).map(|s| (s * SECOND as f64) as u64)
    }

    /// One of the words of a type; its default where the option was not given.
    pub fn choice<'a, T>(&'a self, name: &'a str) -> Result<T, Wrong>
    where
        T: Deserialize<'a> + Default,
    {
        self.last(name).map_or(Ok(T::default()), |word| known(name, word))
    }

    /// Every value of an option, as addresses.
    pub fn addresses<T: FromStr>(&self, name: &str, what: &str) -> Result<Vec<T>, Wrong> {
        let read = |word: &str| {
            T::from_str(word).map_err(|_| format!("--{name}: found {word:?}, expected {what}"))
        };
        self.all(name).map(read).collect()
    }
}

fn said(error: lexopt::Error) -> Wrong {
    error.to_string()
}

fn text(word: std::ffi::OsString) -> Result<String, Wrong> {
    word.into_string().map_err(|word| format!("{word:?}: not UTF-8"))
}

/// One of the words of a type, in the value of an option.
pub fn known<'a, T: Deserialize<'a>>(name: &str, word: &'a str) -> Result<T, Wrong> {
    let word: StrDeserializer<'_, Unknown> = word.into_deserializer();
    T::deserialize(word).map_err(|error| format!("--{name}: {error}"))
}

/// A number of an option, within bounds.
pub fn within<T>(name: &str, word: &str, least: T, most: T) -> Result<T, Wrong>
where
    T: FromStr + PartialOrd + Display,
{
    let number = word.parse().ok().filter(|number| (&least..=&most).contains(&number));
    number.ok_or_else(|| {
        format!("--{name}: found {word:?}, expected a number from {least} to {most}")
    })
}
