"""Named generators: one stream a name, whatever else is drawn."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from optionbias.seeds import DEFAULT_SEED, generator
from slow import resampling as slow
from strategies import PROPERTY

names = st.text(max_size=20)


def test_default_seed() -> None:
    assert DEFAULT_SEED == 20261016


def test_spawn_key_is_the_digest_of_the_name() -> None:
    # SHA-256("abc") is published: ba7816bf 8f01cfea 414140de 5dae2223 b00361a3 96177a9c ...
    words = (
        0xBA7816BF,
        0x8F01CFEA,
        0x414140DE,
        0x5DAE2223,
        0xB00361A3,
        0x96177A9C,
        0xB410FF61,
        0xF20015AD,
    )
    sequence = np.random.SeedSequence(entropy=7, spawn_key=words)
    expected = np.random.Generator(np.random.PCG64(sequence)).integers(0, 2**62, size=5)
    assert generator(7, "abc").integers(0, 2**62, size=5).tolist() == expected.tolist()


@pytest.mark.parametrize("name", ["", "table8/cells/draws", "Prüfung/K4", "a" * 300])
def test_words_of_the_slow_loop(name: str) -> None:
    sequence = np.random.SeedSequence(DEFAULT_SEED, spawn_key=slow.generator_words(name))
    expected = np.random.Generator(np.random.PCG64(sequence)).random(20)
    assert (generator(DEFAULT_SEED, name).random(20) == expected).all()


@PROPERTY
@given(names, names, st.integers(0, 2**64))
def test_a_stream_belongs_to_its_name(name: str, other: str, seed: int) -> None:
    assume(name.encode("utf-8", "replace") != other.encode("utf-8", "replace"))
    stream = generator(seed, name).integers(0, 2**62, size=8)
    generator(seed, other).random(1000)
    assert (generator(seed, name).integers(0, 2**62, size=8) == stream).all()
    assert (generator(seed, other).integers(0, 2**62, size=8) != stream).any()
    assert (generator(seed + 1, name).integers(0, 2**62, size=8) != stream).any()
