//! `leaseload`: offers a load to a DHCP or DNS server, and reports its outcome.

fn main() {
    std::process::exit(leaseload::generator::run(std::env::args_os().skip(1)));
}
