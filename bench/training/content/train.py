#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains the models of main content and measures them on pages of sites that they have not seen. See README.md.

    pip install catboost
    python3 bench/training/content/train.py pages.jsonl engine/parse/content/model.bin [peers.jsonl]

Two models: of a page's type (of seven, from features of the page), and of a group's share of words that are content,
which sees the first one's probability of each type.

Sites are dealt to five folds. Each fold's pages are judged by models that learned from the other four; the types that a
model of groups learns from were predicted in that way, too, so that it sees them as they are on unseen pages. The
models that are written learned from all pages.
"""
import collections
import json
import struct
import sys
import tempfile

import numpy as np
from catboost import CatBoostClassifier

TYPES = ["article", "collection", "documentation", "forum", "listing", "product", "service"]
FOLDS = 5
COMMON = dict(border_count=32, rsm=0.3, thread_count=2, verbose=0, allow_writing_files=False)
GROUPS = dict(iterations=550, depth=6, learning_rate=0.06, l2_leaf_reg=10, random_seed=7)
TYPE = dict(iterations=150, depth=4, learning_rate=0.1, random_seed=1)
SHARE_SURE = 0.85  # as in score.go


def f1(got, gold):
    both = sum((collections.Counter(got) & collections.Counter(gold)).values())
    return 2 * both / (len(got) + len(gold)) if got or gold else 1.0


def shares(page, taken):
    """The words of each group, those in blocks that are taken, and their share."""
    n = len(page["features"])
    of = np.bincount(page["groups"], page["words"], n) if n else np.zeros(0)
    good = np.bincount(page["groups"], page["words"] * taken, n) if n else np.zeros(0)
    return of, good, good / np.maximum(1, of)


def labels(page):
    """The blocks that make the best text: first those with most phrases in the gold text, then improved one by one.

    What a page says twice, the gold text often has once: a post, and its quotation in another post. The block that is
    given up must be that of the group with the smaller share or the fewer words, or the later one. Otherwise posts get
    the labels of their quotations."""
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
        _, good, share = shares(page, np.array(taken, dtype=float))
        group = page["groups"]
        for i in sorted(range(len(taken)), key=lambda i: (round(share[group[i]], 1), good[group[i]], -i)):
            words = page["blocks"][i]
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


def gather(page):
    """Labels and weights of groups. A label is the share of a group's words that are in blocks that are taken."""
    of, _, page["labels"] = shares(page, page["labels"])
    page["size"] = of
    page["weights"] = np.sqrt(np.minimum(1, of / max(50, len(page["gold"]), of.sum() * 0.2)))


def load(name):
    pages = [json.loads(line) for line in open(name)]
    width = max(len(p["page"] or []) for p in pages)
    for p in pages:
        p["blocks"], p["gold"] = [b or [] for b in p["blocks"]], p["gold"] or []
        p["words"] = np.array([max(1, len(b)) for b in p["blocks"]], dtype=float)
        p["groups"] = np.array(p["groups"] or [], dtype=int)
        p["features"] = np.array(p["features"] or [], dtype=np.float32)
        p["labels"] = labels(p)
        p["page"] = p["page"] or [0] * width
        gather(p)
    return pages


def deal(pages):
    """The fold of each page. Large sites first, each to the fold that has fewest pages of the type."""
    by, fold, count = collections.defaultdict(list), np.zeros(len(pages), int), [collections.Counter() for _ in range(FOLDS)]
    for i, p in enumerate(pages):
        by[p["site"]].append(i)
    sites = sorted(by)
    np.random.RandomState(1).shuffle(sites)
    for s in sorted(sites, key=lambda s: -len(by[s])):
        kind = pages[by[s][0]]["type"]
        f = min(range(FOLDS), key=lambda f: (count[f][kind], sum(count[f].values())))
        for i in by[s]:
            fold[i] = f
            count[f][pages[i]["type"]] += 1
    return fold


def fit_types(pages):
    m = CatBoostClassifier(loss_function="MultiClass", **COMMON, **TYPE)
    m.fit(np.array([p["page"] for p in pages], dtype=np.float32), [TYPES.index(p["type"]) for p in pages])
    return m


def fit(pages, rows):
    some = [(p, r) for p, r in zip(pages, rows) if len(p["groups"])]
    m = CatBoostClassifier(loss_function="CrossEntropy", **COMMON, **GROUPS)
    m.fit(np.concatenate([r for _, r in some]), np.concatenate([p["labels"] for p, _ in some]),
          sample_weight=np.concatenate([p["weights"] for p, _ in some]))
    return m


