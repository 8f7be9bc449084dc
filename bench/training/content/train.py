#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains the model of main content and measures it on pages that it has not seen.

    pip install catboost scikit-learn
    go run ./bench/training/content WCXB > pages.jsonl
    (cd bench/peers && go run . content WCXB) > peers.jsonl     # to compare with others
    python3 bench/training/content/train.py pages.jsonl engine/parse/content/model.bin [peers.jsonl]

The model learns for each block of a page whether the gold text has it: blocks are taken so that their words agree best
with those of the gold text (F1). Each fifth of the pages is set aside in turn; the figures are of pages that the model
of that turn has not seen. The model that is written has seen all pages.
"""
import collections
import json
import struct
import sys

import numpy as np
from catboost import CatBoostClassifier
from sklearn.model_selection import StratifiedKFold

NEARS = 40  # how many of the features "is near a box of this kind" are used, those that matter most
TREES, DEPTH, RATE = 320, 6, 0.06
SURE, LIKELY, LEAST = 0.35, 0.2, 0.15  # as in score.go


def f1(got, gold):
    both = sum((collections.Counter(got) & collections.Counter(gold)).values())
    return 2 * both / (len(got) + len(gold)) if got or gold else 1.0


def labels(page):
    """The blocks that make the best text: first those with most phrases in the gold text, then improved one by one."""
    gold, want = page["gold"], collections.Counter(page["gold"])
    phrases = [None] + [{tuple(gold[i:i + k]) for i in range(len(gold) - k + 1)} for k in (1, 2, 3, 4)]
    taken = []
    for words in page["blocks"]:
        k = min(4, len(words))
        grams = [tuple(words[i:i + k]) for i in range(len(words) - k + 1)] if k else []
        taken.append(bool(grams) and sum(g in phrases[k] for g in grams) / len(grams) >= 0.5)
    have = collections.Counter()
    for words, t in zip(page["blocks"], taken):
        if t:
            have.update(words)
    total, both = sum(have.values()), sum((have & want).values())
    for _ in range(3):
        changed = False
        for i, words in enumerate(page["blocks"]):
            sign = -1 if taken[i] else 1
            counts = collections.Counter(words).items()
            gain = sum(min(have[w] + sign * m, want[w]) - min(have[w], want[w]) for w, m in counts)
            size = total + sign * len(words)
            if 2 * (both + gain) * (total + len(gold)) > 2 * both * (size + len(gold)) + 1e-9:
                both, total, taken[i], changed = both + gain, size, not taken[i], True
                for w in words:
                    have[w] += sign
        if not changed:
            break
    return np.array(taken, dtype=float)


def choose(p, page):
    """The same choice as in score.go."""
    if not len(p):
        return []
    p, words = p[page["groups"]], page["words"]
    taken = p > SURE
    if words[taken].sum() < LEAST * words.sum():
        taken = p > LIKELY
    return taken


def gather(page):
    """Labels and weights of groups. A label is the share of a group's words that are in blocks that are taken."""
    n = len(page["features"])
    of = np.bincount(page["groups"], page["words"], n) if n else np.zeros(0)
    good = np.bincount(page["groups"], page["words"] * page["labels"], n) if n else np.zeros(0)
    page["labels"] = good / np.maximum(1, of)
    page["weights"] = np.sqrt(np.minimum(1, of / max(50, len(page["gold"]), of.sum() * 0.2)))


def fit(pages, columns, **more):
    pages = [p for p in pages if len(p["blocks"])]
    o = dict(iterations=TREES, depth=DEPTH, learning_rate=RATE, border_count=32, rsm=0.3, random_seed=1, thread_count=2,
             verbose=0, allow_writing_files=False)
    m = CatBoostClassifier(loss_function="CrossEntropy", **{**o, **more})
    m.fit(np.concatenate([p["features"][:, columns] for p in pages]), np.concatenate([p["labels"] for p in pages]),
          sample_weight=np.concatenate([p["weights"] for p in pages]))
    return m


def show(by_type):
    """Prints the mean of each column by type of page. unseen is seine on pages that the model had not seen: compare
    others with this. seen is the trained model on the pages that it learned from."""
    everything = [one for some in by_type.values() for one in some]
    names = list(everything[0])
    print(" " * 16 + "".join(f"{n:>22}" for n in names) + "   pages")
    for t, some in [*sorted(by_type.items()), ("all", everything)]:
        print(f"{t:16}" + "".join(f"{np.mean([one[n] for one in some]):22.3f}" for n in names) + f"{len(some):8}")


def main():
    pages = [json.loads(line) for line in open(sys.argv[1])]
    for p in pages:
        p["blocks"], p["gold"] = [b or [] for b in p["blocks"]], p["gold"] or []
        p["words"] = np.array([max(1, len(b)) for b in p["blocks"]], dtype=float)
        p["labels"] = labels(p)
        p["groups"] = np.array(p["groups"] or [], dtype=int)
        p["features"] = np.array(p["features"] or [], dtype=np.float32)
        gather(p)
    plain = len(pages[0]["features"][0]) - pages[0]["nears"]
    everything = list(range(plain + pages[0]["nears"]))
    weight = np.zeros(len(everything))
    for seed in (1, 2, 3):
        m = fit(pages, everything, iterations=200, depth=5, learning_rate=0.1, random_seed=seed)
        weight += m.get_feature_importance()
    nears = sorted((i for i in everything if i >= plain), key=lambda i: -weight[i])[:NEARS]
    columns = everything[:plain] + nears

    peers = {}
    if len(sys.argv) > 3:
        peers = {p["name"]: p for p in map(json.loads, open(sys.argv[3]))}
    by_type = collections.defaultdict(list)
    turns = StratifiedKFold(5, shuffle=True, random_state=1).split(np.zeros(len(pages)), [p["type"] for p in pages])
    for seen, unseen in turns:
        m = fit([pages[i] for i in seen], columns)
        for i in unseen:
            p = pages[i]
            taken = choose(m.predict_proba(p["features"][:, columns])[:, 1], p) if len(p["blocks"]) else []
            one = {"unseen": f1([w for b, t in zip(p["blocks"], taken) if t for w in b], p["gold"])}
            for name, got in (peers[p["name"]]["words"] if peers else {}).items():
                one["seen" if name == "seine" else name] = f1(got or [], p["gold"])
            by_type[p["type"]].append(one)
    show(by_type)
    for name in next(iter(peers.values()))["ms"] if peers else []:
        print(f"{name}: {np.mean([p['ms'][name] for p in peers.values()]):.2f} ms a page")

    m = fit(pages, columns)
    m.save_model("/tmp/content-model.json", format="json")
    model = json.load(open("/tmp/content-model.json"))
    scale, (bias,) = model["scale_and_bias"]
    with open(sys.argv[2], "wb") as out:
        out.write(struct.pack("<4sBBHHf", b"scm1", DEPTH, len(nears), plain, len(model["oblivious_trees"]), bias))
        out.write(bytes(i - plain for i in nears))
        for tree in model["oblivious_trees"]:
            splits = tree["splits"]
            # A tree with fewer splits repeats the first feature with a border of infinity: it needs no further leaves.
            features = [s["float_feature_index"] for s in splits] + [0] * (DEPTH - len(splits))
            borders = [s["border"] for s in splits] + [float("inf")] * (DEPTH - len(splits))
            leaves = [v * scale for v in tree["leaf_values"]]
            leaves += [0.0] * ((1 << DEPTH) - len(leaves))
            out.write(bytes(features) + struct.pack(f"<{DEPTH}f", *borders) + struct.pack(f"<{1 << DEPTH}f", *leaves))


main()
