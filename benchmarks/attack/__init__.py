"""What a stranger and a peer without manners can say, generated; and the command that says ten million of it.

    messages    random messages that a decoder lets through
    frames      what no decoder should let through, and what it does: one frame after the other
    lines       the same for the control server's lines
    sockets     all of it to real nodes and a real control server
    __main__    `python -m benchmarks.attack`
"""
