"""The integration tests that clients bring along, against brokers of ours: `python -m benchmarks.client_suites`.

    `suites`                what is run of each suite, how its cluster is set up, and why some of it cannot pass
    `one-broker.yml`        that cluster
    `pointed_kafka_python`  plugins of pytest, imported in the clients' environment: they lead the suites' fixtures to
    `pointed_aiokafka`      a broker that runs
    `play`                  one suite against one version of Kafka: an environment, a cluster, pytest, its report
    `page`                  the table in docs/kafka-clients.md: pure
    `__main__`              all of them

A suite is a checkout of the client's repository. Nothing of it is here.
"""
