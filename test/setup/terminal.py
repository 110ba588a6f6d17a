"""Runs a program in a terminal of its own: stdin is what is typed, stdout is what the screen gets."""
import fcntl, os, pty, select, struct, sys, termios

pid, screen = pty.fork()
if pid == 0:
    os.execvp(sys.argv[1], sys.argv[1:])
fcntl.ioctl(screen, termios.TIOCSWINSZ, struct.pack('HHHH', 40, 120, 0, 0))
sources = [0, screen]
while True:
    ready, _, _ = select.select(sources, [], [])
    if screen in ready:
        try:
            shown = os.read(screen, 65536)
        except OSError:
            shown = b''
        if not shown:
            break
        os.write(1, shown)
    if 0 in ready:
        typed = os.read(0, 65536)
        if typed:
            os.write(screen, typed)
        else:
            sources = [screen]
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) & 0xFF)
