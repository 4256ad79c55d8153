"""What a pipeline file uses, by a reader that knows comments, strings and calls.

It knows no Groovy beyond that, which is enough for files without logic: a name counts when
it begins a statement or a value, or is called with brackets or a block.
"""

import re

_TOKENS = re.compile(
    r"(?P<comment>//[^\n]*|/\*.*?\*/)"
    r"|(?P<string>'''.*?'''|\"\"\".*?\"\"\"|'(?:\\.|[^'\\\n])*'|\"(?:\\.|[^\"\\\n])*\")",
    re.DOTALL,
)
_CALLED = re.compile(r"(?<![\w.$])([A-Za-z_]\w*)\s*[({]")
_STATEMENT = re.compile(
    r"(?:^|[{;])[ \t]*([A-Za-z_]\w*)(?=[ \t]+['\"\w\[$]|[ \t]*$)", re.MULTILINE
)


def without_comments(text):
    """The text with comments blanked and strings kept."""
    return _TOKENS.sub(lambda result: " " if result["comment"] else result[0], text)


def used_names(text):
    """Every step, section, option and symbol that a pipeline names."""
    bare = _TOKENS.sub(lambda result: "''" if result["string"] else " ", text)
    return set(_CALLED.findall(bare)) | set(_STATEMENT.findall(bare))


def used_parameters(text):
    """Every parameter that a pipeline reads by itself: `params.NAME`."""
    return set(re.findall(r"\bparams\.(\w+)", without_comments(text)))


def declared_parameters(text):
    """{name: default} of the parameters that a pipeline declares for itself."""
    section = re.search(r"\bparameters\s*\{(.*?)\n\s*\}", without_comments(text), re.DOTALL)
    if not section:
        return {}
    return dict(re.findall(r"name:\s*'(\w+)',\s*defaultValue:\s*'([^']*)'", section[1]))
