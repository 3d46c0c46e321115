"""Replies of a given form: xgrammar says which tokens may come next."""

from __future__ import annotations

import importlib.util
import json
from typing import Any

from data_prep.engine import Constraint
from data_prep.records import canonical_json, to_row


def is_available() -> bool:
    return importlib.util.find_spec("xgrammar") is not None


class Grammars:
    """Compiles constraints, each once."""

    def __init__(self, tokenizer: Any, vocab_size: int, end_ids: list[int]) -> None:
        import xgrammar

        info = xgrammar.TokenizerInfo.from_huggingface(
            tokenizer, vocab_size=vocab_size, stop_token_ids=end_ids
        )
        self._vocab_size = vocab_size
        self._compiler = xgrammar.GrammarCompiler(info)
        self._compiled: dict[str, Any] = {}

    def matcher(self, constraint: Constraint) -> TokenMask:
        """A fresh matcher for one reply.

        Raises:
            ValueError: the schema uses what xgrammar does not support.
        """
        import xgrammar

        key = canonical_json(to_row(constraint))
        if key not in self._compiled:
            self._compiled[key] = self._compile(constraint)
        return TokenMask(xgrammar.GrammarMatcher(self._compiled[key]), self._vocab_size)

    def _compile(self, constraint: Constraint) -> Any:
        if constraint.choices:
            choices = " | ".join(
                json.dumps(choice, ensure_ascii=False) for choice in constraint.choices
            )
            return self._compiler.compile_grammar(f"root ::= {choices}")
        try:
            # small models fill a reply with spaces where any are allowed
            return self._compiler.compile_json_schema(
                json.dumps(constraint.json_schema), any_whitespace=False
            )
        except RuntimeError as error:
            reason = " ".join(str(error).split())[-200:]
            raise ValueError(f"the JSON schema of a constraint cannot be used: {reason}") from None


class TokenMask:
    """Follows one reply and bars the tokens that would leave its form."""

    def __init__(self, matcher: Any, vocab_size: int) -> None:
        import xgrammar

        self._matcher = matcher
        self._bits = xgrammar.allocate_token_bitmask(1, vocab_size)

    def apply(self, logits_V: Any) -> None:
        import xgrammar

        self._matcher.fill_next_token_bitmask(self._bits)
        xgrammar.apply_token_bitmask_inplace(logits_V[None], self._bits.to(logits_V.device))

    def accept(self, token: int) -> None:
        assert self._matcher.accept_token(token)
