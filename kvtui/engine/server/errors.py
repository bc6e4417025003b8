"""Errors as OpenAI words and shapes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import msgspec
from aiohttp import web
from aiohttp.typedefs import Handler

INVALID: Final = "invalid_request_error"


class ApiError(Exception):
    """An answer other than success.

    Args:
        status: the HTTP status.
        message: one sentence or two for the caller.
        type_: OpenAI's class of error.
        param: the request field at fault.
        code: OpenAI's code.
        headers: further headers, as `Retry-After`.
    """

    def __init__(
        self,
        status: int,
        message: str,
        *,
        type_: str = INVALID,
        param: str | None = None,
        code: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.headers = dict(headers or {})
        self.body = {"message": message, "type": type_, "param": param, "code": code}

    def response(self) -> web.Response:
        """The answer to send."""
        return json_response({"error": self.body}, status=self.status, headers=self.headers)


def context_too_long(context: int, excess: str, param: str) -> ApiError:
    """400 for more than the context holds, in the words of OpenAI and vLLM.

    Args:
        context: the most tokens of one sequence.
        excess: what the request asks for, behind "However, ".
        param: the field that holds the prompt.
    """
    return ApiError(
        400,
        f"This model's maximum context length is {context} tokens. However, {excess}. "
        f"Please reduce the length of the {param} or completion.",
        param=param,
        code="context_length_exceeded",
    )


def json_response(
    body: object, *, status: int = 200, headers: Mapping[str, str] | None = None
) -> web.Response:
    """A JSON answer."""
    return web.Response(
        body=msgspec.json.encode(body),
        status=status,
        headers=headers,
        content_type="application/json",
    )


@web.middleware
async def shape_errors(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Give every error OpenAI's shape."""
    try:
        return await handler(request)
    except ApiError as error:
        return error.response()
    except web.HTTPNotFound:
        return _not_found(request).response()
    except web.HTTPMethodNotAllowed as error:
        allowed = ", ".join(sorted(error.allowed_methods))
        return ApiError(
            405,
            f"Not allowed to {request.method} on {request.path}; use {allowed}.",
            code="method_not_supported",
            headers={"Allow": allowed},
        ).response()
    except web.HTTPRequestEntityTooLarge:
        return ApiError(413, "The request body is too large.", code="request_too_large").response()


def _not_found(request: web.Request) -> ApiError:
    known = {
        resource.canonical for resource in request.app.router.resources() if resource.canonical
    }
    tail = request.path.rstrip("/")
    hint = next(
        (
            f" Did you mean {path}? The base URL ends in /v1."
            for path in sorted(known)
            if path.startswith("/v1/") and tail.endswith(path.removeprefix("/v1"))
        ),
        "",
    )
    return ApiError(
        404, f"Unknown request URL: {request.method} {request.path}.{hint}", code="unknown_url"
    )
