from dataclasses import fields, replace

import numpy as np
import pytest

from sbibench.algorithms.npe import NPE
from sbibench.core import registry, settings
from sbibench.core.errors import UsageError
from sbibench.inference.training import Training


def test_nested_dotted_and_short_names_say_the_same():
    expected = NPE(flow=NPE().flow.__class__(hidden=20))
    for values in ({"flow": {"hidden": 20}}, {"flow.hidden": 20}, {"hidden": 20}):
        assert settings.build(NPE, values, "npe") == expected
    assert (
        settings.build(NPE, {"training.batch-size": "7"}, "npe", text=True).training.batch_size == 7
    )


def test_all_settings_survive_a_round_trip():
    assert settings.build(NPE, settings.as_dict(NPE()), "npe") == NPE()


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"hiden": 20}, "no setting of npe named 'hiden'; did you mean 'flow.hidden'"),
        ({"flow": {"hiden": 20}}, "did you mean 'flow.hidden'"),
        ({"hidden": "20"}, "Expected `int`, got `str` at `flow.hidden`"),
        ({"batch_size": 0}, "batch_size must be positive"),
        ({"invalid": "ignore"}, "invalid"),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_line(values, message):
    with pytest.raises(UsageError) as caught:
        settings.build(NPE, values, "npe")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_label_names_what_is_not_the_default():
    assert settings.label("npe", NPE()) == "npe"
    changed = settings.build(NPE, {"hidden": 20, "invalid": "refuse"}, "npe")
    assert settings.label("npe", changed) == "npe hidden=20 invalid=refuse"


def test_a_nested_override_leaves_the_algorithm_s_own_defaults_beside_it():
    from sbibench.runner.suite import spec

    for changes in ({"flow.hidden": 20}, {"hidden": 20}):
        changed = spec("two_moons", "nle", changes, 1000, 1, 0)
        assert changed.settings["flow"]["family"] == "maf"
        assert changed.settings["flow"]["hidden"] == 20


@pytest.mark.parametrize(
    ("name", "values", "said"),
    [
        ("npe", {"invalid": "ignore"}, "invalid is 'drop' or 'refuse', not 'ignore'"),
        ("rej_abc", {"adjust": "lin"}, "adjust is 'none' or 'linear', not 'lin'"),
        ("rej_abc", {"quantile": "0.1"}, "quantile is a number or None, not '0.1'"),
        ("npe", {"log_data": "no"}, "log_data is True or False, not 'no'"),
        ("snle", {"rounds": 2.5}, "rounds is a whole number, not 2.5"),
        ("snre", {"rounds": True}, "rounds is a whole number, not True"),
        ("npe", {"training": 3}, "training is a Training, not 3"),
        ("nre", {"training": Training(batch_size=5)}, "10 is more than the batch of 5"),
        ("snpe_c", {"atoms": 1000}, "1000 is more than the batch of 100"),
    ],
)
def test_a_wrong_value_is_refused_when_settings_are_made(name, values, said):
    with pytest.raises(UsageError) as caught:
        replace(registry.ALGORITHMS.get(name)(), **values)
    assert said in str(caught.value)


def test_numbers_of_numpy_and_whole_learning_rates_are_numbers():
    assert Training(batch_size=np.int64(7), learning_rate=np.float32(0.5), clip_norm=1)
    assert NPE(log_data=np.bool_(False))


def test_every_setting_of_every_algorithm_of_ours_is_checked():
    for name in registry.ALGORITHMS.names():
        if registry.ALGORITHMS.toolbox(name):
            continue
        algorithm = registry.ALGORITHMS.get(name)()
        for setting in fields(algorithm):
            with pytest.raises(UsageError, match=rf"^{setting.name} is "):
                replace(algorithm, **{setting.name: object()})
