"""English inflection by rule and exception list: a synonym takes the form of the word that it replaces.

The rules of detachment are WordNet's (`man 7WN morphy`); they are used in both directions, so that an analysis counts
only when inflecting its lemma gives the word back: `hoped` is a form of `hope`, not of `hop`, whose past is listed as
`hopped`. WordNet's exception lists have irregular forms and doubled consonants, but do not say which form is which.
`past` and `participle` are distinguished by ending (gone, written) and vowel (sang, sung);
where that fails, both are used.
"""

import re
from collections.abc import Iterator, Mapping

Irregular = Mapping[str, Mapping[str, tuple[str, ...]]]  # part of speech -> form -> lemmas

DETACHMENTS = {  # part -> (ending, what takes its place, form)
    "n": [("s", "", "plural"), ("es", "", "plural"), ("ies", "y", "plural")],
    "v": [
        ("s", "", "third"),
        ("es", "", "third"),
        ("ies", "y", "third"),
        ("ed", "e", "either"),
        ("ed", "", "either"),
        ("ied", "y", "either"),
        ("ing", "e", "ing"),
        ("ing", "", "ing"),
        ("ying", "ie", "ing"),
    ],
    "a": [
        ("er", "", "comparative"),
        ("er", "e", "comparative"),
        ("ier", "y", "comparative"),
        ("est", "", "superlative"),
        ("est", "e", "superlative"),
        ("iest", "y", "superlative"),
    ],
    "r": [],
}
ENDINGS = {"either": "ed", "past": "ed", "participle": "ed", "ing": "ing", "comparative": "er", "superlative": "est"}


class Inflector:
    """Analyses and builds forms, with the exception lists of a lexicon.

    >>> english = Inflector({"v": {"went": ("go",), "gone": ("go",), "stopped": ("stop",)}})
    >>> [english.inflected(verb, "v", "past") for verb in ("go", "halt", "stop")]
    [('went',), ('halted',), ('stopped',)]
    >>> [analysis for analysis in english.analyses("halted") if analysis[2] != "base"]
    [('halte', 'v', 'either'), ('halt', 'v', 'either')]
    """

    def __init__(self, irregular: Irregular) -> None:
        self.irregular = irregular
        self.forms: dict[tuple[str, str], list[str]] = {}
        for part, listed in irregular.items():
            for form, lemmas in listed.items():
                for lemma in lemmas:
                    self.forms.setdefault((part, lemma), []).append(form)

    def analyses(self, word: str) -> Iterator[tuple[str, str, str]]:
        """(lemma, part, form) of a lower-case word; the lexicon decides whether the lemma exists."""
        for part in DETACHMENTS:
            yield word, part, "base"
        for part, detachments in DETACHMENTS.items():
            for lemma in self.irregular.get(part, {}).get(word, ()):
                if lemma != word:
                    yield lemma, part, self.form_of(word, part, lemma)
            for ending, instead, form in detachments:
                lemma = word[: len(word) - len(ending)] + instead
                if word.endswith(ending) and len(lemma) > 1 and word == self.by_rule(lemma, part, form):
                    yield lemma, part, form

    def inflected(self, lemma: str, part: str, form: str) -> tuple[str, ...]:
        """The form of a lemma; empty where English has none in one word (more beautiful)."""
        if form == "base":
            return (lemma,)
        if form == "either":  # made: past or participle, the word is the same
            return tuple(dict.fromkeys(self.inflected(lemma, part, "past") + self.inflected(lemma, part, "participle")))
        if listed := tuple(
            other for other in self.forms.get((part, lemma), ()) if self.serves(other, part, lemma, form)
        ):
            return listed
        regular = self.by_rule(lemma, part, form)
        return (regular,) if regular else ()

    def serves(self, listed: str, part: str, lemma: str, form: str) -> bool:
        """Whether a listed irregular form can stand for the wanted form."""
        kind = self.form_of(listed, part, lemma)
        return kind == form or (kind == "either" and form in ("past", "participle"))

    def form_of(self, listed: str, part: str, lemma: str) -> str:
        """Which form an exception-list entry is."""
        if part == "n":
            return "plural"
        if part in ("a", "r"):
            return "superlative" if listed.endswith("st") else "comparative"
        if listed.endswith("ing"):
            return "ing"
        if listed.endswith("s"):
            return "third"
        return self.past_or_participle(listed, lemma)

    def past_or_participle(self, listed: str, lemma: str) -> str:
        """`past`, `participle`, or `either` for an irregular verb form."""
        pasts = [form for form in self.forms[("v", lemma)] if not form.endswith(("ing", "s"))]
        participles = [
            form for form in pasts if form.endswith(("n", "ne")) or form.replace("u", "a") in set(pasts) - {form}
        ]
        if listed in participles:
            alone = len(pasts) == len(participles) and not listed.startswith(lemma[:-1])  # won, but shown beside showed
            return "either" if alone else "participle"
        return "past" if participles else "either"

    def by_rule(self, lemma: str, part: str, form: str) -> str:
        """The regular form; empty where an exception list has another one with the same ending, or English has none."""
        ending = ENDINGS.get(form)
        if ending and any(other.endswith(ending) for other in self.forms.get((part, lemma), ())):
            return ""
        if form in ("plural", "third"):
            return plural(lemma, part)
        if form in ("comparative", "superlative") and (not compares(lemma) or lemma in self.irregular.get("v", {})):
            return ""  # worn and grown are participles: there is no wornest
        return joined(lemma, ending) if ending else ""


def plural(lemma: str, part: str) -> str:
    """With -s, -es or -ies; `goes` but `photos` (heroes is in the exception list)."""
    if re.search(r"[^aeiou]y$", lemma):
        return lemma[:-1] + "ies"
    hissing = lemma.endswith(("s", "x", "z", "ch", "sh")) or (part == "v" and lemma.endswith("o"))
    return lemma + ("es" if hissing else "s")


def joined(lemma: str, ending: str) -> str:
    """Lemma and ending with e dropped and y turned; doubled consonants come from the exception lists.

    >>> joined("love", "ed"), joined("try", "ed"), joined("die", "ing"), joined("see", "ing"), joined("nice", "er")
    ('loved', 'tried', 'dying', 'seeing', 'nicer')
    """
    if ending == "ing":
        if lemma.endswith("ie"):
            return lemma[:-2] + "ying"
        dropped = lemma.endswith("e") and not lemma.endswith(("ee", "oe", "ye"))
        return (lemma[:-1] if dropped else lemma) + "ing"
    if lemma.endswith("e"):
        return lemma[:-1] + ending
    return (lemma[:-1] + "i" if re.search(r"[^aeiou]y$", lemma) else lemma) + ending


def compares(lemma: str) -> bool:
    """Adjectives of one syllable, or two with -y, take -er and -est; the others `more` and `most`.

    >>> compares("nice"), compares("funny"), compares("modern"), compares("salutary")
    (True, True, False, False)
    """
    syllables = len(re.findall(r"[aeiouy]+", lemma.removesuffix("e")))
    return syllables == 1 or (syllables == 2 and lemma.endswith("y"))
