"""How the six models are trained, read off the code."""

from attn_book.jain import settings
from attn_core.runs import Run


def test_settings_are_those_of_the_runs():
    found = settings.trainings(["sst", "imdb", "babi_1", "babi_2", "snli"]).set_index("data")
    assert list(found.index) == ["sst, imdb", "babi_1, babi_2", "snli"]
    width = next(name for name in found if name.startswith("H:"))
    assert found[width].tolist() == ["256 / 128 / 128", "64 / 32 / 32", "256 / 128 / 128"]
    assert found["epochs"].tolist() == [8, 100, 25] and found["batch"].tolist() == [32, 50, 128]
    assert found["checkpoint by"].tolist() == ["ROC AUC", "accuracy", "accuracy"]
    assert found.loc["sst, imdb", "word vectors"] == "trained beforehand, 300"
    assert found.loc["babi_1, babi_2", "word vectors"] == "random, 50"
    assert found.loc["snli", "weight decay"] == "1e-05, on everything"


def test_encoders_are_told_with_their_own_widths():
    lstm, cnn, average = settings.told_encoders()
    assert "128 units each" in lstm and "convolutions over 1, 3, 5 and 7 tokens, 32 filters each" in cnn
    assert "3 tokens to each side" in cnn and "to 128 numbers" in average
    assert settings.built(Run("babi_1", "cnn")).width == 32
