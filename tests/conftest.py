"""Shapes and types are checked while the tests run; compiled programs are shared between them."""

import shutil

import jax
import jax.numpy as jnp
import pytest
from jaxtyping import install_import_hook

with install_import_hook("sbibench", "typechecking.checked"):
    import sbibench.core.task  # noqa: F401 - and what it imports
    from sbibench.core import precision
    from sbibench.core.compilation import keep_compiled_programs

from sbibench.contract.compilations import compilations
from sbibench.contract.toy import TOY

assert precision.SINGLE is jnp.float32
jax.config.update("jax_numpy_rank_promotion", "raise")
keep_compiled_programs()


@pytest.fixture(scope="session")
def toy_task():
    """Return a two-dimensional Gaussian model with a closed-form posterior."""
    return TOY


@pytest.fixture
def key():
    """Return a fixed key."""
    return jax.random.key(20261130)


@pytest.fixture(scope="session", name="compilations")
def count_compilations():
    """Return a function that counts the programs compiled or loaded so far."""
    return compilations


@pytest.fixture(scope="module")
def browser():
    """Return the system's browser; tests in it are skipped where there is none."""
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        pytest.skip("there is no chromium on this machine")
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def tab(browser):
    """Return a function that opens a tab; whatever goes wrong in it, or leaves the disk, fails."""
    problems, requests, contexts = [], [], []

    def opened(size=(1280, 900), scheme="light"):
        viewport = dict(zip(("width", "height"), size, strict=True))
        contexts.append(browser.new_context(viewport=viewport, color_scheme=scheme))
        page = contexts[-1].new_page()
        page.on("console", lambda m: problems.append(m.text) if m.type == "error" else None)
        page.on("pageerror", lambda e: problems.append(str(e)))
        page.on("request", lambda r: requests.append(r.url))
        return page

    yield opened
    for context in contexts:
        context.close()
    assert not problems
    assert requests
    assert all(url.startswith(("file:", "data:")) for url in requests)
