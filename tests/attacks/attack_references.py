"""The attacks as their papers tell them: one text at a time, nothing remembered, nothing skipped. Slow on purpose.

Every function takes `score` (a text -> its probabilities), the text, its label, a surface and a random generator, and
gives (text, probabilities) of where it ended, or None where there is nothing to change. Only the surface is shared with
the package: it says what the words are and what may replace them.
"""

import math

import numpy as np

from uegr.attacks.checklist import CONTRACTIONS, NEUTRAL


def build(words, separators):
    return "".join(a + b for a, b in zip(separators, [*words, ""], strict=True))


def put(words, position, word):
    return [*words[:position], word, *words[position + 1 :]]


def winner(row):
    return max(range(len(row)), key=lambda index: row[index])


def pwws_ren(score, text, label, surface, random):
    split = surface.split(text)
    words, separators = list(split.words), split.separators
    whole = score(text)[label]
    saliency = [whole - score(build(put(words, i, "[UNK]"), separators))[label] for i in range(len(words))]
    total = sum(math.exp(value) for value in saliency)
    ranked = []
    for i in range(len(words)):
        best, most = None, -math.inf
        for other in surface.substitutes(words[i]):
            fall = whole - score(build(put(words, i, other), separators))[label]
            if fall > most:
                best, most = other, fall
        if best is not None:
            ranked.append((math.exp(saliency[i]) / total * most, i, best))
    if not ranked:
        return None
    for _, i, best in sorted(ranked, key=lambda entry: -entry[0]):
        words = put(words, i, best)
        row = score(build(words, separators))
        if winner(row) != label:
            break
    return build(words, separators), row


def pwws_greedy(score, text, label, surface, random):
    split = surface.split(text)
    words, separators = list(split.words), split.separators
    unknown = [1 - score(build(put(words, i, "[UNK]"), separators))[label] for i in range(len(words))]
    total = sum(math.exp(value) for value in unknown)
    ranked = []
    for i in range(len(words)):
        others = surface.substitutes(words[i])
        changes = [1 - score(build(put(words, i, other), separators))[label] for other in others]
        if others:
            ranked.append((math.exp(unknown[i]) / total * max(changes), i))
    if not ranked:
        return None
    row = score(text)
    for _, i in sorted(ranked, key=lambda entry: -entry[0]):
        rows = [(other, score(build(put(words, i, other), separators))) for other in surface.substitutes(words[i])]
        other, best = max(rows, key=lambda pair: 1 - pair[1][label])
        if 1 - best[label] > 1 - row[label]:
            words, row = put(words, i, other), best
            if winner(row) != label:
                break
    return build(words, separators), row


def genetic(score, text, label, surface, random, population=6, iterations=3, neighbours=4, temperature=0.3):
    split = surface.split(text)
    original, separators = list(split.words), split.separators
    listed = [surface.substitutes(word)[:neighbours] for word in original]
    if not any(listed):
        return None

    def place(words):
        unchanged = [i for i in range(len(words)) if listed[i] and words[i] == original[i]]
        allowed = unchanged or [i for i in range(len(words)) if listed[i]]
        chances = np.zeros(len(words))
        for i in allowed:
            chances[i] = len(listed[i])
        return random.choice(len(words), p=chances / chances.sum())

    def perturbed(words, i):
        best, least = words, math.inf
        for other in listed[i]:
            if other != words[i]:
                value = score(build(put(words, i, other), separators))[label]
                if value < least:
                    best, least = put(words, i, other), value
        return best

    # The places of one generation are drawn before anything of it is scored.
    crowd = [(original, place(original)) for _ in range(population)]
    crowd = [perturbed(words, i) for words, i in crowd]
    for generation in range(iterations + 1):
        rows = [score(build(words, separators)) for words in crowd]
        best = max(range(population), key=lambda member: 1 - rows[member][label])
        if winner(rows[best]) != label or generation == iterations:
            return build(crowd[best], separators), rows[best]
        powers = [math.exp((1 - row[label]) / temperature) for row in rows]
        chances = np.array([power / sum(powers) for power in powers])
        parents = random.choice(population, size=(population - 1, 2), p=chances / chances.sum())
        children = []
        for one, two in parents:
            coins = random.random(len(original))
            children.append([crowd[one][i] if coins[i] < 0.5 else crowd[two][i] for i in range(len(original))])
        children = [(child, place(child)) for child in children]
        crowd = [crowd[best]] + [perturbed(child, i) for child, i in children]
    raise AssertionError("not reached")


