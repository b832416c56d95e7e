"""Calls a WHIP address by GStreamer's webrtcbin, says 700 Hz, and tells once that it hears it.

Arguments: the address and a token.
"""
import math
import struct
import sys
import urllib.request

import gi

gi.require_version("Gst", "1.0")
gi.require_version("GstWebRTC", "1.0")
gi.require_version("GstSdp", "1.0")
from gi.repository import GLib, Gst, GstSdp, GstWebRTC  # noqa: E402

Gst.init(None)
address, token = sys.argv[1:]
said, other = 700, 1100
rate, block = 8000, 4000
sending = (
    f"audiotestsrc is-live=true freq={said} volume=0.5 ! audioconvert ! audioresample"
    " ! audio/x-raw,rate=48000,channels=2 ! opusenc ! rtpopuspay pt=96"
    " ! application/x-rtp,media=audio,encoding-name=OPUS,payload=96,clock-rate=48000,encoding-params=(string)2"
    " ! webrtcbin name=webrtc bundle-policy=max-bundle"
)
hearing = (
    "rtpopusdepay ! opusdec ! audioconvert ! audioresample"
    f" ! audio/x-raw,format=S16LE,rate={rate},channels=1 ! appsink name=ear emit-signals=true sync=false"
)
pipeline = Gst.parse_launch(sending)
webrtc = pipeline.get_by_name("webrtc")
loop = GLib.MainLoop()
heard = []
# GStreamer frees what Python no longer refers to.
kept = []


def amplitude(samples, hertz):
    turn = 2 * math.cos(2 * math.pi * hertz / rate)
    last = before = 0.0
    for sample in samples:
        last, before = sample + turn * last - before, last
    return 2 * math.sqrt(max(0.0, last * last + before * before - turn * last * before)) / len(samples)


def hear(sink):
    buffer = sink.emit("pull-sample").get_buffer()
    _, octets = buffer.map(Gst.MapFlags.READ)
    heard.extend(struct.unpack(f"<{octets.size // 2}h", octets.data))
    buffer.unmap(octets)
    while len(heard) >= block:
        levels = [amplitude(heard[:block], hertz) for hertz in (said, other)]
        del heard[:block]
        if levels[0] > 2000 and levels[1] < 200:
            print("webrtcbin hears itself", flush=True)
            loop.quit()
    return Gst.FlowReturn.OK


def receive(_, pad):
    if pad.direction != Gst.PadDirection.SRC:
        return
    ears = Gst.parse_bin_from_description(hearing, True)
    ears.get_by_name("ear").connect("new-sample", hear)
    pipeline.add(ears)
    ears.sync_state_with_parent()
    pad.link(ears.get_static_pad("sink"))
    pipeline.recalculate_latency()


def offered(promise, *_):
    promise.wait()
    reply = promise.get_reply()
    offer = reply.get_value("offer")
    kept.extend((promise, reply, offer))
    webrtc.emit("set-local-description", offer, None)


def call():
    offer = webrtc.get_property("local-description").sdp.as_text()
    headers = {"content-type": "application/sdp", "authorization": f"Bearer {token}"}
    with urllib.request.urlopen(urllib.request.Request(address, offer.encode(), headers)) as response:
        _, answer = GstSdp.SDPMessage.new_from_text(response.read().decode())
    described = GstWebRTC.WebRTCSessionDescription.new(GstWebRTC.WebRTCSDPType.ANSWER, answer)
    webrtc.emit("set-remote-description", described, None)


def gathered(*_):
    if webrtc.get_property("ice-gathering-state") == GstWebRTC.WebRTCICEGatheringState.COMPLETE:
        GLib.idle_add(call)


def negotiate(_):
    webrtc.emit("create-offer", None, Gst.Promise.new_with_change_func(offered, None, None))


webrtc.connect("pad-added", receive)
webrtc.connect("on-negotiation-needed", negotiate)
webrtc.connect("notify::ice-gathering-state", gathered)
pipeline.set_state(Gst.State.PLAYING)
loop.run()
pipeline.set_state(Gst.State.NULL)
