//! The manual pages are the help, in the language of man(7).
//!
//! With LEASELOAD_RENEW=1 in its environment this test writes them.

use std::fmt::Write;
use std::path::Path;

/// Where the text of an option begins.
const TEXT: usize = 25;

fn escaped(text: &str) -> String {
    let text = text.replace('\\', "\\e").replace('-', "\\-");
    if text.starts_with(['.', '\'']) { format!("\\&{text}") } else { text }
}

/// A page of section 1 from a help whose first line is the program and its purpose.
fn page(help: &str) -> String {
    let mut lines = help.lines().peekable();
    let (program, what) =
        lines.next().and_then(|line| line.split_once(" - ")).expect("a title");
    let mut page = format!(".TH {} 1\n.SH NAME\n", program.to_uppercase());
    writeln!(page, "{} \\- {}\n.SH SYNOPSIS", escaped(program), escaped(what)).unwrap();
    let mut is_after_gap = false;
    while let Some(line) = lines.next() {
        let (head, text) = line.split_at_checked(TEXT).unwrap_or((line, ""));
        let is_heading = !line.ends_with('.')
            && lines.peek().is_some_and(|next| next.starts_with("  --"))
            && !line.starts_with(' ');
        if line.is_empty() {
            is_after_gap = true;
            continue;
        }
        if is_heading {
            writeln!(page, ".SH {}", escaped(&line.to_uppercase()))
        } else if line.starts_with("  --") {
            writeln!(page, ".TP\n.B {}\n{}", escaped(head.trim()), escaped(text))
        } else if line.starts_with(&" ".repeat(TEXT)) {
            writeln!(page, "{}", escaped(text))
        } else if let Some(usage) = line.strip_prefix("  ") {
            writeln!(page, "{}\n.br", escaped(usage))
        } else {
            let gap = match (is_after_gap, page.contains(".SH DESCRIPTION")) {
                (true, false) => ".SH DESCRIPTION\n",
                (true, true) => ".PP\n",
                _ => "",
            };
            writeln!(page, "{gap}{}", escaped(line))
        }
        .unwrap();
        is_after_gap = false;
    }
    page
}

#[test]
fn manual_pages_are_the_help() {
    for (folder, program) in [("generator", "leaseload"), ("responder", "leaserespond")] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
        let help = std::fs::read_to_string(folder.join("help.txt")).unwrap();
        let path = folder.join(format!("{program}.1"));
        let made = page(&help);
        if std::env::var_os("LEASELOAD_RENEW").is_some() {
            std::fs::write(&path, &made).unwrap();
        }
        let kept = std::fs::read_to_string(&path).unwrap_or_default();
        assert_eq!(kept, made, "{}: run this test with LEASELOAD_RENEW=1", path.display());
        for word in help.split_whitespace().filter(|word| word.starts_with("--")) {
            let word = word.trim_end_matches([',', ';', '.', ':']);
            assert!(made.contains(&escaped(word)), "{word} is not in {program}.1");
        }
    }
}
