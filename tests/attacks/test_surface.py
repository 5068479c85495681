"""What may replace what: exact rebuilding of texts, case, inflection, rare readings."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from uegr.attacks.lexicons import Lexicon, Reading
from uegr.attacks.search import replaceable
from uegr.attacks.surface import Surface, Words, load_surface
from uegr.errors import InputError


def lexicon(entries, **more):
    readings = {word: tuple(Reading(*reading) for reading in several) for word, several in entries.items()}
    return Lexicon("tiny", "en", readings, **more)


IRREGULAR = {
    "v": {
        "went": ("go",),
        "gone": ("go",),
        "shown": ("show",),
        "won": ("win",),
        "sang": ("sing",),
        "sung": ("sing",),
        "hopped": ("hop",),
        "hopping": ("hop",),
    },
    "n": {"men": ("man",)},
    "a": {"better": ("good",), "best": ("good",)},
}
TINY = lexicon(
    {
        "go": [("v", 5, ("show", "win", "travel"))],
        "travel": [("v", 5, ("go", "sing", "try"))],
        "film": [("n", 64, ("movie", "body")), ("v", 2, ("shoot",))],
        "man": [("n", 9, ("chap", "bus"))],
        "chap": [("n", 9, ("man",))],
        "hop": [("v", 1, ("travel",))],
        "hope": [("v", 1, ("trust",))],
        "fine": [("a", 3, ("good", "beautiful", "Nordic"))],
        "the": [("n", 1, ("x",))],
    },
    irregular=IRREGULAR,
    stop_words=frozenset({"the"}),
)


@pytest.fixture(scope="module")
def surface():
    return Surface(TINY)


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("travelled", ()),  # no rule doubles, and no list of ours has it
        ("traveled", ("went", "gone", "sang", "sung", "tried")),  # past or participle: the word does not say
        ("went", ("showed", "won", "traveled")),
        ("gone", ("shown", "won", "traveled")),
        ("going", ("showing", "wining", "traveling")),  # winning stands in the real list, not in ours
        ("goes", ("shows", "wins", "travels")),
        ("hoped", ("trusted",)),
        ("hopped", ("traveled",)),
        ("men", ("chaps", "buses")),
        ("chaps", ("men",)),
        ("films", ("movies", "bodies")),
        ("finer", ("better",)),
        ("FINEST", ("BEST",)),
        ("fine", ("good", "beautiful", "Nordic")),
        ("Film", ("Movie", "Body")),
        ("the", ()),
        ("zzz", ()),
    ],
)
def test_substitutes_take_form_and_case(surface, word, expected):
    assert surface.substitutes(word) == expected


def test_rare_readings_come_back_when_asked_for():
    assert Surface(TINY, rare=0).substitutes("film") == ("movie", "body", "shoot")
    with pytest.raises(InputError, match="0 <= rare <= 1"):
        Surface(TINY, rare=2)


def test_own_stop_words():
    assert Surface(TINY, stop_words={"film"}).substitutes("film") == ()
    assert Surface(TINY, stop_words=()).substitutes("the") == ("x",)


def test_substitutes_that_are_no_single_word_are_left_out():
    odd = lexicon({"good": [("", 0, ("very good", "Dr.", "", "good", "well-made", "fine_", "o'clock"))]})
    assert Surface(odd).substitutes("good") == ("well-made", "o'clock")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("The director's film isn't well-made!", ["The", "director", "film", "isn't", "well-made"]),
        ("it 's n't", ["it", "s", "n't"]),
        ("'tis rock-'n'-roll, 3d_x", ["tis", "rock", "n", "roll", "3d", "x"]),
        ("我喜欢film呢", ["我", "喜", "欢", "film", "呢"]),
        ("😀 🎬!", []),
        ("", []),
        ("שלום, עולם", ["שלום", "עולם"]),
    ],
)
def test_split(surface, text, words):
    assert list(surface.split(text).words) == words
    assert surface.split(text).text == text


@given(st.text(max_size=80))
@settings(max_examples=200, deadline=None)
def test_any_text_is_rebuilt_to_the_byte(text):
    words = Surface(TINY).split(text)
    assert words.text == text
    assert len(words.separators) == len(words) + 1
    for position, word in enumerate(words.words):
        assert words.swapped(position, word) == words


@given(st.lists(st.sampled_from(["film", "went", "Men", "x1", "喜", "!"]), min_size=1, max_size=8).map(" ".join))
@settings(max_examples=50, deadline=None)
def test_a_swap_changes_one_word_and_nothing_else(text):
    surface = Surface(TINY)
    words = surface.split(text)
    for position, others in replaceable(words, surface).items():
        for other in others:
            again = surface.split(words.swapped(position, other).text)
            assert again.separators == words.separators
            assert [at for at in range(len(words)) if again.words[at] != words.words[at]] == [position]


def test_chinese_by_longest_match():
    entries = {word: [("", 0, ("好",))] for word in ("喜欢", "喜", "电影", "电影院")}
    surface = Surface(lexicon(entries, stop_words=frozenset({"我们"})))
    words = surface.split("我们喜欢电影院，电影。")
    assert words.words == ("我们", "喜欢", "电影院", "电影")
    assert words.text == "我们喜欢电影院，电影。"
    assert list(replaceable(surface.split("我们喜欢电影"), surface)) == [1, 2]


def test_without_takes_a_word_and_one_separator():
    words = Words(("a", "b", "c"), ("(", " ", ", ", ")"))
    assert [words.without(at).text for at in range(3)] == ["(b, c)", "(a c)", "(a b)"]
    assert Words(("a",), ("<", ">")).without(0).text == "<"


def test_default_is_wordnet_whatever_the_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("UEGR_DATA", str(tmp_path))
    surface = load_surface()
    assert surface.lexicon.name == "wordnet"
    assert surface.substitutes("sauntered") == ("strolled",)
    assert surface.substitutes("Films")[:2] == ("Movies", "Pictures")
    assert surface.substitutes("films") == load_surface("wordnet").substitutes("films")
