"""Prints each datagram that comes to a unix socket; the name is the argument, `@` in front: an abstract one.
A descriptor that comes with one is closed, which is how systemd says that it has read everything before."""
import array, os, socket, sys

name = sys.argv[1]
receiver = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
receiver.bind("\0" + name[1:] if name.startswith("@") else name)
print("listens", flush=True)
while True:
    data, ancillary, _, _ = receiver.recvmsg(65536, 4096)
    for level, kind, content in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            for descriptor in array.array("i", content):
                os.close(descriptor)
    text = data.decode()
    if text != "BARRIER=1":
        print(text.strip().replace("\n", "|"), flush=True)
