"""Logs in at an identity provider, $RAYGATE_TEST_ISSUER, whose login page asks nothing. The tests of cmd/raygate/internal/login start one and run this file."""

import json
import os
import stat
import threading
import time

import httpx
import pytest

import raygate
from raygate import logins, tokens

GATEWAY = "ray.example.com"
ISSUER = os.environ["RAYGATE_TEST_ISSUER"]
FILE = os.environ["RAYGATE_LOGIN_FILE"]
OF_THE_COMMAND_LINE = "of-the-command-line"


def browser(change=lambda url: url):
    """A function that opens a page as a browser does, after changing its address."""

    def show(url, code):
        assert not code
        threading.Thread(target=lambda: httpx.get(change(url), follow_redirects=True)).start()

    return show


def entry(server=GATEWAY):
    with open(FILE) as file:
        return json.load(file).get(server)


def end(server):
    """Make the token of a login end."""
    store = logins.Store(FILE)
    store.save(server, logins.replace(store.load(server), expiry=time.time()))


def test_browser_renewal_and_logout():
    assert raygate.login(GATEWAY, issuer_url=ISSUER, client_id="raygate", show=browser()) == "ada@example.com"
    assert stat.S_IMODE(os.stat(FILE).st_mode) == 0o600
    token = raygate.from_environment(grpc=GATEWAY).token
    first = token()
    assert first == entry()["idToken"] and first.count(".") == 2
    for _ in range(2):  # each renewal brings the token for the next
        end(GATEWAY)
        assert token().count(".") == 2 and logins.Store(FILE).load(GATEWAY).expiry > time.time() + 60
    raygate.logout(GATEWAY)
    assert entry() is None and token() == ""


@pytest.mark.parametrize(
    ("change", "want"),
    [
        (lambda url: url.replace("code_challenge=", "code_challenge=x"), "invalid_grant"),
        (lambda url: url.replace("nonce=", "nonce=x"), "another login"),
        (lambda url: url.replace("state=", "state=x"), "nobody logged in"),
    ],
)
def test_answers_to_other_logins_are_refused(change, want):
    with pytest.raises(tokens.TokenError, match=want):
        raygate.login(GATEWAY, issuer_url=ISSUER, client_id="raygate", show=browser(change), timeout=2)
    assert entry() is None


def test_device():
    def show(url, code):
        assert code == "ABCD"
        httpx.get(url).raise_for_status()

    assert raygate.login(GATEWAY, issuer_url=ISSUER, client_id="raygate", device=True, show=show) == "ada@example.com"
    assert raygate.login(GATEWAY, device=True, show=show) == "ada@example.com"  # the provider is known
    raygate.logout(GATEWAY)


def test_refused_renewal_does_not_leak():
    store = logins.Store(FILE)
    store.save(GATEWAY, logins.Login(ISSUER, "raygate", refresh_token="secret"))
    with pytest.raises(tokens.TokenError, match="renewing the login") as failed:
        store.current(GATEWAY)
    assert "secret" not in str(failed.value)
    raygate.logout(GATEWAY)


def test_login_of_the_command_line_is_renewed():
    before = entry(OF_THE_COMMAND_LINE)
    assert raygate.from_environment(grpc=OF_THE_COMMAND_LINE).token() == before["idToken"]
    end(OF_THE_COMMAND_LINE)
    raygate.from_environment(grpc=OF_THE_COMMAND_LINE).token()
    assert entry(OF_THE_COMMAND_LINE)["refreshToken"] != before["refreshToken"]


def test_another_issuer():
    with pytest.raises(tokens.TokenError, match="does not call itself"):
        raygate.login(GATEWAY, issuer_url=ISSUER + "/", client_id="raygate", show=browser())
