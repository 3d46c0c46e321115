"""`personae ask WHO QUESTION`: one answer, to hear what an adapter sounds like."""

from __future__ import annotations

import argparse
from pathlib import Path

EXAMPLES = """
examples:
  personae ask ada "What do you do on Sundays?"
  personae ask base:ada+chronological-10 "What do you do on Sundays?" --corpus corpus/
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.epilog = EXAMPLES
    parser.add_argument("who", help="NAME[@VERSION][+CONTEXT], base:NAME[+CONTEXT] or BASE")
    parser.add_argument("question")
    parser.add_argument("overrides", nargs="*", metavar="engine.FIELD=VALUE", help="settings")
    parser.add_argument("--adapters", type=Path, default=Path("adapters"))
    parser.add_argument("--corpus", type=Path, help="needed by contexts and base:NAME")
    parser.add_argument("--max-tokens", type=int, default=200)
    parser.add_argument("--temperature", type=float, default=0.0)
    parser.add_argument("--config", type=Path, help="YAML file with settings")


def run(options: argparse.Namespace) -> int:
    from data_prep.corpus import Corpus
    from data_prep.engine import Message, Request, Sampling
    from data_prep.prompting import NO_CONTEXT, build_messages
    from data_prep.who import parse_who
    from personae.settings import AskCommand, load_config
    from personae.wiring import context_for, default_prompt
    from serve.answerers import resolve_answerer
    from serve.engines import load_engine

    config = load_config(AskCommand, options.config, options.overrides)
    who = parse_who(options.who)
    corpus = Corpus(options.corpus) if options.corpus else None
    answerer = resolve_answerer(
        who, adapters=options.adapters, default_prompt=default_prompt(corpus, who)
    )
    messages: tuple[Message, ...] = ({"role": "user", "content": options.question},)
    if answerer.prompt is not None:
        context = NO_CONTEXT
        if who.context.kind != "none":
            context = context_for(corpus, who, options.question)
        messages = build_messages(answerer.prompt, options.question, context)
    folders = {answerer.adapter: answerer.folder} if answerer.adapter and answerer.folder else {}
    engine = load_engine(config.engine, folders)
    request = Request(
        messages=messages,
        adapter=answerer.adapter,
        sampling=Sampling(max_tokens=options.max_tokens, temperature=options.temperature),
        template_args=answerer.template_args,
    )
    print(next(engine.generate([request])).text)
    return 0
