"""Cuts at random moments, an unmodified application on both sides, and two who say what was lost: the application by
its delivery reports, the audit by the run's events. They must name the same records.

    `application`  librdkafka's producers at a broker's door, what they were told, and the log as a consumer reads it
    `play`         one run: a cluster, four producers, a cut, a heal
    `compare`      what the two say, and where they differ: pure
    `__main__`     `python -m benchmarks.door_cuts`
"""
