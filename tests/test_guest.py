import logging
import random
import sys
import warnings

import numpy as np

from sbibench.toolboxes.guest import guest, silent_import


def test_a_guest_is_silent_and_leaves_generators_as_they_were(key, capsys):
    random.seed(1)
    np.random.seed(1)  # noqa: NPY002
    expected = random.random(), np.random.random()  # noqa: NPY002
    random.seed(1)
    np.random.seed(1)  # noqa: NPY002
    info, drawn = {}, []
    for _ in range(2):
        with guest(key, info) as seed:
            print("a line")
            print("a bar", file=sys.stderr)
            warnings.warn("mind this", stacklevel=1)
            drawn.append((seed, random.random(), np.random.random()))  # noqa: NPY002
    assert drawn[0] == drawn[1]
    assert (random.random(), np.random.random()) == expected  # noqa: NPY002
    assert info == {"warnings": "mind this"}
    assert capsys.readouterr() == ("", "")


def test_an_import_leaves_logging_as_it_was():
    root = logging.root
    before = list(root.handlers), root.level, root.manager.disable
    with silent_import():
        root.handlers.append(logging.NullHandler())
        root.setLevel(1)
        assert not root.isEnabledFor(logging.WARNING)
    assert (list(root.handlers), root.level, root.manager.disable) == before
