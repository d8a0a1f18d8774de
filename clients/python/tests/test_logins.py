"""Stored logins, without an identity provider. provider.py logs in at one."""

import json
import stat
import sys
import time
import types

import pytest

import raygate
from raygate import config, logins, oidc, tokens

GATEWAY = "ray.example.com"


def login(**more):
    return logins.Login(**{"issuer": "https://login.example.com", "client_id": "raygate", "id_token": "secret-id", "refresh_token": "secret-renew", "expiry": time.time() + 3600, **more})


@pytest.fixture
def file(tmp_path, monkeypatch):
    path = tmp_path / "folder" / "login.json"
    monkeypatch.setenv(logins.FILE, str(path))
    for name in ("SERVER", "GRPC", "URL", "TOKEN", "TOKEN_FILE", "TOKEN_STORE"):
        monkeypatch.delenv(f"RAYGATE_{name}", raising=False)
    return path


def test_file_is_private_and_keeps_other_logins(file):
    store = logins.Store(file)
    assert store.load(GATEWAY) is None
    store.save(GATEWAY, login())
    store.save("other", login(client_id="other", client_secret="secret-client"))
    assert store.load("other").client_secret == "secret-client" and "secret" not in repr(store.load("other"))
    assert stat.S_IMODE(file.stat().st_mode) == 0o600 and stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    store.save("other", None)
    assert store.load("other") is None and store.current(GATEWAY).id_token == "secret-id"
    assert "secret" not in repr(store.load(GATEWAY))
    assert [path.name for path in file.parent.iterdir()] == ["login.json"]


def test_client_uses_the_login_at_its_gateway_alone(file, tmp_path):
    logins.Store(file).save(GATEWAY, login())
    (tmp_path / "token").write_text("of-a-file")
    env = {logins.FILE: str(file)}
    assert config.from_environment(env, grpc=GATEWAY).token() == "secret-id"
    assert config.from_environment({**env, "RAYGATE_SERVER": GATEWAY}).token() == "secret-id"
    assert config.from_environment(env, rest=GATEWAY).token() == "secret-id"
    for other in (GATEWAY + ":1", "other"):
        assert config.from_environment(env, grpc=other).token is None
    assert config.from_environment(env, grpc="other", rest=GATEWAY).token is None
    assert config.from_environment(env, grpc=GATEWAY, token="given").token == "given"
    assert config.from_environment(env, grpc=GATEWAY, token=None).token is None
    assert config.from_environment({**env, "RAYGATE_TOKEN": "t"}, grpc=GATEWAY).token == "t"
    assert config.from_environment({**env, "RAYGATE_TOKEN_FILE": str(tmp_path / "token")}, grpc=GATEWAY).token() == "of-a-file"
    kube = {"current-context": "c", "contexts": [{"name": "c", "context": {"user": "u"}}], "users": [{"name": "u", "user": {"token": "of-kubeconfig"}}]}
    (tmp_path / "kubeconfig").write_text(json.dumps(kube))
    assert config.from_kubeconfig(tmp_path / "kubeconfig", grpc=GATEWAY).token() == "of-kubeconfig"


def test_token_of_a_login_does_not_travel_in_the_clear(file):
    logins.Store(file).save("http://ray.example.com", login())
    with pytest.raises(raygate.RaygateError, match="in the clear"):
        raygate.Client(grpc="http://ray.example.com")


def test_folder_is_the_one_of_the_command_line(monkeypatch):
    monkeypatch.setattr(sys, "platform", "linux")
    assert str(logins._configuration({"HOME": "/home/ada"})) == "/home/ada/.config"
    assert str(logins._configuration({"HOME": "/home/ada", "XDG_CONFIG_HOME": "/etc/ada"})) == "/etc/ada"
    assert logins.store({}) is None and logins.token_source(GATEWAY, {}) is None
    monkeypatch.setattr(sys, "platform", "darwin")
    assert str(logins._configuration({"HOME": "/home/ada"})) == "/home/ada/Library/Application Support"


def test_time_of_the_command_line_is_read(file):
    file.parent.mkdir()
    file.write_text(json.dumps({GATEWAY: {"issuer": "i", "clientID": "c", "idToken": "t", "expiry": "2027-01-01T01:00:00+01:00"}}))
    assert logins.Store(file).load(GATEWAY).expiry == 1798761600


