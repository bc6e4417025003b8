"""Build the base corpus: paragraphs of English prose from Debian's documentation packages.

    python corpus.py --root / --root unpacked --out DIR

Each root is a directory that holds `usr/share/doc` with the packages of SOURCES.md, installed or
unpacked with `dpkg-deb -x`. Writes `train.txt` and `val.txt`: documents (one per page) parted by
a line with a form feed, paragraphs parted by an empty line.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

# Source name -> (path below usr/share/doc, glob). Versions and licences: SOURCES.md.
SOURCES = {
    "sqlite": ("sqlite3", "**/*.html"),
    "python": ("python3.11/html", "**/*.html"),
    "postgresql": ("postgresql-doc-15/html", "*.html"),
    "rust-books": ("rust-doc/html", "*/**/*.html"),
    "jargon": ("jargon-text", "jargon.txt.gz"),
    "django": ("python-django-doc/html", "**/*.html"),
    "apache": ("apache2-doc/manual/en", "**/*.html"),
    "sqlalchemy": ("python-sqlalchemy-doc/html", "**/*.html"),
    "tornado": ("python-tornado-doc/html", "**/*.html"),
    "varnish": ("varnish/html", "**/*.html"),
    "llvm": ("llvm-15-doc/html", "*.html"),
    "clang": ("clang-15/html", "*.html"),
    "nova": ("nova-doc/html", "**/*.html"),
    "swift": ("swift/html", "**/*.html"),
    "cinder": ("cinder-doc/html", "**/*.html"),
    "dask": ("python-dask-doc/html", "**/*.html"),
    "distributed": ("python-distributed-doc/html", "**/*.html"),
    "pandas": ("python-pandas-doc/html", "**/*.html"),
    "nodejs": ("nodejs/api", "*.html"),
    "erlang": ("erlang-doc", "**/*.html"),
    "sklearn": ("python-sklearn-doc/html", "**/*.html"),
    "pytest": ("python-pytest-doc/html", "**/*.html"),
    "werkzeug": ("python-werkzeug-doc/html", "**/*.html"),
    "flask": ("python-flask-doc/html", "**/*.html"),
    "aiohttp": ("python-aiohttp-doc/html", "**/*.html"),
    "cryptography": ("python-cryptography-doc/html", "**/*.html"),
    "jinja2": ("python-jinja2-doc/html", "**/*.html"),
    "requests": ("python-requests-doc/html", "**/*.html"),
}
SKIP_PAGE = re.compile(
    r"rust-doc/html/(core|std|alloc|src|test|proc_macro|implementors)/"
    r"|genindex|py-modindex|/_sources/|/_modules/|/search|changelog|whatsnew/changelog"
    r"|/releaselog/|/src/"
)
MIN_CHARS, MAX_CHARS = 60, 4000
HELD_OUT_ONE_IN = 60
MAX_SYMBOL_SHARE = 0.09
PAGE_BREAK = "\n\f\n"

_DROP = {"script", "style", "pre", "table", "nav", "footer", "header", "head", "svg", "select"}
_BLOCK = {
    "p",
    "li",
    "dd",
    "dt",
    "div",
    "section",
    "article",
    "br",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "ul",
    "ol",
    "dl",
    "tr",
    "td",
    "th",
    "blockquote",
}
_KEEP = {"p", "li", "dd"}


class Paragraphs(HTMLParser):
    """Collects the text of p, li and dd elements; skips code blocks, tables and navigation."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[str] = []
        self._text: list[str] = []
        self._drop = 0
        self._kind = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Begin a block, or a part to leave out."""
        del attrs
        if tag in _DROP:
            self._drop += 1
        if tag in _BLOCK:
            self._flush(tag)

    def handle_endtag(self, tag: str) -> None:
        """End them."""
        if tag in _DROP:
            self._drop = max(0, self._drop - 1)
        if tag in _BLOCK:
            self._flush("")

    def handle_data(self, data: str) -> None:
        """Collect text."""
        if not self._drop:
            self._text.append(data)

    def _flush(self, kind: str) -> None:
        if self._text and (self._kind in _KEEP):
            self.found.append("".join(self._text))
        self._text = []
        self._kind = kind


def clean(text: str) -> str | None:
    """The paragraph on one line, or None if it does not read as prose."""
    text = text.replace("¶", "").replace("\u00a0", " ").replace("\u200b", "")
    for fancy, plain in (
        ("’", "'"),
        ("‘", "'"),
        ("“", '"'),
        ("”", '"'),
        ("…", "..."),
        ("—", " - "),
        ("–", "-"),
    ):
        text = text.replace(fancy, plain)
    text = re.sub(r"\s+", " ", text).strip()
    if not MIN_CHARS <= len(text) <= MAX_CHARS or text[-1] not in ".:!?)\"'":
        return None
    if not (text[0].isupper() or text[0] in "\"'("):
        return None
    words = text.split()
    if len(words) < 9 or sum(map(len, words)) / len(words) > 8:
        return None
    symbols = sum(not (c.isascii() and (c.isalpha() or c in " .,;:'\"()-!?")) for c in text)
    if symbols / len(text) > MAX_SYMBOL_SHARE:
        return None
    return text


def pages(root: Path, place: str, pattern: str) -> Iterator[tuple[str, list[str]]]:
    """Yield (name, raw paragraphs) of each page of one source."""
    base = root / "usr/share/doc" / place
    for path in sorted(base.glob(pattern)):
        if SKIP_PAGE.search(str(path)) or not path.is_file():
            continue
        name = f"{place}/{path.relative_to(base)}"
        if path.suffix == ".gz":
            with gzip.open(path, "rt", encoding="utf-8", errors="replace") as file:
                blocks = file.read().split("\n\n")
            for start in range(0, len(blocks), 40):
                yield f"{name}#{start}", [b.lstrip(":* ") for b in blocks[start : start + 40]]
            continue
        parser = Paragraphs()
        parser.feed(path.read_text(encoding="utf-8", errors="replace"))
        yield name, parser.found


def held_out(name: str) -> bool:
    """Whether a page belongs to the validation set: decided by its name alone."""
    return hashlib.sha256(name.encode()).digest()[0] % HELD_OUT_ONE_IN == 0


def main() -> None:
    """Build both files and print what each source gave."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=Path, action="append", required=True)
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    seen: set[bytes] = set()
    sets: dict[bool, list[str]] = {True: [], False: []}
    for source, (place, pattern) in SOURCES.items():
        chars = 0
        for root in args.root:
            for name, raw in pages(root, place, pattern):
                kept = []
                for text in filter(None, map(clean, raw)):
                    key = hashlib.sha256(re.sub(r"\W+", "", text.lower())[:80].encode()).digest()
                    if key not in seen:
                        seen.add(key)
                        kept.append(text)
                if kept:
                    chars += sum(map(len, kept))
                    sets[held_out(name)].append("\n\n".join(kept))
            if chars:
                break
        print(f"{source:14} {chars:>10,} characters", flush=True)
    for is_val, name in ((False, "train.txt"), (True, "val.txt")):
        text = PAGE_BREAK.join(sets[is_val])
        (args.out / name).write_text(text, encoding="utf-8")
        print(f"{name:14} {len(text):>10,} characters, {len(sets[is_val]):,} pages")


if __name__ == "__main__":
    main()
