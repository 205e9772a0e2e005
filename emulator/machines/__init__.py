"""Pure machines: an input and the time go in, effects come out.

Reading order:

- `session`: the emulator's ZooKeeper, which keeps live brokers and leaders;
- `broker`: logs, replicas, requests;
- `client`: producers, consumers, the client of the recordings;
- `node`: the machine of a process, made from these parts.

The controller's part is a package of its own, `controller`.
"""