@pytest.mark.parametrize("text", ["{secret", "[]", '{"ray.example.com": {"expiry": "secret"}}', '{"ray.example.com": "secret"}'])
def test_broken_file_does_not_leak(file, text):
    file.parent.mkdir()
    file.write_text(text)
    with pytest.raises(raygate.RaygateError, match="log in again") as failed:
        config.from_environment(grpc=GATEWAY)
    assert "secret" not in str(failed.value) and str(file) in str(failed.value)


def test_ended_login(file):
    store = logins.Store(file)
    store.save(GATEWAY, login(expiry=time.time(), refresh_token=""))
    with pytest.raises(tokens.TokenError, match="raygate.login"):
        store.current(GATEWAY)


def test_renewal_of_another_process_is_used(file, monkeypatch):
    store = logins.Store(file)
    store.save(GATEWAY, login(expiry=time.time()))

    class Raced(oidc.Provider):
        def _discover(self):
            store.save(GATEWAY, login(id_token="of-the-other"))
            raise tokens.TokenError("used already")

    monkeypatch.setattr(oidc, "Provider", Raced)
    assert store.current(GATEWAY).id_token == "of-the-other"


def test_first_login_needs_the_provider(file):
    with pytest.raises(raygate.RaygateError, match="first login"):
        raygate.login(GATEWAY)
    with pytest.raises(raygate.RaygateError, match="no address"):
        raygate.logout()


@pytest.fixture
def keyring(monkeypatch):
    """A keyring in place of the package, which the tests do not have."""
    errors = types.ModuleType("keyring.errors")
    errors.KeyringError = type("KeyringError", (Exception,), {})
    module = types.ModuleType("keyring")
    module.errors, module.kept, module.broken = errors, {}, False

    def check():
        if module.broken:
            raise errors.KeyringError("secret")

    def set_password(service, name, value):
        check()
        module.kept[service, name] = value

    def get_password(service, name):
        check()
        return module.kept.get((service, name))

    def delete_password(service, name):
        check()
        del module.kept[service, name]

    module.set_password, module.get_password, module.delete_password = set_password, get_password, delete_password
    monkeypatch.setitem(sys.modules, "keyring", module)
    monkeypatch.setitem(sys.modules, "keyring.errors", errors)
    return module


def test_tokens_in_the_keyring_are_not_in_the_file(file, keyring):
    store = logins.Store(file)
    logins._save(store, GATEWAY, login(), "keyring")
    assert "secret" not in file.read_text() and len(keyring.kept) == 1
    assert config.from_environment(grpc=GATEWAY).token() == "secret-id"
    [entry] = keyring.kept
    keyring.kept[entry] = "go-keyring-base64:eyJpZFRva2VuIjoiYnktZ28ifQ=="
    assert store.current(GATEWAY).id_token == "by-go"
    keyring.broken = True
    with pytest.raises(logins.KeyringError) as failed:
        store.current(GATEWAY)
    assert "secret" not in str(failed.value)
    with pytest.raises(logins.KeyringError):
        raygate.logout(GATEWAY)
    keyring.broken = False
    assert store.current(GATEWAY).id_token == "by-go"
    logins._save(store, GATEWAY, login(), "keyring")
    [entry] = keyring.kept
    raygate.logout(GATEWAY)
    assert not keyring.kept and store.load(GATEWAY) is None
    logins._save(store, GATEWAY, login(), "keyring")
    keyring.kept.clear()
    raygate.logout(GATEWAY)  # of an entry that somebody else has deleted
    logins._save(store, GATEWAY, login(), "keyring")
    logins._save(store, GATEWAY, login(), "file")
    assert not keyring.kept and store.load(GATEWAY).id_token == "secret-id"


def test_choice_of_the_token_store(file, keyring, monkeypatch):
    store = logins.Store(file)
    keyring.broken = True
    logins._save(store, GATEWAY, login(), "auto")
    assert store.load(GATEWAY).id_token == "secret-id"
    with pytest.raises(logins.KeyringError):
        logins._save(store, GATEWAY, login(), "keyring")
    with pytest.raises(raygate.RaygateError, match="no place for tokens"):
        logins._save(store, GATEWAY, login(), "nowhere")
    monkeypatch.setitem(sys.modules, "keyring", None)
    with pytest.raises(logins.KeyringError, match="pip install"):
        logins._save(store, GATEWAY, login(), "keyring")
