"""Generated attacks by unauthenticated and misbehaving peers, and commands for ten million.

    messages         random messages that a decoder accepts
    frames           frames that every decoder must reject, and their effect, one by one
    hostile_requests        the same for the control server's HTTP
    sockets          all of it to real nodes and a real control server
    __main__         `python -m verification.attack`
    `kafka_frames`   Kafka's frames, for the listener: invalid ones, and their effect
    `kafka_sockets`  the same to the listeners of a real cluster
    `listener_attack`           `python -m verification.attack.listener_attack`
    heavy_requests   the heaviest requests that a listener accepts, and their cost for a broker
    request_costs    `python -m verification.attack.request_costs`
"""
