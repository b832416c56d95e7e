"""Tests greeter.mjs over `hookswitch test-server`, with the standard library alone."""

import json
import os
import subprocess
import unittest
import urllib.request


class Pbx:
    """A simulated telephone system, and the application that it calls."""

    def __init__(self):
        command = ["npx", "--no-install", "hookswitch", "test-server"]
        self.server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.tests = json.loads(self.server.stdout.readline())
        self.pbx = self.ask("POST", "/servers", {"app": "hello"})
        names = ("url", "username", "password")
        access = {f"HOOKSWITCH_{name.upper()}": self.pbx[name] for name in names}
        self.program = subprocess.Popen(["node", "greeter.mjs"], env={**os.environ, **access})

    def ask(self, method, path, body=None):
        request = urllib.request.Request(
            self.tests["url"] + path,
            json.dumps(body or {}).encode(),
            {"authorization": "Bearer " + self.tests["token"]},
            method=method,
        )
        with urllib.request.urlopen(request) as answer:
            text = answer.read()
        return json.loads(text) if text else None

    def do(self, operation, **parameters):
        return self.ask("POST", f"/servers/{self.pbx['id']}/{operation}", parameters)

    def connected(self):
        """Waits until an application has connected."""
        self.do("connected")

    def close(self):
        self.program.kill()
        self.program.wait()
        self.server.stdin.close()
        self.server.stdout.close()
        self.server.wait()


class Greeter(unittest.TestCase):
    def test_callers_are_greeted(self):
        pbx = Pbx()
        try:
            pbx.connected()
            pbx.do("phones/alice/call", extension="100")
            pbx.do("phones/alice/hears", sound="hello-world")
            pbx.do("phones/alice/press", digits="1#")
            pbx.do("phones/alice/hungUp")
            pbx.do("idle")
        finally:
            pbx.close()


if __name__ == "__main__":
    unittest.main()