def unseen(pages, fold, rows):
    """The judgement of each page's groups by a model that has not seen the page's site."""
    out = [np.zeros(0)] * len(pages)
    for f in range(FOLDS):
        seen = [i for i in range(len(pages)) if fold[i] != f]
        m = fit([pages[i] for i in seen], [rows[i] for i in seen])
        for i in np.where(fold == f)[0]:
            if len(pages[i]["groups"]):
                out[i] = m.predict_proba(rows[i])[:, 1]
    return out


def with_types(pages, types):
    """The rows of groups: their features and the page's types."""
    return [np.concatenate([p["features"], np.repeat(t[None], len(p["features"]), 0)], 1).astype(np.float32)
            if len(p["groups"]) else None for p, t in zip(pages, types)]


def choose(page, q):
    """The same choice as in score.go: the groups with the best F1 that can be expected."""
    if not len(q):
        return []
    order, good = np.argsort(-q, kind="stable"), q * page["size"]
    best = 2 * np.cumsum(good[order]) / (np.cumsum(page["size"][order]) + SHARE_SURE * good.sum())
    return (q >= q[order[best.argmax()]])[page["groups"]]


def scores(pages, chances):
    return [f1([w for b, t in zip(p["blocks"], choose(p, q)) if t for w in b], p["gold"])
            for p, q in zip(pages, chances)]


def show(pages, columns):
    """Prints the mean of each column by type of page. unseen is seine on pages of unseen sites: compare others with it.
    seen is the model that was built in when peers.jsonl was made, which may have learned from these pages."""
    print(" " * 16 + "".join(f"{n:>22}" for n in columns) + "   pages")
    for t in TYPES + ["all"]:
        of = [i for i, p in enumerate(pages) if t in (p["type"], "all")]
        print(f"{t:16}" + "".join(f"{np.mean([c[i] for i in of]):22.3f}" for c in columns.values()) + f"{len(of):8}")
    sys.stdout.flush()


def pack(m, classes, width):
    """One model as model.go reads it."""
    with tempfile.NamedTemporaryFile(suffix=".json") as f:
        m.save_model(f.name, format="json")
        model = json.load(open(f.name))
    scale, bias = model["scale_and_bias"]
    trees, depth = model["oblivious_trees"], m.get_all_params()["depth"]
    out = struct.pack("<BBHH", classes, depth, len(trees), width) + struct.pack(f"<{classes}f", *bias)
    for tree in trees:
        splits = tree["splits"]
        # A tree with fewer splits asks for feature 0 above infinity: it needs no further leaves.
        features = [s["float_feature_index"] for s in splits] + [0] * (depth - len(splits))
        borders = [s["border"] for s in splits] + [float("inf")] * (depth - len(splits))
        leaves = [v * scale for v in tree["leaf_values"]]
        leaves += [0.0] * ((classes << depth) - len(leaves))
        out += struct.pack(f"<{depth}H{depth}f{classes << depth}f", *features, *borders, *leaves)
    return out


def main():
    pages = load(sys.argv[1])
    fold = deal(pages)
    types = np.zeros((len(pages), len(TYPES)))
    for f in range(FOLDS):
        m = fit_types([p for p, g in zip(pages, fold) if g != f])
        of = np.where(fold == f)[0]
        types[of] = m.predict_proba(np.array([pages[i]["page"] for i in of], dtype=np.float32))
    right = types.argmax(1) == [TYPES.index(p["type"]) for p in pages]
    print(f"{len(pages)} pages of {len({p['site'] for p in pages})} sites; type right: {right.mean():.3f}")
    rows = with_types(pages, types)
    everything = [f1([w for b in p["blocks"] for w in b], p["gold"]) for p in pages]
    columns = {"all text": everything, "unseen": scores(pages, unseen(pages, fold, rows))}
    if len(sys.argv) > 3:
        peers = {p["name"]: p for p in map(json.loads, open(sys.argv[3]))}
        for name in next(iter(peers.values()))["ms"]:
            columns["seen" if name == "seine" else name] = [f1(peers[p["name"]]["words"][name] or [], p["gold"]) for p in pages]
            print(f"{name}: {np.mean([p['ms'][name] for p in peers.values()]):.2f} ms a page")
    show(pages, columns)
    out = pack(fit_types(pages), len(TYPES), len(pages[0]["page"])) + pack(fit(pages, rows), 1, rows[0].shape[1])
    open(sys.argv[2], "wb").write(b"scm3" + out)


if __name__ == "__main__":
    main()
