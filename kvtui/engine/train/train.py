"""Train the tiny Llama: one run is one stage with its own sequence length, mixture and rates.

    python train.py --out DIR --stage base --tokens 10e6 --mix base.train.bin=1
    python train.py --out DIR --stage long --init DIR/base.pt --seq 2048 --batch 4 ...

A mixture is a list of id files (uint16) with weights. A stage that was interrupted goes on where
its last checkpoint stands when the same command is given again. Started by `torchrun
--nproc-per-node N` it shares each batch among N processes, which lose less than threads do where
other work disturbs them.

Matrices are trained with Muon, the embedding and the norms with AdamW; the rate warms up, then
goes linearly from --lr to --lr-end. Every log line is JSON.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
import torch.distributed as dist
from model import Llama, Shape

SEED = 20261129
MUON_WEIGHT_DECAY = 0.05
ADAM_RATE_SHARE = 0.6  # AdamW's rate as a share of Muon's (both match AdamW's update size).
CHECKPOINT_SECONDS = 180
LOG_STEPS = 10
EVAL_STEPS = 200
EVAL_SEQUENCES = 32


@dataclass
class Source:
    """An id file read as a stream of windows in a new random order each epoch."""

    path: Path
    weight: float
    seq: int
    rng: np.random.Generator
    ids: np.ndarray = field(init=False)
    _starts: list[int] = field(init=False, default_factory=list)

    def __post_init__(self) -> None:
        self.ids = np.fromfile(self.path, dtype=np.uint16)
        if len(self.ids) <= self.seq + 1:
            raise SystemExit(f"{self.path} holds {len(self.ids)} tokens, fewer than --seq needs")

    def window(self) -> np.ndarray:
        """The next window of seq + 1 ids."""
        if not self._starts:
            offset = int(self.rng.integers(0, min(self.seq, len(self.ids) - self.seq - 1)))
            starts = np.arange(offset, len(self.ids) - self.seq - 1, self.seq)
            self._starts = self.rng.permutation(starts).tolist()
        start = self._starts.pop()
        return self.ids[start : start + self.seq + 1]


class Mixture:
    """Batches drawn from weighted sources."""

    def __init__(self, parts: list[str], seq: int, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.sources = []
        for part in parts:
            path, _, weight = part.rpartition("=")
            self.sources.append(Source(Path(path), float(weight), seq, self.rng))
        weights = np.array([source.weight for source in self.sources])
        self.shares = weights / weights.sum()

    def batch(self, size: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Inputs and targets, each (size, seq)."""
        picks = self.rng.choice(len(self.sources), size=size, p=self.shares)
        rows = np.stack([self.sources[i].window() for i in picks]).astype(np.int64)
        both = torch.from_numpy(rows)
        return both[:, :-1].contiguous(), both[:, 1:].contiguous()


def optimizers(model: Llama) -> list[torch.optim.Optimizer]:
    """Muon for the blocks' matrices, AdamW for the rest."""
    matrices = [w for w in model.blocks.parameters() if w.dim() == 2]
    chosen = set(map(id, matrices))
    rest = [w for w in model.parameters() if id(w) not in chosen]
    return [
        torch.optim.Muon(
            matrices,
            lr=1.0,
            weight_decay=MUON_WEIGHT_DECAY,
            momentum=0.95,
            adjust_lr_fn="match_rms_adamw",
        ),
        torch.optim.AdamW(rest, lr=1.0, betas=(0.9, 0.95), weight_decay=0.0),
    ]


