"""Checks of this machine for faultline.

`looking` collects the facts, `findings` judges them, `punctuality` bounds the lateness of timers, `facts` holds the
data.
"""
