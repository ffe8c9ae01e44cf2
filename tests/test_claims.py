import errno
import fcntl
import subprocess
import sys

from sbibench.store.claims import Claims

ONE, OTHER = "19674d515f047adc", "ffffffffffffffff"

HOLD = """
import sys
from pathlib import Path
from sbibench.store.claims import Claims
claims = Claims(Path(sys.argv[1]))
print(claims.take(sys.argv[2]), flush=True)
if sys.stdin.readline():
    claims.give_back(sys.argv[2])
    print("given back", flush=True)
    sys.stdin.readline()
"""


def hold(folder, key):
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, folder, key],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    return holder, holder.stdout.readline().strip() == "True"


def test_what_one_process_claims_no_other_gets_until_it_is_given_back(tmp_path):
    with Claims(tmp_path) as claims:
        holder, got = hold(tmp_path, ONE)
        assert got
        assert not claims.take(ONE)
        assert claims.take(OTHER)
        second, got = hold(tmp_path, OTHER)
        assert not got
        second.kill()
        holder.stdin.write("\n")
        holder.stdin.flush()
        assert holder.stdout.readline() == "given back\n"
        assert claims.take(ONE)
        assert claims.take(ONE)  # a claim of one's own is no hindrance
        for process in (holder, second):
            process.communicate()


def test_the_claims_of_a_dead_process_are_void(tmp_path):
    holder, got = hold(tmp_path, ONE)
    assert got
    with Claims(tmp_path) as claims:
        assert not claims.take(ONE)
        holder.kill()
        holder.communicate()
        assert claims.take(ONE)


def test_without_locks_work_goes_on(tmp_path, monkeypatch):
    def none(*_):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "lockf", none)
    with Claims(tmp_path) as claims:
        assert claims.take(ONE)
        claims.give_back(ONE)
