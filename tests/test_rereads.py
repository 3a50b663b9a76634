"""Which re-reads a config asks for."""

from optionbias.rereads import variants


def test_variants_of_a_setting() -> None:
    assert variants(False) == ()
    assert variants(True) == ("alone", "float32")
    assert variants(["vllm", "alone"]) == ("alone", "vllm")