@torch.no_grad()
def held_out_loss(model: Llama, path: Path, seq: int) -> float:
    """Mean loss over the first windows of a held-out id file."""
    ids = torch.from_numpy(np.fromfile(path, dtype=np.uint16).astype(np.int64))
    count = min(EVAL_SEQUENCES, (len(ids) - 1) // seq)
    x = ids[: count * seq].view(count, seq)
    y = ids[1 : count * seq + 1].view(count, seq)
    with torch.autocast("cpu", torch.bfloat16):
        losses = [model.loss(x[i : i + 8], y[i : i + 8]) for i in range(0, count, 8)]
    return float(torch.stack(losses).mean())


def share_gradients(model: Llama, world: int) -> None:
    """Average the gradients over all processes."""
    grads = [w.grad for w in model.parameters() if w.grad is not None]
    flat = torch.cat([grad.flatten() for grad in grads])
    dist.all_reduce(flat)
    flat /= world
    for grad, part in zip(grads, flat.split([g.numel() for g in grads]), strict=True):
        grad.copy_(part.view_as(grad))


def save(path: Path, state: dict[str, object]) -> None:
    """Write a checkpoint so that an interruption leaves the old one whole."""
    partial = path.with_suffix(".part")
    torch.save(state, partial)
    partial.replace(path)


def main() -> None:
    """Run or resume one stage."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--stage", required=True)
    parser.add_argument("--init", type=Path, help="checkpoint of the stage before")
    parser.add_argument("--mix", nargs="+", required=True, metavar="FILE=WEIGHT")
    parser.add_argument("--val", nargs="*", type=Path, default=[])
    parser.add_argument("--tokens", type=float, required=True)
    parser.add_argument("--seq", type=int, default=256)
    parser.add_argument("--batch", type=int, default=32, help="sequences per step")
    parser.add_argument("--micro", type=int, default=4096, help="tokens per forward pass")
    parser.add_argument("--lr", type=float, default=5e-3)
    parser.add_argument("--lr-end", type=float, default=5e-3)
    parser.add_argument("--warmup", type=int, default=40, help="steps")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--compile", action=argparse.BooleanOptionalAction, default=True)
    args = parser.parse_args()

    args.out.mkdir(parents=True, exist_ok=True)
    torch.set_num_threads(args.threads)
    torch.manual_seed(SEED)
    rank, world = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
    if world > 1:
        dist.init_process_group("gloo")
    model = Llama(Shape())
    step, total, seconds, history = 0, 0, 0.0, []
    optims = optimizers(model)
    own = args.out / f"{args.stage}.pt"
    resumed = own.exists()
    if resumed or args.init:
        state = torch.load(own if resumed else args.init, weights_only=False)
        model.load_state_dict(state["model"])
        for optim, saved in zip(optims, state["optims"], strict=True):
            optim.load_state_dict(saved)
        total, seconds, history = state["total"], state["seconds"], state["history"]
        step = state["step"] if resumed else 0
    steps = round(args.tokens / (args.batch * args.seq))
    mixture = Mixture(args.mix, args.seq, SEED + total + rank)
    own_rows = args.batch // world
    loss_of = torch.compile(model.loss, dynamic=False) if args.compile else model.loss
    rows = min(own_rows, max(1, args.micro // args.seq))
    if own_rows % rows:
        raise SystemExit(f"--batch must be a multiple of {rows * world} here")
    log = (args.out / "log.jsonl").open("a")

    def checkpoint() -> None:
        entry = {"stage": args.stage, "tokens": total, "seconds": round(seconds)}
        save(
            own,
            {
                "model": model.state_dict(),
                "optims": [optim.state_dict() for optim in optims],
                "shape": model.shape.as_dict(),
                "step": step,
                "total": total,
                "seconds": seconds,
                "history": [*(h for h in history if h["stage"] != args.stage), entry],
            },
        )

    def note(**fields: object) -> None:
        if rank:
            return
        line = json.dumps({"stage": args.stage, "step": step, "tokens": total, **fields})
        log.write(line + "\n")
        log.flush()
        print(line, flush=True)

    note(steps=steps, parameters=sum(w.numel() for w in model.parameters()), seq=args.seq)
    model.train()
    began, saved_at, recent = time.monotonic(), time.monotonic(), []
    model.zero_grad()
    while step < steps:
        done = step / steps
        rate = (args.lr + (args.lr_end - args.lr) * done) * min(
            1.0, (step + 1) / max(1, args.warmup)
        )
        for optim, share in zip(optims, (1.0, ADAM_RATE_SHARE), strict=True):
            optim.param_groups[0]["lr"] = rate * share
        inputs, targets = mixture.batch(own_rows)
        parts = own_rows // rows
        mean = 0.0
        for i in range(0, own_rows, rows):
            with torch.autocast("cpu", torch.bfloat16):
                loss = loss_of(inputs[i : i + rows], targets[i : i + rows]) / parts
            loss.backward()
            mean += float(loss.detach())
        if world > 1:
            share_gradients(model, world)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for optim in optims:
            optim.step()
            optim.zero_grad(set_to_none=False)
        step += 1
        total += inputs.numel() * world
        recent.append(mean)
        now = time.monotonic()
        seconds, began = seconds + now - began, now
        if step % LOG_STEPS == 0 or step == steps:
            note(loss=round(sum(recent) / len(recent), 4), lr=rate, seconds=round(seconds))
            recent = []
        if rank == 0 and (step % EVAL_STEPS == 0 or step == steps):
            model.eval()
            note(**{f"val {p.name}": round(held_out_loss(model, p, args.seq), 4) for p in args.val})
            model.train()
        if rank == 0 and (now - saved_at > CHECKPOINT_SECONDS or step == steps):
            checkpoint()
            saved_at = now


if __name__ == "__main__":
    main()
