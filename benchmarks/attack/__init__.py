"""What a stranger and a peer without manners can say, generated; and the commands that say ten million of it.

    messages         random messages that a decoder lets through
    frames           what no decoder should let through, and what it does: one frame after the other
    lines            the same for the control server's lines
    sockets          all of it to real nodes and a real control server
    __main__         `python -m benchmarks.attack`
    `kafka_frames`   Kafka's frames, for the door: what no client should say, and what a door makes of it
    `kafka_sockets`  the same to the doors of a real cluster
    `door`           `python -m benchmarks.attack.door`
    heavy_requests   requests as heavy as a listener takes them, and what each costs a broker
    request_costs    `python -m benchmarks.attack.request_costs`
"""
