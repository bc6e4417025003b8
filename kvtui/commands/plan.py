"""``kvtui plan``: what fits on the card, as text or JSON."""

from __future__ import annotations

from typing import Any

import click

from kvtui.commands import completion
from kvtui.commands.errors import BadInput
from kvtui.commands.output import print_json, put
from kvtui.commands.own_cards import own_cards
from kvtui.commands.speech import lang_option, speak_as_configured


@click.command()
@click.option(
    "--arch",
    metavar="NAME",
    shell_complete=completion.models,
    help="Model of the catalogue (kvtui models).",
)
@click.option("--config-json", metavar="FILE", help="A Hugging Face config.json.")
@click.option("--gguf", metavar="FILE", help="A GGUF file; only its header is read.")
@click.option("--layers", metavar="N", help="Raw geometry: layers,")
@click.option("--kv-heads", metavar="N", help="heads that are stored,")
@click.option("--head-dim", metavar="N", help="elements of a key,")
@click.option("--v-head-dim", metavar="N", help="of a value [as a key],")
@click.option("--heads", metavar="N", help="query heads,")
@click.option("--window", metavar="N", help="sliding window in tokens,")
@click.option("--params-b", metavar="N", help="parameters in billions.")
@click.option(
    "--gpu",
    metavar="NAME",
    shell_complete=completion.cards,
    help="Card: 24GB, 40GB, 80GB or a real one [24GB].",
)
@click.option("--gpus", metavar="N", help="How many cards [1, or tp × pp × dp].")
@click.option("--tp", metavar="N", help="Tensor parallel ranks.")
@click.option("--pp", metavar="N", help="Pipeline stages.")
@click.option("--pp-partition", metavar="N,N", help="Layers of each stage [even].")
@click.option("--dp", metavar="N", help="Data parallel replicas.")
@click.option("--ep", metavar="N", help="Ranks that share the experts.")
@click.option("--cp", metavar="N", help="Context parallel ranks.")
@click.option("--context", metavar="N", help="Tokens of one sequence, 128k too [2048].")
@click.option("--concurrency", metavar="N", help="Sequences at once [1].")
@click.option("--kv-dtype", metavar="NAME", help="Precision of the cache [the model's].")
@click.option("--k-dtype", metavar="NAME", help="Of the keys alone.")
@click.option("--v-dtype", metavar="NAME", help="Of the values alone.")
@click.option("--weights-dtype", metavar="NAME", help="Of the weights [the checkpoint's].")
@click.option("--weights-gib", metavar="N", help="Size of all weights together, in GiB.")
@click.option("--lora-gib", metavar="N", help="LoRA adapters beside them.")
@click.option("--draft-gib", metavar="N", help="A draft model beside them.")
@click.option("--kv-budget-gib", metavar="N", help="GiB for the cache per card, set by hand.")
@click.option("--engine", metavar="NAME", help="logical, vllm, llamacpp or sglang [logical].")
@click.option("--gpu-memory-utilization", metavar="F", help="vLLM's fraction of the card [0.92].")
@click.option("--block-size", metavar="N", help="vLLM: tokens of a block [16, MLA 64].")
@click.option("--max-num-batched-tokens", metavar="N", help="vLLM: tokens of a batch.")
@click.option("--max-num-seqs", metavar="N", help="vLLM: cap on sequences.")
@click.option("--activation-gib", metavar="N", help="Activation peak per card [measured presets].")
@click.option("--non-torch-gib", metavar="N", help="CUDA context and NCCL per card [presets].")
@click.option("--graphs-gib", metavar="N", help="vLLM: CUDA graphs per card [1.04].")
@click.option("--prefix-caching", is_flag=True, help="vLLM: states keep a second block.")
@click.option("--spec-tokens", metavar="N", help="Speculative tokens [0].")
@click.option(
    "--async-scheduling/--no-async-scheduling",
    default=None,
    help="vLLM: windows reserve for one batch more [on].",
)
@click.option(
    "--parallel", metavar="N", help="llama.cpp's -np; without --concurrency, --context is its -c."
)
@click.option("--ubatch", metavar="N", help="llama.cpp's -ub [512].")
@click.option("--swa-full", is_flag=True, help="llama.cpp: full cells for windows.")
@click.option("--kv-unified", is_flag=True, help="llama.cpp: the slots share one buffer.")
@click.option("--mem-fraction-static", metavar="F", help="SGLang's fraction [worked out].")
@lang_option
@click.option("--json", "as_json", is_flag=True, help="One JSON object on stdout.")
def plan(as_json: bool, lang: str | None, **given: Any) -> None:
    """Say what fits on the card: KV cache, weights, the longest context, the most sequences.

    Sizes are GiB (2^30). A model is named by --arch, read from a file, or given raw.
    """
    from kvtui.memory import need
    from kvtui.memory.errors import PlanError
    from kvtui.memory.plan import plan as work_out

    if not as_json:  # what machines read is English
        speak_as_configured(lang)
    # Reading the configuration takes a while; without --gpu no card of it can be meant.
    own = own_cards() if given.get("gpu") else []
    try:
        question, told = work_out(given, own)
        choices = need.smallest(question)
    except PlanError as error:
        raise BadInput(str(error)) from error
    if as_json:
        document = told.to_json()
        document["smallest_cards"] = [
            {"name": choice.card.name, "count": choice.number} for choice in choices[:5]
        ]
        print_json(document)
        return
    from kvtui.memory.render import render_text

    put(render_text(told, choices))
