"""Starts `hookswitch test-server` and the application for pytest, with the standard library alone."""

import json
import os
import subprocess
import urllib.error
import urllib.request

import pytest


class Pbx:
    """A simulated telephone system, and the application that it calls."""

    def __init__(self, tests):
        self.tests = tests
        self.server = self.ask("POST", "/servers", {"app": "hello"})
        names = ("url", "username", "password")
        access = {f"HOOKSWITCH_{name.upper()}": self.server[name] for name in names}
        self.program = subprocess.Popen(["node", "--import", "tsx", "greeter.ts"], env={**os.environ, **access})

    def ask(self, method, path, body=None):
        request = urllib.request.Request(
            self.tests["url"] + path,
            json.dumps(body or {}).encode(),
            {"authorization": "Bearer " + self.tests["token"]},
            method=method,
        )
        try:
            with urllib.request.urlopen(request) as answer:
                text = answer.read()
        except urllib.error.HTTPError as error:
            # What was expected, and what happened instead.
            raise AssertionError(json.loads(error.read())["message"]) from None
        return json.loads(text) if text else None

    def do(self, operation, **parameters):
        return self.ask("POST", f"/servers/{self.server['id']}/{operation}", parameters)

    def close(self):
        self.program.kill()
        self.program.wait()
        self.ask("DELETE", f"/servers/{self.server['id']}")


@pytest.fixture(scope="session")
def tests():
    """The URL and the token of a test server that all tests share."""
    command = ["npx", "--no-install", "hookswitch", "test-server"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield json.loads(process.stdout.readline())
        process.stdin.close()


@pytest.fixture
def pbx(tests):
    """A telephone system with the application connected, new for each test."""
    pbx = Pbx(tests)
    try:
        pbx.do("connected")
        yield pbx
    finally:
        pbx.close()
