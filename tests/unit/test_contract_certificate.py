"""The certificate that a contract makes for a server that is asked over TLS."""

import ssl

import pytest
from tests.contracts import contract_fixture

certificate = contract_fixture("contract", "leaselab_contract.certificate")


def test_key_and_certificate_belong_together_and_are_made_for_each_start(certificate, tmp_path):
    file = tmp_path / "tls.pem"
    made = []
    for _ in range(2):
        certificate.make({"tls_file": str(file)})
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(file)
        made.append(file.read_text(encoding="ascii"))
    assert made[0] != made[1]
    assert file.stat().st_mode & 0o777 == 0o600


def test_only_a_server_that_is_asked_over_tls_needs_openssl(certificate, monkeypatch, tmp_path):
    """A host that lacks it is to blame."""
    monkeypatch.setitem(certificate.program.ENVIRONMENT, "PATH", "/nowhere")
    for settings in ({}, {"tls_file": None}):
        certificate.make(settings)
    with pytest.raises(certificate.LabError, match="openssl is missing"):
        certificate.make({"tls_file": str(tmp_path / "tls.pem")})
