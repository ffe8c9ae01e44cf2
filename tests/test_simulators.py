"""Wrappers around people's simulators: rows, programs, pools of processes, and pairs on disk."""

import io
import sys
import time
import warnings

import dask
import jax
import numpy as np
import numpyro.distributions as dist
import polars as pl
import pytest

import sbibench as sb
from sbibench.core import registry
from sbibench.core.deadline import Deadline
from sbibench.core.errors import BudgetExceededError, DeadlineError, SbibenchError, UsageError
from sbibench.core.forward import Batched
from sbibench.core.given_pairs import PriorWarning
from sbibench.core.simulator import Simulator
from sbibench.runner import cluster, process
from sbibench.simulators.workers import Workers

BOX = dist.Uniform(-2 * np.ones(2), 2 * np.ones(2)).to_event(1)
THETAS = np.linspace(-1, 1, 12).reshape(6, 2)


def rng():
    return np.random.default_rng(7)


def one(rng, theta):
    return theta + 0.3 * rng.normal(size=2)


def batch(rng, thetas):
    return thetas + 0.3 * rng.normal(size=thetas.shape)


def task(simulate_batch, **more):
    return sb.Task(name="mine", prior=BOX, simulate_batch=simulate_batch, x_obs=[0.5, -0.2], **more)


# ------------------------------------------------------------------------- one row at a time


def test_rows_have_noise_of_their_own_that_does_not_depend_on_how_many_there_are(key):
    simulator = sb.simulators.rowwise(one)
    xs = simulator(rng(), np.zeros((1000, 2)))
    assert len(np.unique(xs)) == 2000
    assert abs(xs.std() - 0.3) < 0.02
    np.testing.assert_array_equal(simulator(rng(), np.zeros((3, 2))), xs[:3])
    assert task(simulator).problem(1, 5).simulator(key, np.zeros((5, 2))).valid.all()


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda rng, theta: np.zeros((2, 2)), r"return np.ravel\(x\)"),
        (lambda rng, theta: np.zeros(2 + (theta[0] > 0)), "2 and 3 numbers"),
        (lambda rng, theta: None, "None"),
    ],
)
def test_rows_that_are_no_vectors_are_refused(function, message):
    with pytest.raises(UsageError, match=message):
        sb.simulators.rowwise(function)(rng(), THETAS)


def test_a_single_number_is_a_vector_of_one():
    simulator = sb.simulators.rowwise(lambda rng, theta: float(theta.sum()))
    np.testing.assert_allclose(simulator(rng(), THETAS)[:, 0], THETAS.sum(1))


# ------------------------------------------------------------------------------- a program

PROGRAM = """
import os, random, sys
theta = [float(v) for v in sys.stdin.readline().split()]
random.seed(int(os.environ["SBIBENCH_SEED"]))
print(*[t + random.gauss(0, 0.3) for t in theta])
"""
COPY = "import sys; _, i, o, *rest = sys.argv; open(o, 'w').write(open(i).read() + ' '.join(rest))"


def test_a_program_reads_parameters_and_a_seed_and_writes_data():
    simulator = sb.simulators.command([sys.executable, "-c", PROGRAM])
    xs = simulator(rng(), THETAS)
    assert xs.shape == (6, 2)
    assert 0 < np.abs(xs - THETAS).max() < 1.5
    np.testing.assert_array_equal(simulator(rng(), THETAS[:2]), xs[:2])


def test_parameters_seed_and_files_in_the_arguments():
    python = [sys.executable, "-c"]
    places = [COPY, "{input}", "{output}", "{theta}", "{theta_2}", "{seed}"]
    x = sb.simulators.command([*python, *places])(rng(), THETAS[:1])[0]
    np.testing.assert_array_equal(x[:5], [*THETAS[0], *THETAS[0], THETAS[0, 1]])
    assert 0 <= x[5] < 2**31
    joined = "import sys; print(sys.argv[1].replace('a=', ''))"
    x = sb.simulators.command([*python, joined, "a={theta_1},NA;inf"])(rng(), THETAS[:1])[0]
    np.testing.assert_array_equal(x, [THETAS[0, 0], np.nan, np.inf])


