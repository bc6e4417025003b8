"""Keys of a GGUF's metadata: looked up by name, checked, and none passed over that matters."""

from __future__ import annotations

import re
from typing import Any

from kvtui.language import tr

from .gguf_header import GgufError, Header, Long
from .model import MAX_DIM

# A key of these may change the cache, so an unknown one is refused.
_TELLING = re.compile(
    r"^(attention\.(compress|shared|sliding|indexer|recurrent|kv_|key_|value_length|head_)"
    r"|ssm\.|kda\.|wkv\.|shortconv\.|full_attention|token_shift|num_loops|hrm\.)"
)


class Keys:
    """The keys of one architecture, each remembered once it was looked at.

    Args:
        header: the header.
        arch: the architecture, which is the keys' prefix.
    """

    def __init__(self, header: Header, arch: str) -> None:
        self.metadata = header.metadata
        self.arch = arch
        self._seen: set[str] = set()

    def get(self, name: str) -> Any:
        """A key's value, None where it is not there."""
        self._seen.add(name)
        return self.metadata.get(f"{self.arch}.{name}")

    def whole(self, name: str, limit: int = MAX_DIM, least: int = 1) -> int:
        """A key that must be there and be a sensible whole number.

        Raises:
            GgufError: missing or senseless; names it.
        """
        found = self.maybe(name, limit, least)
        if found is None:
            raise GgufError(
                tr(
                    "the GGUF's key {arch}.{name} is missing, nothing is assumed",
                    arch=self.arch,
                    name=name,
                )
            )
        return found

    def maybe(self, name: str, limit: int = MAX_DIM, least: int = 1) -> int | None:
        """As `whole`, None where it is not there.

        Raises:
            GgufError: senseless; names it.
        """
        found = self.get(name)
        return None if found is None else self.checked(name, found, limit, least)

    def checked(self, name: str, value: Any, limit: int, least: int) -> int:
        """`value` if it is a whole number in the range.

        Raises:
            GgufError: it is not; names the key.
        """
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= limit:
            raise GgufError(
                tr(
                    "the GGUF's key {arch}.{name} makes no sense: {value}",
                    arch=self.arch,
                    name=name,
                    value=str(value)[:40],
                )
            )
        return value

    def per_layer(self, name: str, count: int, limit: int, least: int = 0) -> list[int] | None:
        """A number for each layer, from an array or one number for all.

        Raises:
            GgufError: senseless, or an array of another length; names it.
        """
        found = self.get(name)
        if found is None:
            return None
        if isinstance(found, Long | list):
            if isinstance(found, Long) or len(found) < count:
                raise GgufError(
                    tr(
                        "the GGUF's key {arch}.{name} has no value for each of {count} layers",
                        arch=self.arch,
                        name=name,
                        count=count,
                    )
                )
            return [self.checked(name, int(item), limit, least) for item in found[:count]]
        return [self.checked(name, found, limit, least)] * count

    def refuse_unknown(self) -> None:
        """Refuse a key that was not looked at and may change the cache.

        Raises:
            GgufError: names it.
        """
        prefix = self.arch + "."
        for key, value in self.metadata.items():
            name = key.removeprefix(prefix)
            if name == key or name in self._seen or not value:
                continue
            if _TELLING.match(name):
                raise GgufError(
                    tr("the GGUF's key {key} is not known here and may change the cache", key=key)
                )
