"""Checks of this machine for faultline.

`looking` collects the facts, `machine_findings` judges them, `punctuality` bounds the lateness of timers,
`machine_facts` holds the data.
"""
