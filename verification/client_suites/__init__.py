"""Integration tests of Kafka clients on our brokers: `python -m verification.client_suites`.

    suites                tests of each suite, its cluster, and reasons for failures
    one-broker.yml        that cluster
    pointed_kafka_python  pytest plugins in the clients' environment: the suites' fixtures then use
    pointed_aiokafka      a running broker
    run_suites            one suite against one version of Kafka: an environment, a cluster, pytest, its report
    client_suites_page    the table in docs/kafka-clients.md: pure
    __main__              all of them

A suite is a checkout of the client's repository, which this project does not contain.
"""
