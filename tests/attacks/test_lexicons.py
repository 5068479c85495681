"""Lexicons: the WordNet parser against hand-read lines, the cache file, and what a user's file may look like."""

import gzip
import json
import time

import pytest
from tokenizers import Tokenizer, models
from transformers import PreTrainedTokenizerFast

from uegr import methods
from uegr.attacks import lexicons, load_surface
from uegr.attacks.lexicons import Lexicon, build_cilin, build_wordnet, decoded, encoded, from_file, load_lexicon
from uegr.attacks.vocabulary import substitution_table
from uegr.errors import DataWarning, InputError

# Lines as the database has them (man 5WN wndb); the second data line holds 0x0b = 11 words.
FILES = {
    "stopwords/english": "the\nof\n",
    "wordnet/index.sense": "film%1:10:00:: 00000001 1 9\nfilm%2:36:00:: 00000001 1 1\nkino%1:10:00:: 00000001 1 0\n",
    "wordnet/data.noun": "  1 This software ...\n"
    "00000001 10 n 03 film 0 movie 0 moving_picture 0 001 @ 00000002 n 0000 | a form of entertainment\n"
    "00000002 10 n 0b a 0 b 0 c 0 d 0 e 0 f 0 g 0 h 0 i 0 j 0 film 1 000 | eleven words\n",
    "wordnet/data.verb": "00000001 36 v 02 film 0 Shoot 1 001 @ 1 v 0000 01 + 08 00 | make a film\n",
    "wordnet/data.adj": "00000001 00 s 02 galore(ip) 0 abounding 0 000 | in abundance\n",
    "wordnet/data.adv": "",
    "wordnet/index.noun": "  1 This software\n"
    "film n 2 1 @ 2 1 00000001 00000002  \n"
    "moving_picture n 1 1 @ 1 0 00000001  \n",
    "wordnet/index.verb": "film v 1 1 @ 1 1 00000001  \n",
    "wordnet/index.adj": "galore a 1 0 1 0 00000001  \nabounding a 1 0 1 0 00000001  \n",
    "wordnet/index.adv": "",
    "wordnet/noun.exc": "children child\nmen_of_war man_of_war\n",
    "wordnet/verb.exc": "went go\n",
    "wordnet/adj.exc": "better good well\n",
    "wordnet/adv.exc": "",
}


def test_wordnet_lines_become_readings():
    lexicon = build_wordnet(FILES)
    noun, verb = lexicon.readings["film"]
    assert noun == ("n", 9, ("movie", *"abcdefghij"))
    assert verb == ("v", 1, ("Shoot",))
    assert lexicon.readings["abounding"][0].synonyms == ("galore",)
    assert "moving_picture" not in lexicon.readings
    assert lexicon.irregular["a"] == {"better": ("good", "well")}
    assert lexicon.irregular["n"] == {"children": ("child",)}
    assert lexicon.stop_words == {"the", "of"}


def test_cache_form_is_lossless():
    lexicon = build_wordnet(FILES)
    assert decoded(json.loads(json.dumps(encoded(lexicon)))) == lexicon