@pytest.mark.parametrize(
    ("program", "error", "message"),
    [
        ("raise SystemExit('no such model')", SbibenchError, "exit status 1 and said: no such mod"),
        ("print('hello')", SbibenchError, "something else than numbers: .*hello"),
        ("pass", SbibenchError, "wrote no numbers"),
        ("import time; time.sleep(60)", SbibenchError, "more than 0.5 s"),
    ],
)
def test_a_program_that_fails_says_how(program, error, message):
    simulator = sb.simulators.command([sys.executable, "-c", program], seconds=0.5)
    if "sleep" not in program:
        simulator = sb.simulators.command([sys.executable, "-c", program])
    with pytest.raises(error, match=message):
        simulator(rng(), THETAS[:1])


def test_what_is_no_command_is_refused():
    with pytest.raises(UsageError, match="a command is a list"):
        sb.simulators.command("./model")
    with pytest.raises(UsageError, match="can't be run"):
        sb.simulators.command(["./no-such-program"])(rng(), THETAS)
    with pytest.raises(UsageError, match=r"\{theta_3\} in a command, but θ has 2"):
        sb.simulators.command(["echo", "{theta_3}"])(rng(), THETAS)


# ------------------------------------------------------------------------- a pool of processes


@pytest.fixture(autouse=True)
def few_processes():
    yield
    process.dismiss()


def troubled(marks):
    """Return a function whose parameters say what becomes of it; it leaves a mark each time."""

    def simulate(rng, theta):
        import collections
        import itertools
        import os
        import pathlib
        import uuid

        pathlib.Path(marks, uuid.uuid4().hex).touch()
        if theta[0] == 1:
            raise RuntimeError("no root found")
        if theta[0] == 2:
            os._exit(3)
        if theta[0] == 3:
            collections.deque(itertools.repeat(0), maxlen=0)  # in C, for ever
        if theta[0] == 4:
            raise SystemExit
        return [theta[1], rng.normal()]

    return simulate


def test_whatever_a_row_does_costs_that_row_alone_and_nothing_is_done_twice(tmp_path):
    marks = tmp_path / "marks"
    marks.mkdir()

    def made(**more):
        return sb.simulators.parallel(
            sb.simulators.rowwise(troubled(str(marks))), workers=2, folder=tmp_path / "kept", **more
        )

    thetas = np.array(
        [[0, 1], [1, 2], [2, 3], [3, 4], [4, 5], *[[0, i] for i in range(6, 20)]], float
    )
    simulator = made(seconds=2)
    with pytest.warns(sb.simulators.SimulationWarning, match="4 of 19 simulations failed"):
        xs = simulator(rng(), thetas)
    bad = np.isnan(xs).all(1)
    assert np.flatnonzero(bad).tolist() == [1, 2, 3, 4]
    np.testing.assert_array_equal(xs[~bad, 0], thetas[~bad, 1])
    expected = sb.simulators.rowwise(troubled(str(marks)))(rng(), thetas * [[0, 1]])
    np.testing.assert_array_equal(xs[~bad], expected[~bad])  # the seeds are those of rows
    reasons = " ".join(simulator.reasons)
    for said in ("RuntimeError: no root found", "exit status 3", "killed after 2 s", "SystemExit"):
        assert said in reasons
    assert (simulator.ran, simulator.reused) == (19, 0)
    before = len(list(marks.iterdir()))
    again = made(seconds=2)
    with pytest.warns(sb.simulators.SimulationWarning, match="4 of 19"):
        np.testing.assert_array_equal(again(rng(), thetas), xs)
    assert (again.ran, again.reused) == (0, 19)
    assert len(list(marks.iterdir())) == before
    other = made(seconds=2)
    other(np.random.default_rng(8), thetas[5:8])
    assert other.ran == 3


