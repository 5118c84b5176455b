"""Claude at Amazon Bedrock and Google Vertex with the clouds' own credentials: the program before a local server."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from prunecli.config.credentials import connection_for, lacks_key, provider_for
from prunecli.config.sources import load
from prunecli.providers.cloud_wire import check_library
from prunecli.util.errors import ConfigError
from prunecli.util.paths import Places
from tests.serving import EVENTS, Answer, Served, as_json, serving

SECRET, REGION = "aws-secret-0123456789", "eu-west-1"
EVENTS_OF = (
    {"type": "message_start", "message": {
        "id": "m", "type": "message", "role": "assistant", "content": [], "model": "claude-sonnet-5",
        "usage": {"input_tokens": 5, "output_tokens": 1},
    }},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hello from a cloud."}},
    {"type": "content_block_stop", "index": 0},
    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 4}},
    {"type": "message_stop"},
)  # fmt: skip
BODY = "".join(f"event: {one['type']}\ndata: {json.dumps(one)}\n\n" for one in EVENTS_OF).encode()


def answer(method: str, path: str, body: bytes) -> Answer:
    """A token for who asks for one, and a short reply."""
    if path == "/token":
        return as_json({"access_token": "ya29.renewed", "expires_in": 3600, "token_type": "Bearer"})
    return 200, EVENTS, BODY


def said(
    folder: Path, endpoint: str, address: str, model: str, **environ: str
) -> subprocess.CompletedProcess[str]:
    """What the program says to "hi" there."""
    sets = ("--set", f"model.endpoint={endpoint}", "--set", f"model.base_url={address}")
    plain = {
        "HOME": str(folder), "PATH": os.environ["PATH"], "AWS_EC2_METADATA_DISABLED": "true", "NO_GCE_CHECK": "true",
    }  # fmt: skip
    return subprocess.run(
        [sys.executable, "-m", "prunecli", "-p", "hi", "--model", model, *sets],
        env={**plain, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), **environ},
        cwd=folder,
        capture_output=True,
        text=True,
    )


def signature(served: Served, at: int) -> str:
    """The signature that a request should have, by the library of AWS."""
    from botocore.auth import SigV4Auth
    from botocore.awsrequest import AWSRequest
    from botocore.credentials import Credentials

    method, path, body = served.requests[at]
    signed = re.search("SignedHeaders=([^,]+)", served.headers[at]["authorization"])
    assert signed is not None
    headers = {name: served.headers[at][name] for name in signed[1].split(";")}
    request = AWSRequest(method, served.address + path, headers, body)
    request.context["timestamp"] = headers["x-amz-date"]
    auth = SigV4Auth(Credentials("AKIDEXAMPLE", SECRET), "bedrock-mantle", REGION)
    found: str = auth.signature(auth.string_to_sign(request, auth.canonical_request(request)), request)
    return found


def test_a_request_to_bedrock_is_signed_with_the_credentials_of_aws(tmp_path: Path) -> None:
    pytest.importorskip("botocore")
    keys = {"AWS_ACCESS_KEY_ID": "AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_REGION": REGION}
    with serving(answer) as served:
        asked = tmp_path, "bedrock", f"{served.address}/anthropic", "anthropic.claude-sonnet-5"
        done = said(*asked, **keys)
        assert done.stdout == "Hello from a cloud.\n", done.stderr
        assert [path for _, path, _ in served.requests] == ["/anthropic/v1/messages"]
        assert served.headers[0]["authorization"].endswith(f"Signature={signature(served, 0)}")
        assert json.loads(served.requests[0][2])["model"] == "anthropic.claude-sonnet-5"
        again = said(
            tmp_path, "bedrock", f"{served.address}/anthropic", "anthropic.claude-sonnet-5", AWS_REGION=REGION
        )
    assert again.returncode == 1
    assert "Could not resolve AWS credentials" in again.stderr
    assert "AWS_BEARER_TOKEN_BEDROCK" in again.stderr
    assert len(served.requests) == 1


def test_a_request_to_vertex_has_a_renewed_token_and_the_model_in_its_path(tmp_path: Path) -> None:
    pytest.importorskip("google.auth")
    from cryptography.hazmat.primitives import serialization as form
    from cryptography.hazmat.primitives.asymmetric import rsa

    key = rsa.generate_private_key(65537, 2048).private_bytes(
        form.Encoding.PEM, form.PrivateFormat.PKCS8, form.NoEncryption()
    )
    with serving(answer) as served:
        account = {
            "type": "service_account", "client_email": "me@mine.example", "private_key": key.decode(),
            "token_uri": f"{served.address}/token", "project_id": "mine",
        }  # fmt: skip
        file = tmp_path / "account.json"
        file.write_text(json.dumps(account))
        named = {"GOOGLE_APPLICATION_CREDENTIALS": str(file), "ANTHROPIC_VERTEX_PROJECT_ID": "mine"}
        done = said(tmp_path, "vertex", served.address, "claude-sonnet-5", **named)
    assert done.stdout == "Hello from a cloud.\n", done.stderr
    place = "/projects/mine/locations/global/publishers/anthropic/models/claude-sonnet-5:streamRawPredict"
    assert [path for _, path, _ in served.requests] == ["/token", place]
    assert served.headers[1]["authorization"] == "Bearer ya29.renewed"
    sent = json.loads(served.requests[1][2])
    assert ("model" in sent, "anthropic_version" in sent) == (False, True)


def test_a_key_of_bedrock_is_sent_as_before_and_without_one_none_is_missing(tmp_path: Path) -> None:
    def connection(**environ: str) -> Any:
        given = {"HOME": str(tmp_path), "AWS_REGION": REGION, **environ}
        places = Places.of(given)
        config = load(places, tmp_path, given, sets=("model.endpoint=bedrock",))
        made = connection_for("x", config, given, places)[1]
        assert not lacks_key(config, "x", made.credentials)
        return made, provider_for("x", config, given, places)

    made, provider = connection(AWS_BEARER_TOKEN_BEDROCK="bedrock-key-0123456789")
    assert (made.credentials.auth_token, provider._signed) == ("bedrock-key-0123456789", None)
    pytest.importorskip("botocore")
    made, provider = connection()
    assert provider._signed is not None


@pytest.mark.parametrize(("cloud", "extra"), [("aws", "bedrock"), ("google", "vertex")])
def test_a_missing_library_is_named_with_its_extra(cloud: Any, extra: str) -> None:
    with pytest.raises(ConfigError) as raised:
        check_library(cloud, lambda name: None)
    assert f"prunecli[{extra}]" in raised.value.hint
