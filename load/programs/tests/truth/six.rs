//! DHCPv6: clients on the link by multicast, as no relay can be made up on loopback.

use crate::bench::count;
use crate::broadcast::{Cable, is_complete};

#[test]
fn clients_multicast_for_addresses_prefixes_or_both() {
    let cable = Cable::new();
    let _responder = cable.responder("dhcp6", "--lease-time 4,1,2");
    for want in ["address", "prefix", "both"] {
        let load = format!("--rate 300 --seconds 1 --want {want}");
        is_complete(&cable.offered("dhcp6", &load), 300);
    }
    let load =
        "--clients 150 --fill --rate 300 --seconds 1 --mix renew=3,rebind=1,reboot=1,rapid=1";
    let report = cable.offered("dhcp6", load);
    is_complete(&report, 300);
    assert!(count(&report, "/counts/completed") > 0, "{report}");
    let report = cable.offered("dhcp6", "--clients 100 --fill --lease-clock --seconds 2");
    // Each once a second; where the load began a moment after the filling, some once more.
    assert!((180..=250).contains(&count(&report, "/kinds/renew/completed")), "{report}");
}
