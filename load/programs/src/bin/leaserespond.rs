//! `leaserespond`: answers as configured, so that reports of generators can be checked.

fn main() {
    std::process::exit(leaseload::responder::run(std::env::args_os().skip(1)));
}
