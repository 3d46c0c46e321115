"""A killed conversion of the packaged model leaves nothing that the next one takes for whole."""

from dataclasses import replace

from tests.chaos.harness import DONE, KILLED, Injury, differences

NAME = "smollm2-135m-instruct"
# The real conversion, of a tiny model in place of the packaged one's GGUF file. The first
# argument is its folder; the second how many seconds pass before the tokenizer is saved.
CONVERT = """
import sys, time
import transformers
from pathlib import Path
from train import base_model

folder, seconds = Path(sys.argv[1]), float(sys.argv[2])
read = transformers.AutoModelForCausalLM.from_pretrained
tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
save = type(tokenizer).save_pretrained

def from_gguf(place, gguf_file, dtype):
    model = read(place, dtype=dtype)
    model.config.quantization_config = {}
    return model

def save_slowly(self, target):
    time.sleep(seconds)
    return save(self, target)

transformers.AutoModelForCausalLM.from_pretrained = from_gguf
transformers.AutoTokenizer.from_pretrained = lambda place, gguf_file: tokenizer
type(tokenizer).save_pretrained = save_slowly
base_model._gguf_file = lambda packaged: folder / "weights.gguf"
print(base_model.resolve("packaged:smollm2-135m-instruct").folder)
"""


def test_a_killed_conversion_is_made_again_from_the_start(personae, tiny_base, tmp_path):
    def convert(cache, seconds):
        own = replace(personae, cache=tmp_path / cache)
        return own.start_python("-c", CONVERT, tiny_base, seconds)

    models = tmp_path / "cache" / "models"
    half_saved = Injury(when=lambda: any(models.glob(f".{NAME}.*/model.safetensors")))
    with convert("cache", 60) as running:
        killed = running.injured(half_saved)
    assert killed.code == KILLED, killed.err
    assert not (models / NAME).exists()

    with convert("cache", 0) as again, convert("calm", 0) as undisturbed:
        ended = again.wait()
        assert undisturbed.wait().code == ended.code == DONE, ended.err
    assert ended.out.strip() == str(models / NAME)
    assert differences(models, tmp_path / "calm" / "models") == []