def test_batches_of_one_and_a_task(key, tmp_path):
    simulator = sb.simulators.parallel(batch, workers=2, folder=tmp_path)
    said = []
    mine = task(simulator)
    problem = mine.problem(1, 300, progress=lambda *event: said.append(event))
    thetas = np.tile(THETAS, (50, 1))
    got = problem.simulator(key, thetas)
    assert got.valid.all()
    assert len(np.unique(got.xs)) == 600
    assert simulator.ran == 304  # four for the probe
    assert all(stage == "simulating" and total == 300 for stage, _, total in said)
    again = task(sb.simulators.parallel(batch, workers=1, folder=tmp_path))
    np.testing.assert_array_equal(again.forward(key, thetas).astype(np.float32), got.xs)


def slow(rng, theta):
    time.sleep(0.4)
    return theta


def test_a_deadline_is_seen_while_rows_are_running_and_they_are_ended(key):
    forward = Batched(
        sb.simulators.parallel(sb.simulators.rowwise(slow), workers=2), BOX, np.zeros(2)
    )
    forward.probe()
    simulator = Simulator(forward, (2, 2), 1000, Deadline.after(2))
    start = time.monotonic()
    with pytest.raises(DeadlineError, match="rows done"):
        simulator(key, np.zeros((1000, 2)))
    assert time.monotonic() - start < 10
    assert 1 <= simulator.calls <= 40


def test_all_rows_failing_is_an_error_that_says_why():
    simulator = sb.simulators.parallel(sb.simulators.rowwise(lambda rng, theta: 1 / 0), workers=1)
    with (
        pytest.warns(sb.simulators.SimulationWarning),
        pytest.raises(UsageError, match="all 6 simulations failed: ZeroDivisionError"),
    ):
        simulator(rng(), THETAS)


def test_a_folder_belongs_to_one_simulator(tmp_path):
    def made(scale):
        return sb.simulators.parallel(
            sb.simulators.rowwise(lambda rng, theta: scale * theta), workers=1, folder=tmp_path
        )

    made(1.0)(rng(), THETAS)
    again = made(1.0)
    again(rng(), THETAS)
    assert again.reused == 6
    with pytest.raises(UsageError, match="simulations of another simulator"):
        made(2.0)(rng(), THETAS)


@pytest.mark.parametrize("whose", ["its own", "another's"])
def test_a_cluster_that_nobody_has_any_more_is_closed_even_from_dasks_threads(whose):
    before = dask.config.get("distributed.scheduler.allowed-failures")
    with cluster.local(1) as other:
        held = [Workers(1, None, None)]
        client = held[0].connected()
        assert client.status == "running"
        (client if whose == "its own" else other).loop.add_callback(held.clear)
        end = time.monotonic() + 60
        while client.status != "closed" and time.monotonic() < end:
            time.sleep(0.02)
        assert client.status == "closed"
        assert other.submit(sum, [1, 2]).result() == 3
    assert dask.config.get("distributed.scheduler.allowed-failures") == before


def test_within_a_computing_process_there_is_one_worker(monkeypatch):
    monkeypatch.setenv(process.INSIDE, "1")
    simulator = sb.simulators.parallel(sb.simulators.rowwise(one), workers=8)
    simulator(rng(), THETAS[:2])
    assert sum(simulator.workers.connected().nthreads().values()) == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"workers": 0}, "workers"),
        ({"seconds": 0}, "seconds"),
        ({"workers": 1, "scheduler": "tcp://x"}, "one of"),
    ],
)
def test_pools_that_can_t_be_are_refused(options, message):
    with pytest.raises(UsageError, match=message):
        sb.simulators.parallel(batch, **options)


# -------------------------------------------------------------- simulations that exist already


def pairs(n=400):
    thetas = np.random.default_rng(3).uniform(-2, 2, (n, 2))
    return thetas, batch(np.random.default_rng(4), thetas)


def written(path, thetas, xs):
    """Write pairs into a file of this kind and return its path."""
    if path.suffix == ".npz":
        np.savez(path, thetas=thetas, xs=xs)
        return path
    columns = {f"theta_{i + 1}": thetas[:, i] for i in range(thetas.shape[1])}
    table = pl.DataFrame(columns | {f"x_{i + 1}": xs[:, i] for i in range(xs.shape[1])})
    table.write_csv(path) if path.suffix == ".csv" else table.write_parquet(path)
    return path


