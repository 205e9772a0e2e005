"""Generated attacks by unauthenticated and misbehaving peers, and commands for ten million.

    hostile_messages   random messages that a decoder accepts
    hostile_frames     frames that every decoder must reject, and the effect of each
    hostile_requests   the same for the control server's HTTP
    sockets            all of it to real nodes and a real control server
    silent_sockets     many silent connections
    __main__           `python -m verification.attack`
    kafka_frames       invalid frames of Kafka for the listener, and their effect
    kafka_sockets      the same to the listeners of a real cluster
    listener_attack    `python -m verification.attack.listener_attack`
    heavy_requests     the heaviest requests that a listener accepts, and their cost for a broker
    request_costs      `python -m verification.attack.request_costs`
"""
