"""Tests greeter.ts over `hookswitch test-server`."""


def test_callers_are_greeted(pbx):
    pbx.do("phones/alice/call", extension="100")
    pbx.do("phones/alice/hears", sound="hello-world")
    pbx.do("phones/alice/press", digits="1#")
    pbx.do("phones/alice/hungUp")
    pbx.do("idle")


def test_a_caller_may_hang_up_during_the_greeting(pbx):
    pbx.do("phones/alice/call", extension="100")
    pbx.do("phones/alice/hears", sound="hello-world", begins=True)
    pbx.do("phones/alice/hangup")
    pbx.do("idle")
