"""BayesFlow's parts that are kept from one network to the next."""

import pytest

pytest.importorskip("bayesflow", reason="the toolbox bayesflow is not installed")

from sbibench.toolboxes import bayesflow as module


def test_steps_are_used_again_and_those_not_used_for_longest_are_given_up(key, monkeypatch):
    monkeypatch.setattr(module, "KEPT", 2)
    monkeypatch.setattr(module, "_STEPS", {})
    one, two, three = (module.Shapes(d=2, p=2, depth=1, batch_size=n) for n in (8, 16, 32))
    with module.keras_guest(key, {}):
        made = module.approximator(one)
        module.approximator(two)
        assert module.approximator(one).train_function is made.train_function
        module.approximator(three)
    assert list(module._STEPS) == [one, three]
