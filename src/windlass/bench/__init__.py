"""How fast Windlass is on a machine, at full durability, beside the bare store: what `windlass bench` measures.

cases.py      which cases there are, and what each of them tells
workloads.py  how many: steps, drains, starts          latency.py  how soon: one run, its first line, a replay
site.py       the database a case works on             raw.py      the same database without Windlass
durable.py    whether a commit survives a power cut; if not, nothing is reported
once.py       one case in a process of its own         scratch.py  a database that is gone afterwards
report.py     several measurements in one line
"""
