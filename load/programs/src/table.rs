//! The options of a program: one table gives its help, its manual page, and what it takes.

use std::fmt::Write;

/// Length of a line of the help.
const WIDTH: usize = 95;
/// Where the text of an option begins.
const TEXT: usize = 25;

/// Protocols that options go with.
pub type Protocols = &'static [&'static str];
/// DHCPv4 alone.
pub const DHCP4: Protocols = &["dhcp4"];
/// DHCPv6 alone.
pub const DHCP6: Protocols = &["dhcp6"];
/// Those of leases.
pub const DHCP: Protocols = &["dhcp4", "dhcp6"];
/// DNS alone.
pub const DNS: Protocols = &["dns"];
/// Every one.
pub const ALL: Protocols = &["dhcp4", "dhcp6", "dns"];

/// A row of the table.
#[derive(Clone, Copy, Debug)]
pub enum Row {
    /// What the options below it are about.
    Heading(&'static str),
    Text(&'static str),
    /// An option of the process as a whole: protocols, name and perhaps its value, and text.
    Once(Protocols, &'static str, &'static str),
    /// The same of a load, of which there may be several.
    Load(Protocols, &'static str, &'static str),
}

/// An option.
#[derive(Clone, Copy, Debug)]
pub struct Known {
    pub protocols: Protocols,
    pub has_value: bool,
    pub is_of_load: bool,
}

/// A program.
#[derive(Debug)]
pub struct Table {
    pub program: &'static str,
    pub purpose: &'static str,
    /// Its command lines, without its name.
    pub usage: &'static [&'static str],
    /// Paragraphs, and options with their headings.
    pub rows: &'static [Row],
}

impl Table {
    /// An option by its name.
    pub fn find(&self, name: &str) -> Option<Known> {
        self.rows.iter().find_map(|row| match *row {
            Row::Once(protocols, head, _) | Row::Load(protocols, head, _) => {
                let (known, value) = head.split_once(' ').unwrap_or((head, ""));
                let is_of_load = matches!(row, Row::Load(..));
                let option = Known { protocols, has_value: !value.is_empty(), is_of_load };
                (known == name).then_some(option)
            }
            _ => None,
        })
    }

    fn usages(&self) -> impl Iterator<Item = String> {
        let all = self.usage.iter().chain(&["--help | --man | --version"]);
        all.map(|usage| format!("{} {usage}", self.program))
    }

    /// The output of `--help`.
    pub fn help(&self) -> String {
        let mut help = format!("{} - {}\n\n", self.program, self.purpose);
        self.usages().for_each(|usage| help += &format!("  {usage}\n"));
        for row in self.rows {
            match row {
                Row::Heading(heading) => help += &format!("\n{heading}\n"),
                Row::Text(text) => help += &format!("\n{}\n", wrapped(text, 0)),
                Row::Once(_, head, text) | Row::Load(_, head, text) => {
                    let head = format!("  --{head}");
                    help += &format!("{head:TEXT$}{}\n", wrapped(text, TEXT));
                }
            }
        }
        help
    }

    /// The output of `--man`: a page of section 1 in the language of man(7).
    pub fn page(&self) -> String {
        let mut page = format!(".TH {} 1\n.SH NAME\n", self.program.to_uppercase());
        page += &format!("{} \\- {}\n.SH SYNOPSIS\n", self.program, escaped(self.purpose));
        self.usages().for_each(|usage| page += &format!("{}\n.br\n", escaped(&usage)));
        page += ".SH DESCRIPTION\n";
        for row in self.rows {
            match row {
                Row::Heading(heading) => {
                    writeln!(page, ".SH {}", escaped(&heading.to_uppercase()))
                }
                Row::Text(text) => writeln!(page, ".PP\n{}", escaped(text)),
                Row::Once(_, head, text) | Row::Load(_, head, text) => {
                    writeln!(page, ".TP\n.B \\-\\-{}\n{}", escaped(head), escaped(text))
                }
            }
            .unwrap_or_default();
        }
        page
    }
}

/// Lines behind an indentation, which the first has already.
fn wrapped(text: &str, indentation: usize) -> String {
    let (mut out, mut length) = (String::new(), indentation);
    for word in text.split_whitespace() {
        if length == indentation {
        } else if length + 1 + word.chars().count() > WIDTH {
            out += &format!("\n{:indentation$}", "");
            length = indentation;
        } else {
            out.push(' ');
            length += 1;
        }
        out += word;
        length += word.chars().count();
    }
    out
}

/// A line of a page.
fn escaped(text: &str) -> String {
    let words: Vec<_> = text.split_whitespace().collect();
    let text = words.join(" ").replace('\\', "\\e").replace('-', "\\-");
    if text.starts_with(['.', '\'']) { format!("\\&{text}") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{generator, responder};

    #[test]
    fn what_texts_name_is_an_option_and_has_its_place_in_help_and_page() {
        for table in [&generator::options::TABLE, &responder::options::TABLE] {
            let (help, page) = (table.help(), table.page());
            let mut names = Vec::new();
            for word in help.split_whitespace().filter_map(|word| word.strip_prefix("--")) {
                let name = word.trim_end_matches([',', ';', '.', ':']);
                assert!(
                    table.find(name).is_some() || ["help", "man", "version"].contains(&name),
                    "{name}"
                );
                names.push(name);
            }
            for name in names {
                let head = format!("\\-\\-{}", name.replace('-', "\\-"));
                assert!(page.contains(&head), "{head}");
            }
            assert!(help.lines().all(|line| line.chars().count() <= WIDTH), "{help}");
            let is_plain = |line: &str| !line.starts_with('.') || line.is_ascii();
            assert!(page.lines().all(is_plain) && !page.replace("\\-", "").contains('-'));
        }
        let rows = &[Row::Text(".a  -\n \\b"), Row::Once(ALL, "x N", "'y")];
        let table = Table { program: "p", purpose: "q", usage: &[], rows };
        assert!(table.page().ends_with("\\&.a \\- \\eb\n.TP\n.B \\-\\-x N\n\\&'y\n"));
        assert!(table.help().ends_with(&format!("\n.a - \\b\n  --x N{:18}'y\n", "")));
    }
}
