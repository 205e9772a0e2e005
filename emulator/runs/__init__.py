"""From a scenario to a run: resolve it, play it in a world, write what it left. Reading order: `resolve`, `observed`,
`simulated`, `network`."""
