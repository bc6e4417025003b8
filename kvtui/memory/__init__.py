"""What fits on the card: KV cache, weights and budgets, exact to the byte.

Pure: no network, no screen, no files but the ones asked for; every answer in well under 10 ms.
To fill a Memory pane:

    from kvtui.memory import budget, cards, catalogue, kv, model, precision

    found = catalogue.match(endpoint_model_id)          # Match(model, how, …) or None
    llama = found.model if found else catalogue.find("Llama-3.1-8B")
    tiny = model.custom(layers=6, kv_heads=2, head_dim=32, n_heads=8, kv_dtype="f32",
                        weights_bytes=6_300_000, max_context=2048, name="kvtui-tiny")
    card = cards.find("RTX 4090")                       # or "24GB"; cards.find(name, own=[…])

    asked = budget.Question(llama, card, engine="vllm", k="fp8", v="fp8",
                            context=2048, concurrency=4)
    told = budget.answer(asked)
    told.budget                # weights_, overhead_, kv_, outside_bytes: sum to card.memory_bytes
                               # (kv_bytes is negative by what is missing; clamp it for a bar),
                               # overhead_low_bytes and overhead_high_bytes for its uncertainty
    told.fits, told.max_context, told.max_concurrency, told.formula, told.notes
    told.bytes_per_token, told.constant_bytes_per_sequence
    told.bounds                # decode's upper bound by bandwidth, for some batch sizes
    told.details               # the engine's own figures (blocks, groups, cells)
    told.to_json()             # what `kvtui plan --json` prints

Live: `kv.kv_bytes(llama, "auto", "auto", lengths)` for the sequences of these lengths, once per
frame; KV free is `told.budget.kv_bytes` less that. MHA, GQA and MQA side by side:
`model.head_variants(llama)` gives (label, KV heads, model), each for `kv.bytes_per_sequence`.
Precisions to offer: `precision.KV_NAMES`. Lists to choose from: `catalogue.search(query)`,
`cards.search(query, own=[…])`, profiles first. Next answer: `dataclasses.replace(asked, …)`.

For a planner: `plan.plan({"arch": "Llama-3.1-8B", "gpu": "H100", "context": "32k", …})` takes the
options of `kvtui plan` as text and gives (Question, Answer); a model from a file is
`hf_config.read_config(path)` or `gguf_model.read_gguf(path)`. `budget.ladder(asked, contexts)`
says what of a ladder fits, `budget.needed_bytes(asked, contexts)` draws memory against context,
`need.smallest(asked)` the cards that hold a need, `flags.flags(told, engine)` an engine's flags,
`examples.EXAMPLES` worked examples as options, `cards.own(name, gib)` a card of the user's own.

Whatever is wrong raises `errors.PlanError` (a ValueError) whose text is one sentence for the user.
"""
