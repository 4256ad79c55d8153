"""What dnsmasq's server contract is made of; `server` beside this folder is the contract."""
