import pytest

from sbibench.algorithms.npe import NPE
from sbibench.core import settings
from sbibench.core.errors import UsageError


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
