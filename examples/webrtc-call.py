"""A WebRTC call of aiortc: `webrtc-call.py listen` at one end, and `webrtc-call.py HOST` at the other.

The caller sends video for 30 s. Each second the listener prints the rate at which its datagrams arrive. Needs
`pip install aiortc numpy`.
"""

from __future__ import annotations

import asyncio
import fractions
import json
import sys

import av
import numpy as np
from aiortc import MediaStreamTrack, RTCConfiguration, RTCPeerConnection, RTCSessionDescription
from aiortc.contrib.media import MediaBlackhole

PORT = 7000
SECONDS = 30
FRAME_RATE = 30


class Blocks(MediaStreamTrack):
    """Blocks of random colours that move, 640 by 480."""

    kind = "video"

    def __init__(self) -> None:
        super().__init__()
        self.number = 0
        self.begun: float | None = None
        small = np.random.default_rng(1).integers(0, 255, (60, 80, 3), dtype=np.uint8)
        self.picture = np.kron(small, np.ones((8, 8, 1), dtype=np.uint8))

    async def recv(self) -> av.VideoFrame:
        """The next frame, at its time."""
        now = asyncio.get_running_loop().time()
        self.begun = now if self.begun is None else self.begun
        await asyncio.sleep(max(0.0, self.begun + self.number / FRAME_RATE - now))
        frame = av.VideoFrame.from_ndarray(np.roll(self.picture, 5 * self.number, axis=1), format="rgb24")
        frame.pts, frame.time_base = self.number, fractions.Fraction(1, FRAME_RATE)
        self.number += 1
        return frame


def connection() -> RTCPeerConnection:
    """One without servers: both ends are on the path."""
    return RTCPeerConnection(RTCConfiguration(iceServers=[]))


async def take(reader: asyncio.StreamReader) -> RTCSessionDescription:
    """The description of the other end."""
    return RTCSessionDescription(**json.loads(await reader.readline()))


def hand_over(writer: asyncio.StreamWriter, own: RTCSessionDescription) -> None:
    """Sends the description of this end."""
    writer.write(json.dumps({"sdp": own.sdp, "type": own.type}).encode() + b"\n")


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Takes the call, and prints its rate each second."""
    peer = connection()
    sink = MediaBlackhole()
    peer.on("track", sink.addTrack)
    await peer.setRemoteDescription(await take(reader))
    await peer.setLocalDescription(await peer.createAnswer())
    hand_over(writer, peer.localDescription)
    await sink.start()
    receiver = peer.getReceivers()[0]
    before = 0
    for second in range(1, SECONDS + 1):
        await asyncio.sleep(1)
        stats = await receiver.getStats()
        received = sum(entry.bytesReceived for entry in stats.values() if entry.type == "transport")
        sys.stdout.write(f"{second} s: {(received - before) * 8 / 1e3:.0f} kbit/s\n")
        sys.stdout.flush()
        before = received
    await peer.close()
    writer.close()


async def call(host: str) -> None:
    """Calls ``host``."""
    reader, writer = await asyncio.open_connection(host, PORT)
    peer = connection()
    peer.addTrack(Blocks())
    await peer.setLocalDescription(await peer.createOffer())
    hand_over(writer, peer.localDescription)
    await peer.setRemoteDescription(await take(reader))
    await reader.read()
    await peer.close()


async def main(to: str) -> None:
    """One end or the other."""
    if to != "listen":
        await call(to)
        return
    server = await asyncio.start_server(answer, port=PORT)
    async with server:
        await server.serve_forever()


asyncio.run(main(sys.argv[1]))
