"""The conformance suite's asserts explain themselves too."""

import pytest

pytest.register_assert_rewrite("tests.emulator.world.conformance")