def textfooler(score, text, label, surface, random, embed=None, threshold=0.7):
    def similarity(one, two):
        if embed is None:
            return 1.0
        a, b = embed(one), embed(two)
        return sum(x * y for x, y in zip(a, b, strict=True)) / math.sqrt(sum(x * x for x in a) * sum(y * y for y in b))

    split = surface.split(text)
    words, separators = list(split.words), list(split.separators)
    whole = score(text)
    importance = []
    for i in range(len(words)):
        gone = i if i == len(words) - 1 and i else i + 1  # the separator after, or before the last word
        row = score(build(words[:i] + words[i + 1 :], separators[:gone] + separators[gone + 1 :]))
        value = whole[label] - row[label]
        if winner(row) != label:
            value += row[winner(row)] - whole[winner(row)]
        importance.append(value)
    now, tried = whole, False
    for i in sorted(range(len(words)), key=lambda i: -importance[i]):
        rows = []
        for other in surface.substitutes(words[i])[:50]:
            tried = True
            variant = build(put(words, i, other), separators)
            likeness = similarity(build(words, separators), variant)
            if likeness > threshold:
                rows.append((other, likeness, score(variant)))
        flips = [entry for entry in rows if winner(entry[2]) != label]
        if flips:
            other, _, row = max(flips, key=lambda entry: (entry[1], -entry[2][label]))
            return build(put(words, i, other), separators), row
        if rows:
            other, _, row = min(rows, key=lambda entry: entry[2][label])
            if row[label] < now[label]:
                words, now = put(words, i, other), row
    return (build(words, separators), now) if tried else None


def deepwordbug(score, text, label, surface, random, distance=30):
    split = surface.split(text)
    words, separators = list(split.words), split.separators
    letters = "abcdefghijklmnopqrstuvwxyz"

    def part(start, end):
        if start == end:
            return ""
        inner = "".join(words[i] + (separators[i + 1] if i + 1 < end else "") for i in range(start, end))
        return (separators[0] if start == 0 else "") + inner + (separators[-1] if end == len(words) else "")

    def edited(word, edit):
        first = 0 if len(word) == 2 else 1
        if edit == "swap":
            i = random.integers(first, len(word) - 1)
            return word[:i] + word[i + 1] + word[i] + word[i + 2 :]
        if edit == "insert":
            i = random.integers(first, len(word) + 1)
            return word[:i] + letters[random.integers(26)] + word[i:]
        i = random.integers(first, len(word))
        if edit == "delete":
            return word[:i] + word[i + 1 :]
        others = [letter for letter in letters if letter != word[i].lower()]
        return word[:i] + others[random.integers(len(others))] + word[i + 1 :]

    n = len(words)
    heads = [score(part(0, i + 1))[label] - score(part(0, i))[label] for i in range(n)]
    tails = [score(part(i, n))[label] - score(part(i + 1, n))[label] for i in range(n)]
    ranked = sorted((i for i in range(n) if len(words[i]) > 1), key=lambda i: -(heads[i] + tails[i]))
    cost, row = 0, None
    for i in ranked:
        edit = ("swap", "substitute", "delete", "insert")[random.integers(4)]
        cost += {"swap": 2}.get(edit, 1)
        if cost > distance:
            break
        words = put(words, i, edited(words[i], edit))
        row = score(build(words, separators))
        if winner(row) != label:
            break
    return None if row is None else (build(words, separators), row)


def checklist(score, text, label, surface, random):
    import re

    split = surface.split(text)
    words, separators = list(split.words), split.separators
    texts = []
    for whole, short in CONTRACTIONS.items():
        for old, new in ((whole, short), (short, whole)):
            found = re.search(rf"(?<!\w){re.escape(old)}(?!\w)", text, re.I)
            if found:
                shaped = new.capitalize() if found.group()[0].isupper() else new
                texts.append(text[: found.start()] + shaped + text[found.end() :])
    long = [i for i, word in enumerate(words) if len(word) > 3]
    for i in random.permutation(long)[:10]:
        at = random.integers(1, len(words[i]) - 1)
        word = words[i]
        texts.append(build(put(words, i, word[:at] + word[at + 1] + word[at] + word[at + 2 :]), separators))
    texts.append(text[:-1].rstrip() if text[-1] in ".!?" else text + ".")
    texts += [text + addition for addition in NEUTRAL]
    rows = [(candidate, score(candidate)) for candidate in texts if candidate != text]
    flips = [entry for entry in rows if winner(entry[1]) != label]
    return min(flips or rows, key=lambda entry: entry[1][label])
