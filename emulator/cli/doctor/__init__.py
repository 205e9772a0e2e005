"""What this machine has and lacks for faultline. Reading order: `facts` (what there is to know), `looking` (finds it
out), `findings` (judges it; pure), `punctuality` (how late timers are, and what speed that allows).
"""
