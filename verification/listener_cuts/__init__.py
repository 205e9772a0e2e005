"""Cuts at random moments, with an unmodified application on both sides of the cut.

The application's delivery reports and the audit of the run's events must name the same lost records.

    application      librdkafka's producers at a broker's listener, their reports, and the log as a consumer reads it
    run_cuts         one run: a cluster, four producers, a cut, a heal
    compare_answers  delivery reports, events and audit, and their differences: pure
    __main__         `python -m verification.listener_cuts`
"""
