"""What mkdocs calls: pages for everything registered, and a navigation of what pages there are."""

from pathlib import Path
from typing import Any

from commands_page import commands_page
from kinds import KINDS
from mkdocs.structure.files import File, Files


def on_config(config: Any) -> Any:
    """Fill the lists into the navigation, leave out pages that are not there, add those unnamed."""
    docs = Path(config["docs_dir"])
    nav = _present(config["nav"], docs)
    named = set(_paths(nav))
    there = sorted(path.relative_to(docs).as_posix() for path in docs.rglob("*.md"))
    more = [path for path in there if path not in named]
    config["nav"] = [*nav, {"More": more}] if more else nav
    return config


def _present(nav: list[Any], docs: Path) -> list[Any]:
    kept: list[Any] = []
    for entry in nav:
        ((title, target),) = entry.items()
        if isinstance(target, list):
            inside = _present(target, docs)
            kept += [{title: inside}] if inside else []
        elif target.startswith("GENERATED "):
            folder = target.removeprefix("GENERATED ")
            if folder not in KINDS:  # one page
                kept.append({title: f"{folder}.md"})
                continue
            names = KINDS[folder].kind.names()
            pages = [{name: f"{folder}/{name}.md"} for name in names]
            kept.append({title: [f"{folder}/index.md", *pages]})
        elif (docs / target).exists():
            kept.append(entry)
    return kept


def _paths(nav: list[Any]) -> list[str]:
    found: list[str] = []
    for entry in nav:
        target = entry if isinstance(entry, str) else next(iter(entry.values()))
        found += [target] if isinstance(target, str) else _paths(target)
    return found


def on_files(files: Files, config: Any) -> Files:
    """Add the generated pages."""
    for folder, pages in KINDS.items():
        for name, text in pages.all().items():
            files.append(File.generated(config, f"{folder}/{name}.md", content=text))
    files.append(File.generated(config, "commands.md", content=commands_page()))
    return files
