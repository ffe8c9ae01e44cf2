"""Every code block of the README and of the documentation is run, or at least understood.

- `python`: executed; the blocks of a page share a namespace and a directory. A block with a title,
  title="x.py", is written to that file, and may be imported from then on.
- Lines that start with `sbibench` in blocks without a language: parsed by the command line's own
  parser, with the settings of algorithms. In a `console` block they follow a `$`, are run, and must
  end with exit status 0.
- `toml`: loaded as a suite, or as a part of one. `yaml`, `json`: parsed.

`<!-- slow -->` on a line before a block leaves it and what follows on its page to the slow tests.
"""

import importlib
import json
import re
import runpy
import shlex
import shutil
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
OF_HAND = {"README.md": "the example of the first page fits NPE with 10 000 simulations"}
"""Pages whose Python is slow as a whole, and why."""

FENCE = re.compile(
    r"^(?P<slow><!-- slow -->\n+)?(?P<indent> *)```(?P<language>\w*)(?P<options>.*)\n"
    r"(?P<text>(?s:.*?))^(?P=indent)```$",
    re.MULTILINE,
)
SUITE = 'tasks = ["two_moons"]\nbudgets = [1000]\nobservations = [1]\nmetrics = ["c2st"]\n'
ALGORITHM = '[[algorithms]]\nname = "npe"\n'


@dataclass(frozen=True)
class Block:
    """One fenced block: its first line of text, its language, its title and its text."""

    line: int
    language: str
    title: str | None
    text: str
    slow: bool


def blocks(page):
    """Return the fenced blocks of a page."""
    return fenced(page.read_text(), slow=page.name in OF_HAND)


def fenced(text, *, slow=False):
    """Return the fenced blocks of a text; what follows a slow one is slow, too."""
    found = []
    for match in FENCE.finditer(text):
        slow = slow or bool(match["slow"])
        title = re.search(r'title="([^"]+)"', match["options"])
        line = match.string.count("\n", 0, match.start("text")) + 1
        text = re.sub(f"^{match['indent']}", "", match["text"], flags=re.MULTILINE)
        found.append(Block(line, match["language"], title and title[1], text, slow))
    return found


def named(page):
    """Return a page's name for tests."""
    return str(page.relative_to(ROOT))


def runnable(page, *, slow):
    """Return what is to be executed of a page, without what is slow; or all, if a part is slow."""
    found = [b for b in blocks(page) if b.language in {"python", "console"} or b.title]
    if slow:
        return found if any(b.slow for b in found) else []
    return [b for b in found if not b.slow]