@pytest.mark.parametrize("kind", ["npz", "csv", "parquet", None])
def test_pairs_are_taken_in_an_order_that_the_key_decides(key, tmp_path, kind):
    thetas, xs = pairs()
    xs[5] = np.nan
    where = written(tmp_path / f"pairs.{kind}", thetas, xs) if kind else (thetas, xs)
    mine = task(sb.simulators.stored(where))
    simulator = mine.problem(1, 400).simulator

    def draw(simulator, n, seed=0):
        keys = jax.random.split(jax.random.key(seed))
        return simulator.from_prior(mine.prior, *keys, n)

    first, rest = draw(simulator, 150), draw(simulator, 250)
    assert (simulator.calls, simulator.left, simulator.invalid) == (400, 0, 1)
    together = np.concatenate([first.thetas, rest.thetas])
    assert not np.array_equal(together, thetas.astype(np.float32))
    order = np.lexsort(together.T)
    np.testing.assert_allclose(together[order], thetas[np.lexsort(thetas.T)], rtol=1e-6)
    ok = first.valid
    assert np.abs(first.xs[ok] - first.thetas[ok]).max() < 1.5  # which belong together
    same, other = (draw(mine.problem(1, 400).simulator, 150, seed) for seed in (0, 1))
    np.testing.assert_array_equal(same.thetas, first.thetas)
    assert not np.array_equal(other.thetas, first.thetas)
    with pytest.raises(UsageError, match="budget is 401 simulations, but 400 are stored; lower it"):
        draw(mine.problem(1, 401).simulator, 10)
    with pytest.raises(BudgetExceededError, match="1 stored simulations asked for, 0 of 400"):
        draw(simulator, 1)


def test_methods_that_draw_from_the_prior_use_pairs_and_others_refuse(key):
    mine = task(sb.simulators.stored(pairs()))
    for name in ("rej_abc", "rf_abc"):
        problem = mine.problem(1, 400)
        posterior = sb.get_algorithm(name).fit(key, problem)
        assert problem.simulator.calls == 400
        np.testing.assert_allclose(posterior.sample(key, 500).mean(0), [0.5, -0.2], atol=0.4)
    for name in ("snpe_c", "snle", "snre", "smc_abc", "sl"):
        problem = mine.problem(1, 400)
        with pytest.raises(UsageError, match=r"no new parameters can be simulated.*npe, nle"):
            registry.ALGORITHMS.get(name)().fit(key, problem)
        assert problem.simulator.calls == 0


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ((np.zeros((3, 2)), np.zeros((4, 2))), "3 parameters, but 4 data sets"),
        ((np.full((3, 2), np.nan), np.zeros((3, 2))), "3 of 3 parameters are not finite"),
        ((np.zeros((3, 2, 2)), np.zeros((3, 2))), "have shape"),
        ("pairs.txt", "npz, .csv or .parquet"),
        ("missing.npz", "can't be read"),
        ("missing.csv", "can't be read"),
    ],
)
def test_what_are_no_pairs_is_refused(where, message):
    with pytest.raises(UsageError, match=message):
        sb.simulators.stored(where)


NO_PAIRS = {
    "other.npz": (
        lambda path: np.savez(path, theta=np.zeros((5, 2)), x=np.zeros((5, 3))),
        r"no array 'thetas'; its arrays are: theta \(5, 2\), x \(5, 3\). Wanted .*'xs' \[n, p\]",
    ),
    "half.npz": (lambda path: np.savez(path, thetas=np.zeros((5, 2))), "no array 'xs'"),
    "junk.npz": (lambda path: path.write_bytes(b"no archive"), r"no NPZ file.*np\.savez"),
    "empty.npz": (lambda path: path.write_bytes(b""), r"no NPZ file.*np\.savez"),
    "array.npz": (lambda path: path.write_bytes(_npy(np.zeros(3))), r"no NPZ file"),
    "objects.npz": (
        lambda path: np.savez(path, thetas=np.array([{}]), xs=np.zeros((1, 1))),
        "can't be read: Object arrays",
    ),
    "lengths.npz": (
        lambda path: np.savez(path, thetas=np.zeros((4, 2)), xs=np.zeros((5, 2))),
        "4 parameters, but 5",
    ),
    "bare.csv": (lambda path: path.write_text("0.1,0.2,1.5\n0.3,0.2,1.5\n"), "holds numbers, not"),
    "same.csv": (lambda path: path.write_text("1.0,1.0,1.0\n0.3,0.2,1.5\n"), "holds numbers, not"),
    "semi.csv": (lambda path: path.write_text("theta_1;x_1\n1;2\n"), "separated by ';'"),
    "empty.csv": (lambda path: path.write_text(""), "can't be read: .*empty"),
    "ragged.csv": (lambda path: path.write_text("theta_1,x_1\n1,2,3\n"), "can't be read: "),
    "binary.csv": (lambda path: path.write_bytes(b"\xff\xfe\x00\x81,\x00"), "column|read"),
    "junk.parquet": (lambda path: path.write_bytes(b"PAR"), "can't be read: "),
}


