"""Forward passes that compute only what is needed: shared prefixes once, logits where asked.

Letters in shapes: B rows, S tokens fed, T tokens in the cache, N scored tokens, D hidden
size, V vocabulary.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from transformers import Cache, DynamicCache
from transformers.cache_utils import DynamicLayer

LOGIT_ROWS = 128  # a chunk of logits that stays near the processor: 25 MB at V = 49,152


class RoomyLayer(DynamicLayer):
    """Keys and values in a buffer with room to grow.

    The library's layer copies all it holds at every token.
    """

    def __init__(self, room: int) -> None:
        super().__init__()
        self.room = room

    def lazy_initialization(self, key_states: torch.Tensor, value_states: torch.Tensor) -> None:
        super().lazy_initialization(key_states, value_states)
        num_rows, num_heads, _, _ = key_states.shape
        self._keys = key_states.new_empty(num_rows, num_heads, self.room, key_states.shape[-1])
        self._values = value_states.new_empty(
            num_rows, num_heads, self.room, value_states.shape[-1]
        )
        self._show(0)

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *args: Any, **kwargs: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        begin = self.keys.shape[-2]
        end = begin + key_states.shape[-2]
        self._keys[:, :, begin:end] = key_states
        self._values[:, :, begin:end] = value_states
        self._show(end)
        return self.keys, self.values

    def batch_select_indices(self, indices: torch.Tensor) -> None:
        length = self.keys.shape[-2]
        self._keys, self._values = self._keys[indices], self._values[indices]
        self._show(length)

    def _show(self, length: int) -> None:
        self.keys, self.values = self._keys[:, :, :length], self._values[:, :, :length]


@dataclass
class Decoding:
    """Rows whose next token is to be chosen.

    Args:
        mask: (B, T), 0 where a row was padded.
        lengths: (B,) tokens of each row, which is the position of its next one.
        hidden: (B, D) of each row's last token.
    """

    cache: Cache
    mask: torch.Tensor
    lengths: torch.Tensor
    hidden: torch.Tensor

    def keep(self, rows: Sequence[int]) -> None:
        """Go on with these rows only."""
        indices = torch.tensor(rows, device=self.mask.device)
        self.cache.batch_select_indices(indices)
        self.mask, self.lengths = self.mask[indices], self.lengths[indices]
        self.hidden = self.hidden[indices]


class Forward:
    """A causal language model, its body and its output layer called apart.

    Raises:
        ValueError: the model makes its logits in a way that is not known here.
    """

    def __init__(self, model: Any) -> None:
        self.model = model
        self.config = model.config.get_text_config(decoder=True)
        self.device = model.device
        # sliding windows and recurrent states do not let rows branch off a common prefix
        layers = DynamicCache(config=model.config).layers
        self.can_share = bool(layers) and all(type(layer) is DynamicLayer for layer in layers)
        self._check_logits()

    def logits(self, hidden_ND: torch.Tensor) -> torch.Tensor:
        """float32, whatever the weights are."""
        logits_NV = self.model.get_output_embeddings()(hidden_ND).float()
        if scale := getattr(self.config, "logit_scale", None):  # Cohere
            logits_NV *= scale
        if scale := getattr(self.config, "logits_scaling", None):  # Granite
            logits_NV /= scale
        if cap := getattr(self.config, "final_logit_softcapping", None):  # Gemma
            logits_NV = torch.tanh(logits_NV / cap) * cap
        return logits_NV

    @torch.inference_mode()
    def prefix(self, ids: Sequence[int]) -> Cache | None:
        """Keys and values of a prompt's beginning, for many rows to go on from."""
        if not ids:
            return None
        cache = self._cache(len(ids))
        self._body(self._tensor([ids]), past_key_values=cache, use_cache=True)
        return cache

    @torch.inference_mode()
    def prefill(
        self, rests: Sequence[Sequence[int]], prefix: Cache | None, *, room: int
    ) -> Decoding:
        """Read prompts; rows are padded on the left, so that all go on at the same place.

        Args:
            rests: prompts without the prefix, at least one token each.
            room: how many tokens may follow.
        """
        num_shared, longest = _length(prefix), max(map(len, rests))
        ids_BS = self._tensor([[0] * (longest - len(rest)) + list(rest) for rest in rests])
        pads_B = self._tensor([longest - len(rest) for rest in rests])
        slots_S = torch.arange(longest, device=self.device)
        mask_BS = (slots_S >= pads_B[:, None]).long()
        mask_BT = torch.cat([mask_BS.new_ones(len(rests), num_shared), mask_BS], dim=1)
        cache = self._spread(prefix, len(rests), longest + room)
        hidden_BSD = self._body(
            ids_BS,
            attention_mask=mask_BT,
            position_ids=(num_shared + slots_S - pads_B[:, None]).clamp(min=0),
            past_key_values=cache,
            use_cache=True,
        )
        return Decoding(cache, mask_BT, num_shared + longest - pads_B, hidden_BSD[:, -1])

    @torch.inference_mode()
    def step(self, state: Decoding, tokens: Sequence[int]) -> None:
        """Append one token to each row."""
        state.mask = torch.cat([state.mask, state.mask.new_ones(len(tokens), 1)], dim=1)
        state.hidden = self._body(
            self._tensor(tokens)[:, None],
            attention_mask=state.mask,
            position_ids=state.lengths[:, None],
            past_key_values=state.cache,
            use_cache=True,
        )[:, -1]
        state.lengths = state.lengths + 1

    @torch.inference_mode()
    def score(
        self,
        rests: Sequence[Sequence[int]],
        num_scored: Sequence[int],
        prefix: Cache | None,
    ) -> list[tuple[float, ...]]:
        """Log-probabilities of each row's last `num_scored` tokens.

        Rows are padded on the right: what follows a token cannot change it.

        Args:
            rests: sequences without the prefix; the token before the first scored one
                is among them.
        """
        longest = max(map(len, rests)) - 1  # nothing is asked about what follows the last token
        ids_BS = self._tensor([list(rest[:-1]) + [0] * (longest + 1 - len(rest)) for rest in rests])
        cache = self._spread(prefix, len(rests), longest) if prefix is not None else None
        hidden_BSD = self._body(ids_BS, past_key_values=cache, use_cache=cache is not None)
        return self._of_tails(hidden_BSD, rests, num_scored)

    @torch.inference_mode()
    def score_options(
        self, state: Decoding, options: Sequence[Sequence[Sequence[int]]]
    ) -> list[list[float]]:
        """Sum of log-probabilities of each option's tokens behind each row's prompt.

        The prompt is not read again: first tokens come from its last hidden state, and rows
        with several options branch off its keys and values.
        """
        rows = [row for row, own in enumerate(options) for _ in own]
        flat = [list(option) for own in options for option in own]
        first_N = self._logprobs(state.hidden[rows], self._tensor([ids[0] for ids in flat]))
        sums = first_N.tolist()
        longer = [n for n, ids in enumerate(flat) if len(ids) > 1]
        if longer:
            tails = self._score_behind(state, [rows[n] for n in longer], [flat[n] for n in longer])
            for n, tail in zip(longer, tails, strict=True):
                sums[n] += sum(tail)
        totals = iter(sums)
        return [[next(totals) for _ in own] for own in options]

    def _score_behind(
        self, state: Decoding, rows: Sequence[int], sequences: Sequence[Sequence[int]]
    ) -> list[tuple[float, ...]]:
        """Log-probabilities of all but the first token of sequences that follow these rows."""
        state.keep(rows)
        longest = max(map(len, sequences)) - 1
        ids_BS = self._tensor([[*ids[:-1], *[0] * (longest + 1 - len(ids))] for ids in sequences])
        hidden_BSD = self._body(
            ids_BS,
            attention_mask=torch.cat([state.mask, torch.ones_like(ids_BS)], dim=1),
            position_ids=state.lengths[:, None] + torch.arange(longest, device=self.device),
            past_key_values=state.cache,
            use_cache=True,
        )
        return self._of_tails(hidden_BSD, sequences, [len(ids) - 1 for ids in sequences])

    def _of_tails(
        self,
        hidden_BSD: torch.Tensor,
        sequences: Sequence[Sequence[int]],
        num_scored: Sequence[int],
    ) -> list[tuple[float, ...]]:
        """Log-probabilities of the last `num_scored` tokens, each predicted one place before."""
        rows: list[int] = []
        places: list[int] = []
        targets: list[int] = []
        for row, (ids, count) in enumerate(zip(sequences, num_scored, strict=True)):
            rows += [row] * count
            places += range(len(ids) - 1 - count, len(ids) - 1)
            targets += ids[len(ids) - count :]
        logprobs = iter(self._logprobs(hidden_BSD[rows, places], self._tensor(targets)).tolist())
        return [tuple(next(logprobs) for _ in range(count)) for count in num_scored]

    def _logprobs(self, hidden_ND: torch.Tensor, targets_N: torch.Tensor) -> torch.Tensor:
        found = [
            torch.log_softmax(self.logits(hidden_nD), dim=-1).gather(1, targets_n[:, None])[:, 0]
            for hidden_nD, targets_n in zip(
                hidden_ND.split(LOGIT_ROWS), targets_N.split(LOGIT_ROWS), strict=True
            )
        ]
        return torch.cat(found)

    def _body(self, ids_BS: torch.Tensor, **settings: Any) -> torch.Tensor:
        # the body without the output layer; PEFT changes its modules in place
        hidden_BSD: torch.Tensor = self.model.base_model(input_ids=ids_BS, **settings)[0]
        return hidden_BSD

    def _cache(self, room: int) -> Cache:
        if not self.can_share:
            return DynamicCache(config=self.model.config)
        return Cache(
            layers=[RoomyLayer(room) for _ in DynamicCache(config=self.model.config).layers]
        )

    def _spread(self, prefix: Cache | None, num_rows: int, room: int) -> Cache:
        cache = self._cache(_length(prefix) + room)
        if prefix is not None:
            for layer, shared in zip(cache.layers, prefix.layers, strict=True):
                layer.update(
                    shared.keys.expand(num_rows, -1, -1, -1),
                    shared.values.expand(num_rows, -1, -1, -1),
                )
        return cache

    def _tensor(self, values: Any) -> torch.Tensor:
        return torch.tensor(values, device=self.device)

    @torch.inference_mode()
    def _check_logits(self) -> None:
        ids_BS = torch.arange(4, device=self.device)[None] % self.config.vocab_size
        expected_SV = self.model(input_ids=ids_BS).logits[0].float()
        found_SV = self.logits(self._body(ids_BS)[0])
        if not torch.allclose(found_SV, expected_SV, rtol=1e-2, atol=1e-2):
            raise ValueError(
                f"models of type {self.config.model_type!r} compute their logits in a way that "
                "engine 'transformers' does not know; choose another base model or engine"
            )


def _length(prefix: Cache | None) -> int:
    return 0 if prefix is None else int(prefix.get_seq_length())
