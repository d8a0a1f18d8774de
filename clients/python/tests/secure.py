"""Calls a gateway by TLS as somebody who may get clusters and nothing else. test/e2e starts one, whose cluster $RAYGATE_SECURE is, and runs this file."""

import os

import pytest
from conftest import addresses, head

import raygate


def test_rights_are_those_of_the_token(client):
    assert client.clusters.get(os.environ["RAYGATE_SECURE"]).name == os.environ["RAYGATE_SECURE"]
    with pytest.raises(raygate.ForbiddenError) as failed:
        client.clusters.create({"metadata": {"name": "not-mine"}, "spec": head()})
    assert failed.value.http_status in (None, 403)


@pytest.mark.parametrize("transport", ["grpc", "rest"])
def test_wrong_token_and_unknown_authority(transport):
    with raygate.Client(**addresses(transport), token="wrong") as client, pytest.raises(raygate.UnauthenticatedError):
        client.clusters.list()
    with raygate.Client(**addresses(transport), certificate_authority=None, retries=0) as client, pytest.raises(raygate.UnavailableError):
        client.clusters.list()