def commands(block):
    """Return the command lines of a block: what follows two spaces or a # explains them.

    `sbibench a | b` are two commands.
    """
    for row in re.sub(r"\\\n\s*", "", block.text).splitlines():
        line = re.split(r"\s{2,}|\s+#", row.strip().removeprefix("$ "))[0]
        if line.startswith("sbibench "):
            first, *others = (part.split() for part in line.split(" | "))
            yield from [shlex.join(first), *(shlex.join([first[0], *o]) for o in others)]


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Return a directory like that of a user: suites and results of the project are there."""
    (tmp_path / "suites").symlink_to(ROOT / "suites")
    shutil.copytree(
        ROOT / "results" / "paper2021" / "records", tmp_path / "results/paper2021/records"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        file = getattr(sys.modules[name], "__file__", None)
        if file and Path(file).is_relative_to(tmp_path):
            del sys.modules[name]


def keep(block, place):
    """Write a block that is a file."""
    if block.title:
        (place / block.title).parent.mkdir(parents=True, exist_ok=True)
        (place / block.title).write_text(block.text)
        importlib.invalidate_caches()


def execute(page, found, place):
    """Execute blocks of the page of this name, one after the other."""
    from sbibench.cli import main

    namespace = {"__name__": "__main__"}
    for block in found:
        keep(block, place)
        if block.language == "python":
            # As many empty lines as there are before it, so that errors name the line of the page.
            code = "\n" * (block.line - 1) + block.text
            exec(compile(code, page, "exec"), namespace)
        for command in commands(block) if block.language == "console" else ():
            with pytest.raises(SystemExit) as end:
                main(shlex.split(command)[1:])
            assert end.value.code == 0, f"{page}, line {block.line}: {command}"


@pytest.mark.parametrize("page", [p for p in PAGES if runnable(p, slow=False)], ids=named)
def test_the_blocks_of_a_page_run(page, place):
    if page.name == "sbibm.md":
        make_checkout(place / "sbibm")
    execute(named(page), runnable(page, slow=False), place)


def make_checkout(root):
    """Write a checkout of sbibm with one observation, whose samples are ours."""
    import sbibench as sb
    from sbibm_files import write_observation

    ours = sb.get_task("two_moons")
    x, theta = ours.observation(1), ours.true_parameters(1)
    write_observation(root, "two_moons", 1, x=x, theta=theta, samples=ours.reference_samples(1))


@pytest.mark.slow
@pytest.mark.parametrize("page", [p for p in PAGES if runnable(p, slow=True)], ids=named)
def test_the_blocks_of_a_page_with_slow_ones_run(page, place):
    execute(named(page), runnable(page, slow=True), place)


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_command_lines_are_understood(page, place):
    understand(named(page), blocks(page), place)


def test_the_blocks_of_generated_pages_are_right(place, monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "docs" / "generate")
    import kinds

    for folder, pages in kinds.KINDS.items():
        for name, text in pages.all().items():
            execute(f"{folder}/{name}", fenced(text), place)
            understand(f"{folder}/{name}", fenced(text), place)


def understand(page, found, place):
    """Fail where a command line of a page is none."""
    from sbibench.cli import app

    for block in found:
        keep(block, place)  # what a command may name
        if block.language not in {"", "text", "console", "bash", "sh"}:
            continue
        for command in commands(block):
            words = shlex.split(command)[1:]
            _, bound, _ = app.parse_args(words, exit_on_error=False, print_error=False)
            check_names(bound.arguments, f"{page}, line {block.line}: {command}")


def check_names(arguments, where):
    """Fail where a command names what is not there, or a setting that an algorithm has not."""
    from sbibench.cli.single import algorithm_flags
    from sbibench.core import registry, settings

    algorithm = arguments.get("algorithm")
    if algorithm is None and arguments.get("refit"):
        algorithm = arguments["posterior"]
    if algorithm is not None and not algorithm.isupper():
        if registry.ALGORITHMS.missing(algorithm):
            return  # its toolbox is not here
        cls = registry.ALGORITHMS.get(algorithm)
        flags = algorithm_flags(algorithm, arguments.get("tokens", ()), ())
        settings.build(cls, flags, where, text=True)
    task = arguments.get("task")
    if task is not None and not task.isupper():
        registry.TASKS.get(task)
    file = arguments.get("file")
    if file is not None and file.parts[0] == "suites":
        assert file.exists(), where


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_files_in_blocks_are_read(page, place):
    from sbibench.runner.suite_file import load as load_suite

    for block in blocks(page):
        keep(block, place)  # what a suite may name
        if block.language == "yaml":
            assert yaml.safe_load(block.text), block.line
        elif block.language == "json":
            assert json.loads(block.text), block.line
        elif block.language == "toml":
            content = tomllib.loads(block.text)
            if "project" in content:  # of a package, not a suite
                continue
            known = [line for line in SUITE.splitlines() if line.split()[0] not in content]
            rest = "" if "algorithms" in content else ALGORITHM
            text = "\n".join([*known, block.text, rest])
            (place / "suite.toml").write_text(text)
            assert load_suite(place / "suite.toml").runs(), block.line


def test_the_first_page_is_short():
    (code,) = [b.text for b in blocks(PAGES[0]) if b.language == "python"]
    assert len(code.strip().splitlines()) <= 10


def test_every_language_is_one_that_is_looked_at():
    known = {"", "text", "csv", "python", "console", "bash", "sh", "toml", "yaml", "json", "bibtex"}
    for page in PAGES:
        assert {b.language for b in blocks(page)} <= known, named(page)


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"])
def test_every_link_leads_to_a_file(page):
    links = re.findall(r"\]\(([^)#]+)\)", (ROOT / page).read_text())
    assert links
    for link in links:
        assert "://" in link or (ROOT / link).exists(), link


@pytest.mark.parametrize("name", ["results", "toolboxes"])
def test_tables_are_those_of_the_records(name):
    script = runpy.run_path(str(ROOT / "docs" / f"{name}.py"))
    assert script["page"]() == (ROOT / "docs" / f"{name}.md").read_text()


def test_the_citation_is_of_this_version():
    import sbibench

    found = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert {"cff-version", "message", "title", "authors"} <= set(found)
    assert found["version"] == sbibench.__version__