def test_damaged_cache_is_built_again(tmp_path, monkeypatch):
    monkeypatch.setattr(lexicons, "cache_folder", lambda: tmp_path)
    monkeypatch.setattr(lexicons, "download", lambda source, folder: folder)
    monkeypatch.setattr(lexicons, "texts", lambda archive, wanted: FILES)
    first = lexicons.cached(lexicons.WORDNET, "wordnet", build_wordnet)
    (path,) = (tmp_path / "lexicons").glob("wordnet-*")
    whole = path.read_text()
    path.write_text(whole[: len(whole) // 2])
    with pytest.warns(DataWarning, match="is damaged"):
        assert lexicons.cached(lexicons.WORDNET, "wordnet", build_wordnet) == first
    assert path.read_text() == whole
    monkeypatch.setattr(lexicons, "download", lambda source, folder: pytest.fail("the cache was not used"))
    assert lexicons.cached(lexicons.WORDNET, "wordnet", build_wordnet) == first


def test_cilin_takes_only_groups_of_synonyms():
    leaves = {"01=": ["好", "优", "良"], "02#": ["好", "坏"], "03@": ["独"]}
    tree = {"E": {"sub": {"d": {"sub": {"03": {"sub": {"A": {"sub": leaves}}}}}}}}
    tree["K"] = {"sub": {"c": {"sub": {"01": {"sub": {"A": {"sub": {"01=": ["和", "与"]}}}}}}}}
    lexicon = build_cilin({"cilin_tree.json": json.dumps(tree)})
    assert lexicon.readings["好"][0].synonyms == ("优", "良")
    assert "坏" not in lexicon.readings
    assert "独" not in lexicon.readings
    assert lexicon.stop_words == {"和", "与"}


def test_real_wordnet_loads_at_once_the_second_time():
    lexicon = load_lexicon("wordnet")
    assert lexicon.readings["film"][0].synonyms[:2] == ("movie", "picture")  # synset 06613686-n of WordNet 3.0
    assert len(lexicon.readings) > 45_000
    lexicons.wordnet.cache_clear()
    start = time.process_time()  # of this process: a busy machine does not count
    load_lexicon("wordnet")
    assert time.process_time() - start < 2  # some 0.25 s


def test_user_files(tmp_path):
    table = tmp_path / "mine.tsv"
    table.write_text("# a comment\nGood\tfine\tnice\n\nbad\tpoor\ngood2\tx\nbad\tawful\tpoor\n")
    lexicon = from_file(table)
    assert lexicon.readings["good"][0].synonyms == ("fine", "nice")
    assert lexicon.readings["bad"][0].synonyms == ("poor", "awful")
    packed = tmp_path / "mine.json.gz"
    packed.write_bytes(gzip.compress(json.dumps({"好": ["优"], "b": []}).encode()))
    assert load_lexicon(str(packed)).language == "zh"
    assert "b" not in load_lexicon(str(packed)).readings


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("a.tsv", b"word only\n", "line 1: expected a word, a tab"),
        ("a.json", b"{", "broken JSON"),
        ("a.json", b"[1]", "got a list"),
        ("a.json", b'{"good": "fine"}', "for 'good'"),
        ("a.json", b"{}", "at least one word"),
        ("a.tsv", b"\xff\xfe\x00", "UTF-8"),
        ("a.json.gz", b"not gzip", "cannot read"),
    ],
)
def test_user_mistakes_are_one_clear_line(tmp_path, name, content, says):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(InputError, match=says) as caught:
        from_file(path)
    assert "\n" not in str(caught.value)


@pytest.fixture
def neighbours(tmp_path, monkeypatch):
    """$UEGR_DATA with a counter-fitted lexicon of two words, one of them a stop word, with eight neighbours."""
    folder = tmp_path / "lexical"
    folder.mkdir()
    listed = {"very": list("abcdefgh"), "film": ["movie"]}
    (folder / "counterfitted_neighbors.json.gz").write_bytes(gzip.compress(json.dumps(listed).encode()))
    monkeypatch.setenv("UEGR_DATA", str(tmp_path))


def test_the_counterfitted_lexicon_is_used_as_it_is(neighbours, monkeypatch):
    monkeypatch.setattr(lexicons, "wordnet", lambda: Lexicon("wordnet", "en", {}, stop_words=frozenset({"very"})))
    assert load_surface("counterfitted").substitutes("very") == tuple("abcdefgh")
    assert load_surface("counterfitted-content").substitutes("very") == ()
    assert load_surface("counterfitted-content").substitutes("film") == ("movie",)


def test_every_neighbour_that_is_attacked_is_trained_on(neighbours):
    words = {word: number for number, word in enumerate(["[PAD]", "[UNK]", "very", *"abcdefgh"])}
    inner = Tokenizer(models.WordLevel(words, unk_token="[UNK]"))
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=inner, pad_token="[PAD]", unk_token="[UNK]")
    limit = methods.ascc().objective.limit
    ids, mask = substitution_table(tokenizer, load_surface("counterfitted"), limit)
    assert tokenizer.convert_ids_to_tokens(ids[2][mask[2]]) == ["very", *"abcdefgh"]


def test_names_are_checked(monkeypatch, tmp_path):
    with pytest.raises(InputError, match="did you mean wordnet"):
        load_lexicon("wordnett")
    monkeypatch.delenv("UEGR_DATA", raising=False)
    with pytest.raises(InputError, match="UEGR_DATA is not set"):
        load_lexicon("counterfitted")
    monkeypatch.setenv("UEGR_DATA", str(tmp_path))
    with pytest.raises(InputError, match="no lexical/counterfitted"):
        load_lexicon("counterfitted")
