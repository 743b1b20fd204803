# SPDX-License-Identifier: BSD-3-Clause
"""Frames, byte for byte, into interfaces and out of them."""

import select
import socket
import struct

from .tap import PATIENCE_S, expect

SOL_PACKET = 263
PACKET_AUXDATA = 8
PACKET_IGNORE_OUTGOING = 23
SO_RCVBUFFORCE = 33
TP_STATUS_VLAN_VALID = 1 << 4
ETH_P_ALL = 3


class Wire:
    """Raw frames through one interface, as bytes."""

    def __init__(self, interface):
        self.interface = interface
        self.socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
        self.socket.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)
        self.socket.setsockopt(SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)
        self.socket.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 64 << 20)
        self.socket.bind((interface, ETH_P_ALL))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, frame):
        self.socket.send(frame)

    def receive(self, patience_s=PATIENCE_S):
        """The next frame, None if none comes in time."""
        if not select.select([self.socket], [], [], patience_s)[0]:
            return None
        frame, ancillary, _, _ = self.socket.recvmsg(65536, 256)
        for level, kind, data in ancillary:
            if level != SOL_PACKET or kind != PACKET_AUXDATA:
                continue
            status, _, _, _, _, tci, tpid = struct.unpack("IIIHHHH", data[:20])
            if status & TP_STATUS_VLAN_VALID:
                # The kernel takes the outer tag off before it shows a frame.
                frame = frame[:12] + struct.pack("!HH", tpid or 0x8100, tci) + frame[12:]
        return frame

    def receive_all(self, count, patience_s=PATIENCE_S):
        """`count` frames, fewer if they stay out."""
        frames = []
        while len(frames) < count:
            frame = self.receive(patience_s)
            if frame is None:
                break
            frames.append(frame)
        return frames

    def drain(self):
        """Throws away what is there now."""
        while self.receive(0) is not None:
            pass


def exchange(source, sink, frames, window=32):
    """Sends through one wire and returns what comes out of the other. No more than `window` frames
    are on the way at a time: fewer than any queue in between holds."""
    out = []
    for start in range(0, len(frames), window):
        chunk = frames[start:start + window]
        for frame in chunk:
            source.send(frame)
        out += sink.receive_all(len(chunk))
        if len(out) < start + len(chunk):
            break
    return out


def expect_frames(seen, wanted, what):
    """Byte for byte, in order."""
    for index, frame in enumerate(wanted):
        expect(index < len(seen), f"{what}: {len(seen)} frames instead of {len(wanted)}")
        expect(seen[index] == frame,
               f"{what}: frame {index} of {len(frame)} bytes differs:\n"
               f"  seen   {seen[index].hex()}\n  wanted {frame.hex()}")
    expect(len(seen) == len(wanted), f"{what}: {len(seen)} frames instead of {len(wanted)}")
