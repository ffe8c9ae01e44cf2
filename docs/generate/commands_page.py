"""The page of all commands, as the command line itself describes them."""

from sbibench.cli import app


def commands_page() -> str:
    """Return the page."""
    text = app.generate_docs(output_format="markdown", heading_level=1)
    _, _, commands = text.partition("\n## sbibench ")  # after its own list of contents
    head = (
        "# The command line\n\nThe exit status is 0 if all is done, 1 if some run failed, 2 for "
        "wrong usage. Each command has `--help`.\n\n"
    )
    return head + "## sbibench " + commands.replace("```console", "```text")