def _npy(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


@pytest.mark.parametrize("name", NO_PAIRS)
def test_files_that_hold_no_pairs_are_refused_in_one_line(tmp_path, name):
    write, message = NO_PAIRS[name]
    write(tmp_path / name)
    with pytest.raises(UsageError, match=message) as caught:
        sb.simulators.stored(tmp_path / name)
    assert "\n" not in str(caught.value)
    assert name in str(caught.value) or name == "lengths.npz"


def test_arrays_of_other_names_are_read_when_they_are_named(tmp_path):
    a, b, x = np.arange(3.0), np.arange(3.0) + 5, np.ones((3, 2))
    np.savez(tmp_path / "mine.npz", a=a, b=b, seen=x)
    found = sb.simulators.stored(tmp_path / "mine.npz", parameters=["b", "a"], data=["seen"])
    np.testing.assert_array_equal(found.thetas, np.column_stack([b, a]))
    np.testing.assert_array_equal(found.xs, x)


def test_spaces_around_names_of_columns_are_none(tmp_path):
    (tmp_path / "runs.csv").write_text("theta_1, x_1\n0.5,1\n")
    np.testing.assert_array_equal(sb.simulators.stored(tmp_path / "runs.csv").xs, [[1]])


def test_columns_have_names(tmp_path):
    path = tmp_path / "runs.csv"
    path.write_text("rate,shift,seen,note\n0.5,1,2.5,a\n0.7,-1,3.5,b\n")
    found = sb.simulators.stored(path, parameters=["rate", "shift"], data=["seen"])
    np.testing.assert_array_equal(found.thetas, [[0.5, 1], [0.7, -1]])
    np.testing.assert_array_equal(found.xs, [[2.5], [3.5]])
    with pytest.raises(UsageError, match="no column 'theta_1'; its columns are rate, shift"):
        sb.simulators.stored(path)
    with pytest.raises(UsageError, match="not all numbers"):
        sb.simulators.stored(path, parameters=["rate"], data=["note"])


def test_pairs_of_another_problem_are_refused():
    thetas, xs = pairs(10)
    with pytest.raises(UsageError, match="have 1 parameters, not 2"):
        task(sb.simulators.stored((thetas[:, :1], xs)))
    with pytest.raises(UsageError, match="have 3 data values, not 2"):
        task(sb.simulators.stored((thetas, np.zeros((10, 3)))))
    with pytest.raises(UsageError, match="10 of 10 stored parameters lie outside the prior"):
        task(sb.simulators.stored((thetas + 5, xs)))


def test_stored_parameters_that_do_not_follow_the_prior_are_warned_of():
    thetas, xs = pairs(300)
    squeezed = thetas * [1, 0.5]
    with pytest.warns(PriorWarning, match=r"parameters \[1\] .* do not follow the prior"):
        task(sb.simulators.stored((squeezed, xs)))
    grid = np.stack(np.meshgrid(*[(np.arange(20) - 9.5) / 5] * 2), -1).reshape(-1, 2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        task(sb.simulators.stored((thetas, xs)))
        task(sb.simulators.stored((grid, np.zeros((400, 2)))))
